// SPDX-License-Identifier: ISC
// Scans of CHLO: along an axis in the middle, with what is carried, and values from around.

// Stacks of another type than the inputs, an axis between others, a value and a constant from
// outside, and a carry of a shape of its own.
func.func @main() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xi32>
  %sum = stablehlo.constant dense<0> : tensor<i32>
  %count = stablehlo.constant dense<0.5> : tensor<f32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %four = stablehlo.add %two, %two : tensor<i32>
  %0:4 = chlo.scan(%x) inits(%sum, %count) dimension=1 {
  ^bb0(%a: tensor<2x2xi32>, %s: tensor<i32>, %c: tensor<f32>):
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.add %s, %1 : tensor<i32>
    %3 = stablehlo.multiply %2, %four : tensor<i32>
    %4 = stablehlo.add %3, %two : tensor<i32>
    %5 = stablehlo.convert %a : (tensor<2x2xi32>) -> tensor<2x2xf32>
    %6 = stablehlo.add %c, %c : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %8 = stablehlo.add %5, %7 : tensor<2x2xf32>
    %9 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<2xi32>
    stablehlo.return %8, %9, %2, %6 : tensor<2x2xf32>, tensor<2xi32>, tensor<i32>, tensor<f32>
  } : (tensor<2x3x2xi32>, tensor<i32>, tensor<f32>) -> (tensor<2x3x2xf32>, tensor<2x3xi32>, tensor<i32>, tensor<f32>)
  %w0 = stablehlo.constant dense<[[[2.0, 3.0], [5.0, 6.0], [9.0, 10.0]], [[8.0, 9.0], [11.0, 12.0], [15.0, 16.0]]]> : tensor<2x3x2xf32>
  stablehlo.custom_call @check.expect_eq(%0#0, %w0) : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> ()
  %w1 = stablehlo.constant dense<[[74, 178, 314], [74, 178, 314]]> : tensor<2x3xi32>
  stablehlo.custom_call @check.expect_eq(%0#1, %w1) : (tensor<2x3xi32>, tensor<2x3xi32>) -> ()
  %w2 = stablehlo.constant dense<78> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%0#2, %w2) : (tensor<i32>, tensor<i32>) -> ()
  %w3 = stablehlo.constant dense<4.0> : tensor<f32>
  stablehlo.custom_call @check.expect_eq(%0#3, %w3) : (tensor<f32>, tensor<f32>) -> ()
  return
}
// -----
// From the end on, in general form, with nothing carried; and without inputs.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = "chlo.scan"(%x) <{dimension = 1 : i64, is_reverse = true, scan_dim_size = 3 : i64, operandSegmentSizes = array<i32: 1, 0>, resultSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%a: tensor<2xi32>):
    %1 = stablehlo.negate %a : tensor<2xi32>
    stablehlo.return %1 : tensor<2xi32>
  }) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %w = stablehlo.constant dense<[[-1, -2, -3], [-4, -5, -6]]> : tensor<2x3xi32>
  stablehlo.custom_call @check.expect_eq(%0, %w) : (tensor<2x3xi32>, tensor<2x3xi32>) -> ()
  %one = stablehlo.constant dense<1> : tensor<i32>
  %2:2 = chlo.scan() inits(%one) dimension=0 attributes {scan_dim_size = 4 : i64, is_reverse = true} {
  ^bb0(%a: tensor<i32>):
    %3 = stablehlo.add %a, %a : tensor<i32>
    stablehlo.return %a, %3 : tensor<i32>, tensor<i32>
  } : (tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  %v = stablehlo.constant dense<[8, 4, 2, 1]> : tensor<4xi32>
  stablehlo.custom_call @check.expect_eq(%2#0, %v) : (tensor<4xi32>, tensor<4xi32>) -> ()
  %u = stablehlo.constant dense<16> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%2#1, %u) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
// Of no slices there is what was carried into it.
func.func @main() {
  %c = stablehlo.constant dense<3.0> : tensor<f32>
  %y = stablehlo.constant dense<1.0> : tensor<4xf32>
  %x = stablehlo.slice %y [2:2] : (tensor<4xf32>) -> tensor<0xf32>
  %0:2 = chlo.scan(%x) inits(%c) dimension=0 {
  ^bb0(%a: tensor<f32>, %s: tensor<f32>):
    %1 = stablehlo.add %a, %s : tensor<f32>
    stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
  } : (tensor<0xf32>, tensor<f32>) -> (tensor<0xf32>, tensor<f32>)
  stablehlo.custom_call @check.expect_eq(%0#1, %c) : (tensor<f32>, tensor<f32>) -> ()
  return
}
// -----
// refused: input 0 has 2 slices of 3
func.func @main(%x: tensor<2xf32>, %c: tensor<f32>) {
  %0:2 = chlo.scan(%x) inits(%c) dimension=0 attributes {scan_dim_size = 3 : i64} {
  ^bb0(%a: tensor<f32>, %s: tensor<f32>):
    stablehlo.return %a, %s : tensor<f32>, tensor<f32>
  } : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>)
  return
}
// -----
// refused: input 0 has no axis dimension
func.func @main(%x: tensor<2xf32>, %c: tensor<f32>) {
  %0:2 = chlo.scan(%x) inits(%c) dimension=1 {
  ^bb0(%a: tensor<f32>, %s: tensor<f32>):
    stablehlo.return %a, %s : tensor<f32>, tensor<f32>
  } : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>)
  return
}
// -----
// refused: a value a result
func.func @main(%x: tensor<2xf32>, %c: tensor<f32>) {
  %0 = chlo.scan(%x) inits(%c) dimension=0 {
  ^bb0(%a: tensor<f32>, %s: tensor<f32>):
    stablehlo.return %a, %s : tensor<f32>, tensor<f32>
  } : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// refused: an argument an operand
func.func @main(%x: tensor<2xf32>, %c: tensor<f32>) {
  %0:2 = chlo.scan(%x) inits(%c) dimension=0 {
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a, %a : tensor<f32>, tensor<f32>
  } : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>)
  return
}
// -----
// refused: how many steps a scan has is not said
func.func @main(%c: tensor<f32>) {
  %0 = chlo.scan() inits(%c) dimension=0 {
  ^bb0(%s: tensor<f32>):
    stablehlo.return %s : tensor<f32>
  } : (tensor<f32>) -> tensor<f32>
  return
}
// -----
// refused: the type says
func.func @main(%x: tensor<2xf32>, %c: tensor<f32>) {
  %0:2 = chlo.scan(%x) inits(%c) dimension=0 {
  ^bb0(%a: tensor<f32>, %s: tensor<f32>):
    stablehlo.return %a, %s : tensor<f32>, tensor<f32>
  } : (tensor<2xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>)
  return
}
