// SPDX-License-Identifier: ISC
// Programs of several processes, each a custom call that runs a function of the module for each of
// them (parallel.c). What they must give follows from the operands by hand.

module @order_loops_and_groups {
  // Groups of rows, of columns and of all, in one order, one of them in a loop; x is 1, 2, 3, 4.
  func.func private @p(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<ui32>) {
    %rows = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %columns = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %zero, %c = %columns) : tensor<i32>, tensor<f32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %go = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %i, %one : tensor<i32>
      %all = "stablehlo.all_reduce"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<> : tensor<0x0xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %n, %all : tensor<i32>, tensor<f32>
    }
    %id = stablehlo.partition_id : tensor<ui32>
    return %rows, %loop#1, %id : tensor<f32>, tensor<f32>, tensor<ui32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<1.0> : tensor<f32>
    %x1 = stablehlo.constant dense<2.0> : tensor<f32>
    %x2 = stablehlo.constant dense<3.0> : tensor<f32>
    %x3 = stablehlo.constant dense<4.0> : tensor<f32>
    %r:12 = stablehlo.custom_call @interpreter.run_parallel(%x0, %x1, %x2, %x3) {backend_config = "1 4 p p p p"} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<ui32>, tensor<f32>, tensor<f32>, tensor<ui32>, tensor<f32>, tensor<f32>, tensor<ui32>, tensor<f32>, tensor<f32>, tensor<ui32>)
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %seven = stablehlo.constant dense<7.0> : tensor<f32>
    // columns are 3, 8, 3, 8: 22, then twice times 4
    %all = stablehlo.constant dense<352.0> : tensor<f32>
    %last = stablehlo.constant dense<3> : tensor<ui32>
    stablehlo.custom_call @check.expect_eq(%r#0, %three) : (tensor<f32>, tensor<f32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#9, %seven) : (tensor<f32>, tensor<f32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %all) : (tensor<f32>, tensor<f32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#10, %all) : (tensor<f32>, tensor<f32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#11, %last) : (tensor<ui32>, tensor<ui32>) -> ()
    return
  }
}
// -----
module @regions_and_no_inputs {
  // x is replica + 1; the reduction is a - b, which no group has: 1 - 2 - 3
  func.func private @p() -> (tensor<2xi32>, tensor<1xi32>) {
    %r = stablehlo.replica_id : tensor<ui32>
    %i = stablehlo.convert %r : (tensor<ui32>) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %x = stablehlo.add %i, %one : tensor<i32>
    %two = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %six = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %y = "stablehlo.all_reduce"(%two) <{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.subtract %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    %z = "stablehlo.reduce_scatter"(%six) <{replica_groups = dense<[[2, 1, 0]]> : tensor<1x3xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.subtract %a, %b : tensor<i32>
      %t = stablehlo.subtract %s, %s : tensor<i32>
      %u = stablehlo.add %s, %t : tensor<i32>
      stablehlo.return %u : tensor<i32>
    }) : (tensor<3xi32>) -> tensor<1xi32>
    return %y, %z : tensor<2xi32>, tensor<1xi32>
  }
  func.func @main() {
    %r:6 = stablehlo.custom_call @interpreter.run_parallel() {backend_config = "3 1 p p p"} : () -> (tensor<2xi32>, tensor<1xi32>, tensor<2xi32>, tensor<1xi32>, tensor<2xi32>, tensor<1xi32>)
    %y = stablehlo.constant dense<-4> : tensor<2xi32>
    %z = stablehlo.constant dense<0> : tensor<1xi32>
    stablehlo.custom_call @check.expect_eq(%r#0, %y) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#4, %y) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#3, %z) : (tensor<1xi32>, tensor<1xi32>) -> ()
    return
  }
}
// -----
module @sums_of_replicas {
  // x is 1, 2, 4: of the first two the sum, of the last itself
  func.func private @p(%x: tensor<f32>) -> tensor<f32> {
    %y = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> : (tensor<f32>) -> tensor<f32>
    return %y : tensor<f32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<1.0> : tensor<f32>
    %x1 = stablehlo.constant dense<2.0> : tensor<f32>
    %x2 = stablehlo.constant dense<4.0> : tensor<f32>
    %r:3 = stablehlo.custom_call @interpreter.run_parallel(%x0, %x1, %x2) {backend_config = "3 1 p p p"} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    %y = stablehlo.constant dense<3.0> : tensor<f32>
    stablehlo.custom_call @check.expect_eq(%r#0, %y) : (tensor<f32>, tensor<f32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %y) : (tensor<f32>, tensor<f32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#2, %x2) : (tensor<f32>, tensor<f32>) -> ()
    return
  }
}
// -----
module @moves {
  // Two replicas of two partitions; x is [2 p, 2 p + 1] of process p.
  func.func private @p(%x: tensor<2xi32>) -> (tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
    %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<4xi32>
    %t = "stablehlo.all_to_all"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2xi32>) -> tensor<2xi32>
    %p = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    %b = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    return %g, %t, %p, %b : tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %x1 = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
    %x2 = stablehlo.constant dense<[4, 5]> : tensor<2xi32>
    %x3 = stablehlo.constant dense<[6, 7]> : tensor<2xi32>
    %r:16 = stablehlo.custom_call @interpreter.run_parallel(%x0, %x1, %x2, %x3) {backend_config = "2 2 p p p p"} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    %g1 = stablehlo.constant dense<[6, 7, 2, 3]> : tensor<4xi32>
    %t0 = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
    %t3 = stablehlo.constant dense<[5, 7]> : tensor<2xi32>
    %none = stablehlo.constant dense<0> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%r#4, %g1) : (tensor<4xi32>, tensor<4xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %t0) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#13, %t3) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#10, %none) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#14, %x2) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#3, %x2) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#7, %x3) : (tensor<2xi32>, tensor<2xi32>) -> ()
    return
  }
}
// -----
module @conditions_and_branches {
  // x grows by the sum of all until that is above 20; then one branch asks the others again.
  func.func private @p(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %twenty = stablehlo.constant dense<20> : tensor<i32>
    %y = stablehlo.while(%c = %x) : tensor<i32>
    cond {
      %all = "stablehlo.all_reduce"(%c) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %go = stablehlo.compare LT, %all, %twenty : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %n = stablehlo.add %c, %x : tensor<i32>
      stablehlo.return %n : tensor<i32>
    }
    %one = stablehlo.constant dense<1> : tensor<i32>
    %z = "stablehlo.case"(%one) ({
      stablehlo.return %y : tensor<i32>
    }, {
      %all = "stablehlo.all_reduce"(%y) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.maximum %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      stablehlo.return %all : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    return %y, %z : tensor<i32>, tensor<i32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<1> : tensor<i32>
    %x1 = stablehlo.constant dense<2> : tensor<i32>
    %r:4 = stablehlo.custom_call @interpreter.run_parallel(%x0, %x1) {backend_config = "2 1 p p"} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>)
    %seven = stablehlo.constant dense<7> : tensor<i32>
    %fourteen = stablehlo.constant dense<14> : tensor<i32>
    stablehlo.custom_call @check.expect_eq(%r#0, %seven) : (tensor<i32>, tensor<i32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#2, %fourteen) : (tensor<i32>, tensor<i32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %fourteen) : (tensor<i32>, tensor<i32>) -> ()
    return
  }
}
// -----
// One process alone needs no mesh.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  %p = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%g, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%p, %zero) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
// -----
// refused: replica_groups has 1, and there are 1
func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}
// -----
// refused: replica_groups has 0 twice
func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}
// -----
// refused: use_global_device_ids without a channel
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}
// -----
// refused: split_count
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %g = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}
// -----
// refused: source_target_pairs are no pairs of numbers below 1
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %g = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}
// -----
// To one of the group, and from one that an operand names; process 2 is in no group.
module {
  func.func private @p(%x: tensor<2xi32>, %root: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
    %first = stablehlo.slice %root [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    %d = "stablehlo.collective_reduce"(%x, %first) <{has_dynamic_root, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.subtract %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>, tensor<1xi32>) -> tensor<2xi32>
    %n = stablehlo.negate %x : tensor<2xi32>
    %b:2 = "stablehlo.collective_broadcast"(%x, %n, %root) <{has_dynamic_root, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
    return %r, %d, %b#0, %b#1, %x : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  }
  func.func @main() {
    %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %x1 = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
    %x2 = stablehlo.constant dense<[100, 200]> : tensor<2xi32>
    %root = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %r:15 = stablehlo.custom_call @interpreter.run_parallel(%x0, %root, %x1, %root, %x2, %root) {backend_config = "3 1 p p p"} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
    %sum = stablehlo.constant dense<[11, 22]> : tensor<2xi32>
    %less = stablehlo.constant dense<[9, 18]> : tensor<2xi32>
    %minus = stablehlo.constant dense<[-1, -2]> : tensor<2xi32>
    %none = stablehlo.constant dense<0> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%r#0, %none) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#5, %sum) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#10, %none) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#1, %less) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#6, %none) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#2, %x1) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#7, %x1) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#8, %minus) : (tensor<2xi32>, tensor<2xi32>) -> ()
    stablehlo.custom_call @check.expect_eq(%r#12, %none) : (tensor<2xi32>, tensor<2xi32>) -> ()
    return
  }
}
