// SPDX-License-Identifier: ISC
// Updates in their order, and bits in theirs.

// Windows of a scatter that overlap are written one after the other, as XLA's processor backend
// does, whichever axes of the updates are theirs.
func.func @main() {
  %x = stablehlo.constant dense<0.0> : tensor<6xf32>
  %i = stablehlo.constant dense<[[0], [1], [2]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<6xf32>, tensor<3x1xi32>, tensor<3x3xf32>) -> tensor<6xf32>
  %w = stablehlo.constant dense<[1.0, 2.0, 3.0, 6.0, 9.0, 0.0]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%y, %w) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
// By a region that is no mode, of two operands.
func.func @main() {
  %x = stablehlo.constant dense<0.0> : tensor<6xf32>
  %k = stablehlo.constant dense<0> : tensor<6xi32>
  %i = stablehlo.constant dense<[[0], [1], [2]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>
  %v = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %y:2 = "stablehlo.scatter"(%x, %k, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %s = stablehlo.subtract %c, %a : tensor<f32>
    stablehlo.return %s, %d : tensor<f32>, tensor<i32>
  }) : (tensor<6xf32>, tensor<6xi32>, tensor<3x1xi32>, tensor<3x3xf32>, tensor<3x3xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  %w = stablehlo.constant dense<[1.0, -2.0, 5.0, -2.0, 9.0, 0.0]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%y#0, %w) : (tensor<6xf32>, tensor<6xf32>) -> ()
  %z = stablehlo.constant dense<[1, 2, 3, 6, 9, 0]> : tensor<6xi32>
  stablehlo.custom_call @check.expect_eq(%y#1, %z) : (tensor<6xi32>, tensor<6xi32>) -> ()
  return
}
// -----
// The bits of numbers as bools, the lowest first, and back.
func.func @main() {
  %x = stablehlo.constant dense<[5, -128]> : tensor<2xi8>
  %b = stablehlo.bitcast_convert %x : (tensor<2xi8>) -> tensor<2x8xi1>
  %w = stablehlo.constant dense<[[true, false, true, false, false, false, false, false], [false, false, false, false, false, false, false, true]]> : tensor<2x8xi1>
  stablehlo.custom_call @check.expect_eq(%b, %w) : (tensor<2x8xi1>, tensor<2x8xi1>) -> ()
  %y = stablehlo.bitcast_convert %w : (tensor<2x8xi1>) -> tensor<2xi8>
  stablehlo.custom_call @check.expect_eq(%y, %x) : (tensor<2xi8>, tensor<2xi8>) -> ()
  %f = stablehlo.constant dense<-1.5> : tensor<f64>
  %t = stablehlo.bitcast_convert %f : (tensor<f64>) -> tensor<64xi1>
  %g = stablehlo.bitcast_convert %t : (tensor<64xi1>) -> tensor<f64>
  stablehlo.custom_call @check.expect_eq(%g, %f) : (tensor<f64>, tensor<f64>) -> ()
  %c = stablehlo.constant dense<(0x3FF0000040000000, 0xC000000000000000)> : tensor<complex<f64>>
  %h = stablehlo.bitcast_convert %c : (tensor<complex<f64>>) -> tensor<2xcomplex<f32>>
  %v = stablehlo.constant dense<[(2.0, 1.875), (0.0, -2.0)]> : tensor<2xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%h, %v) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()
  return
}
