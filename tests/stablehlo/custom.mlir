// SPDX-License-Identifier: ISC
// Custom calls by which JAX has systems solved and matrices factored: tridiagonal ones that may be
// singular, and QR with pivots and columns that are put in front; and products of sparse matrices. The
// numbers are those of NumPy and LAPACK, or by hand.

// Rows are exchanged; the first element below the diagonal and the last one above it are not read.
func.func @main() {
  %l = stablehlo.constant dense<[[(9,0), (1,1), (-2,0)], [(9,0), (3,0), (0,1)]]> : tensor<2x3xcomplex<f64>>
  %d = stablehlo.constant dense<[[(0,0), (1,0), (0,2)], [(1,0), (-1,0), (1,0)]]> : tensor<2x3xcomplex<f64>>
  %u = stablehlo.constant dense<[[(2,0), (0,1), (9,0)], [(0,1), (2,0), (9,0)]]> : tensor<2x3xcomplex<f64>>
  %b = stablehlo.constant dense<[[[(1,0), (2,0)], [(0,0), (0,1)], [(3,0), (1,0)]], [[(1,0), (0,0)], [(1,0), (1,0)], [(2,0), (-1,0)]]]> : tensor<2x3x2xcomplex<f64>>
  %w = stablehlo.constant dense<[[[(-1.25,1.25), (-0.75,1.75)], [(0.5,0), (1,0)], [(0,-2), (0,-1.5)]], [[(-0.15384615384615385,-0.23076923076923084), (0.57692307692307687,0.11538461538461542)], [(0.23076923076923073,-1.153846153846154), (-0.11538461538461536,0.57692307692307698)], [(0.84615384615384615,-0.23076923076923075), (-0.42307692307692313,0.11538461538461538)]]]> : tensor<2x3x2xcomplex<f64>>
  %x = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%l, %d, %u, %b) : (tensor<2x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>, tensor<2x3xcomplex<f64>>, tensor<2x3x2xcomplex<f64>>) -> tensor<2x3x2xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%x, %w) : (tensor<2x3x2xcomplex<f64>>, tensor<2x3x2xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %l = stablehlo.constant dense<[0x7FC00000, 2.0, -2.0, 3.0]> : tensor<4xf32>
  %d = stablehlo.constant dense<[1.0, 4.0, 1.0, -1.0]> : tensor<4xf32>
  %u = stablehlo.constant dense<[2.0, -1.0, 1.0, 0x7FC00000]> : tensor<4xf32>
  %b = stablehlo.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %x = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%l, %d, %u, %b) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %w = stablehlo.constant dense<[[8.0], [-3.5], [0.0], [-4.0]]> : tensor<4x1xf32>
  stablehlo.custom_call @check.expect_close(%x, %w) : (tensor<4x1xf32>, tensor<4x1xf32>) -> ()
  return
}
// -----
// A pivot of zero is the rounding unit times the largest element of the triangle, or the unit.
func.func @main() {
  %z = stablehlo.constant dense<0.0> : tensor<3xf32>
  %b = stablehlo.constant dense<[[1.0], [2.0], [-1.0]]> : tensor<3x1xf32>
  %x = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%z, %z, %z, %b) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %w = stablehlo.constant dense<[[8388608.0], [16777216.0], [-8388608.0]]> : tensor<3x1xf32>
  stablehlo.custom_call @check.expect_eq(%x, %w) : (tensor<3x1xf32>, tensor<3x1xf32>) -> ()
  return
}
// -----
func.func @main() {
  %l = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %d = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %u = stablehlo.constant dense<[4.0, 0.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[[1.0], [3.0]]> : tensor<2x1xf32>
  %x = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%l, %d, %u, %b) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %w = stablehlo.constant dense<[[-16777215.0], [4194304.0]]> : tensor<2x1xf32>
  stablehlo.custom_call @check.expect_close(%x, %w) : (tensor<2x1xf32>, tensor<2x1xf32>) -> ()
  return
}
// -----
func.func @main() {
  %d = stablehlo.constant dense<-4.0> : tensor<1xf64>
  %b = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf64>
  %x = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%d, %d, %d, %b) : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1x2xf64>) -> tensor<1x2xf64>
  %w = stablehlo.constant dense<[[-0.25, -0.5]]> : tensor<1x2xf64>
  stablehlo.custom_call @check.expect_eq(%x, %w) : (tensor<1x2xf64>, tensor<1x2xf64>) -> ()
  return
}
// -----
// No column is put in front.
func.func @main() {
  %a = stablehlo.constant dense<[[ 1.,  2., -3.], [ 4., -5.,  1.], [ 0.,  2.,  2.]]> : tensor<3x3xf64>
  %j = stablehlo.constant dense<[0, 0, 0]> : tensor<3xi32>
  %r:3 = stablehlo.custom_call @lapack_dgeqp3_ffi(%a, %j) : (tensor<3x3xf64>, tensor<3xi32>) -> (tensor<3x3xf64>, tensor<3xi32>, tensor<3xf64>)
  %p = stablehlo.constant dense<[[-5.744562646538029  ,  1.2185435916898841 ,  3.1333978072025603 ], [-0.6456142494031083 ,  3.537676004830221  , -0.7966195361966353 ], [ 0.25824569976124334, -0.5872052730650907 ,  2.558752722786639  ]]> : tensor<3x3xf64>
  %o = stablehlo.constant dense<[2, 3, 1]> : tensor<3xi32>
  %t = stablehlo.constant dense<[1.3481553119113956, 1.4871988989861928, 0.                ]> : tensor<3xf64>
  stablehlo.custom_call @check.expect_close(%r#0, %p) : (tensor<3x3xf64>, tensor<3x3xf64>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %o) : (tensor<3xi32>, tensor<3xi32>) -> ()
  stablehlo.custom_call @check.expect_close(%r#2, %t) : (tensor<3xf64>, tensor<3xf64>) -> ()
  return
}
// -----
// Of pivots, the last column is put in front.
func.func @main() {
  %a = stablehlo.constant dense<[[ 1.,  2., -3.], [ 4., -5.,  1.], [ 0.,  2.,  2.]]> : tensor<3x3xf64>
  %j = stablehlo.constant dense<[0, 0, 7]> : tensor<3xi32>
  %r:3 = stablehlo.custom_call @lapack_dgeqp3_ffi(%a, %j) : (tensor<3x3xf64>, tensor<3xi32>) -> (tensor<3x3xf64>, tensor<3xi32>, tensor<3xf64>)
  %p = stablehlo.constant dense<[[ 3.741657386773941 , -1.8708286933869713,  0.2672612419124245], [-0.1483314773547883,  5.431390245600108 , -3.2220111626441295], [-0.2966629547095766, -0.3193933013439758,  2.5587527227866396]]> : tensor<3x3xf64>
  %o = stablehlo.constant dense<[3, 2, 1]> : tensor<3xi32>
  %t = stablehlo.constant dense<[1.8017837257372733, 1.814862136799673 , 0.                ]> : tensor<3xf64>
  stablehlo.custom_call @check.expect_close(%r#0, %p) : (tensor<3x3xf64>, tensor<3x3xf64>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %o) : (tensor<3xi32>, tensor<3xi32>) -> ()
  stablehlo.custom_call @check.expect_close(%r#2, %t) : (tensor<3xf64>, tensor<3xf64>) -> ()
  return
}
// -----
// refused: operands are no tridiagonal systems
func.func @main(%d: tensor<3xf32>, %b: tensor<2x1xf32>) -> tensor<2x1xf32> {
  %x = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%d, %d, %d, %b) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  return %x : tensor<2x1xf32>
}
// -----
// Of rows with two, no, and two elements; one is in front of all rows, and one is behind them.
func.func @main() {
  %e = stablehlo.constant dense<[0x7FC00000, 2.0, 3.0, 5.0, 7.0, 0x7FC00000]> : tensor<6xf32>
  %s = stablehlo.constant dense<[1, 3, 3, 5]> : tensor<4xi32>
  %c = stablehlo.constant dense<[0, 1, 3, 0, 0, 9]> : tensor<6xi32>
  %x = stablehlo.constant dense<[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]> : tensor<4x2xf32>
  %y = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%e, %s, %c, %x) : (tensor<6xf32>, tensor<4xi32>, tensor<6xi32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %w = stablehlo.constant dense<[[16.0, 160.0], [0.0, 0.0], [12.0, 120.0]]> : tensor<3x2xf32>
  stablehlo.custom_call @check.expect_eq(%y, %w) : (tensor<3x2xf32>, tensor<3x2xf32>) -> ()
  return
}
// -----
// A vector; the first element stands beyond the last column.
func.func @main() {
  %e = stablehlo.constant dense<[(9,9), (0,1), (2,0)]> : tensor<3xcomplex<f64>>
  %s = stablehlo.constant dense<[0, 2, 3]> : tensor<3xi64>
  %c = stablehlo.constant dense<[2, 0, 1]> : tensor<3xi64>
  %x = stablehlo.constant dense<[(1,2), (3,0)]> : tensor<2xcomplex<f64>>
  %y = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%e, %s, %c, %x) : (tensor<3xcomplex<f64>>, tensor<3xi64>, tensor<3xi64>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %w = stablehlo.constant dense<[(-2,1), (6,0)]> : tensor<2xcomplex<f64>>
  stablehlo.custom_call @check.expect_eq(%y, %w) : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %e = stablehlo.constant dense<> : tensor<0xi32>
  %s = stablehlo.constant dense<[0, 0]> : tensor<2xi32>
  %x = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%e, %s, %e, %x) : (tensor<0xi32>, tensor<2xi32>, tensor<0xi32>, tensor<1xi32>) -> tensor<1xi32>
  %w = stablehlo.constant dense<[0]> : tensor<1xi32>
  stablehlo.custom_call @check.expect_eq(%y, %w) : (tensor<1xi32>, tensor<1xi32>) -> ()
  return
}
// -----
// refused: operands are no rows of a matrix and a dense one
func.func @main(%e: tensor<3xf32>, %s: tensor<2xi32>, %x: tensor<4xf32>) -> tensor<3xf32> {
  %y = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%e, %s, %s, %x) : (tensor<3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<4xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
// -----
// What says an order changes nothing.
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.add %a, %a : tensor<2xf32>
  stablehlo.custom_call @control_dep(%a, %b) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  stablehlo.custom_call @dce_sink(%b) {has_side_effect = true} : (tensor<2xf32>) -> ()
  %w = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%b, %w) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
// -----
// refused: the custom call control_dep is not known
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = stablehlo.custom_call @control_dep(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}
