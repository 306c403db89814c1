// SPDX-License-Identifier: ISC
// Extents that a program leaves open, called with inputs that have them.
func.func private @p(%x: tensor<?x3xf32>) -> (tensor<?xf32>, tensor<2x?xf32>, tensor<?x3xf32>) {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %enough = stablehlo.compare GE, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%enough, %n) {api_version = 2 : i32, error_message = "{0} rows are too few", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %all = stablehlo.multiply %n, %three : tensor<i32>
  %all1 = stablehlo.reshape %all : (tensor<i32>) -> tensor<1xi32>
  %flat = stablehlo.dynamic_reshape %x, %all1 : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
  %two1 = stablehlo.constant dense<2> : tensor<1xi32>
  %shape = stablehlo.concatenate %two1, %all1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %rows = stablehlo.dynamic_broadcast_in_dim %flat, %shape, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<2x?xf32>
  // a loop that adds a tensor of ones, whose extents are computed inside
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<?x3xf32>
  cond {
    %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %three1 = stablehlo.constant dense<3> : tensor<1xi32>
    %like = stablehlo.concatenate %n1, %three1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %f1 = stablehlo.constant dense<1.0> : tensor<f32>
    %ones = stablehlo.dynamic_broadcast_in_dim %f1, %like, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
    %z = stablehlo.add %y, %ones : tensor<?x3xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %z : tensor<i32>, tensor<?x3xf32>
  }
  return %flat, %rows, %loop#1 : tensor<?xf32>, tensor<2x?xf32>, tensor<?x3xf32>
}
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %flat = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %rows = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]> : tensor<2x6xf32>
  %sum = stablehlo.constant dense<[[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<2x3xf32>
  %r:3 = call @p(%x) : (tensor<2x3xf32>) -> (tensor<6xf32>, tensor<2x6xf32>, tensor<2x3xf32>)
  stablehlo.custom_call @check.expect_eq(%r#0, %flat) : (tensor<6xf32>, tensor<6xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %rows) : (tensor<2x6xf32>, tensor<2x6xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#2, %sum) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  return
}
// -----
// The size of a slice is known, where it begins is not.
func.func private @p(%x: tensor<?x2xi32>, %i: tensor<2xi64>) -> tensor<1x2xi32> {
  %size = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %step = stablehlo.constant dense<1> : tensor<2xi64>
  %end = stablehlo.add %i, %size : tensor<2xi64>
  %y = "stablehlo.real_dynamic_slice"(%x, %i, %end, %step) : (tensor<?x2xi32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2xi32>
  return %y : tensor<1x2xi32>
}
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %row = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi32>
  %y = call @p(%x, %i) : (tensor<3x2xi32>, tensor<2xi64>) -> tensor<1x2xi32>
  stablehlo.custom_call @check.expect_eq(%y, %row) : (tensor<1x2xi32>, tensor<1x2xi32>) -> ()
  return
}
// -----
// refused: 2 rows are too few
func.func private @p(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %enough = stablehlo.compare GE, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%enough, %n) {error_message = "{0} rows are too few"} : (tensor<i1>, tensor<i32>) -> ()
  return %x : tensor<?xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<?xf32> {
  %y = call @p(%x) : (tensor<2xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
// -----
// refused: operand 1 is no constant
func.func @main(%x: tensor<6xf32>, %shape: tensor<2xi32>) -> tensor<?x?xf32> {
  %y = stablehlo.dynamic_reshape %x, %shape : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
// -----
// refused: the extent of axis 0 of the result is open
func.func @main(%x: tensor<6xf32>) -> tensor<?x3xf32> {
  %y = stablehlo.reshape %x : (tensor<6xf32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}
