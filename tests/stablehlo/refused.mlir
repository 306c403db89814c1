// SPDX-License-Identifier: ISC
// Modules that are refused, each with words of the sentence.
// refused: line 5, column 27: there is no value %y here
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.add %x, %y : tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: no element type is named "f33"
func.func @main(%x: tensor<2xf33>) { return }
// -----
// refused: stablehlo.frobnicate, line 3, column 8: the operation is not supported
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.frobnicate %x : tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: result 0 is f32[2], and the type says f32[3]
func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {
  %z = "stablehlo.add"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
// -----
// refused: [2] and [3]
func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  %z = "stablehlo.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: elements of type f8E3M4 are not supported
func.func @main(%x: tensor<2xf32>) -> tensor<2xf8E3M4> {
  %z = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xf8E3M4>
  return %z : tensor<2xf8E3M4>
}
// -----
// refused: extents that are not known are not supported
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
// -----
// refused: func.call, line 7, column 8: @f calls itself
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %y = call @f(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
// -----
// refused: there is no function @g
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = call @g(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
// -----
// refused: the custom call cublas$gemm is not known
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.custom_call @cublas$gemm(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
// -----
// refused: line 3, column 37: expected ]
func.func @main() -> tensor<f32> {
  %y = stablehlo.constant dense<[1.0, 2.0]> : tensor<1xf32>
  return %y : tensor<f32>
}
// -----
// refused: an integer that i8 has not
func.func @main() -> tensor<i8> {
  %y = stablehlo.constant dense<300> : tensor<i8>
  return %y : tensor<i8>
}
// -----
// refused: the module has no function
module @empty {
}
// -----
// refused: a string that does not end on its line
module @m attributes {a = "b} {
}
// -----
// refused: a loop wants two regions
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %y = "stablehlo.while"(%x) ({
  ^bb0(%i: tensor<i32>):
    stablehlo.return %i : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return %y : tensor<i32>
}
// -----
// refused: bool
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %y = "stablehlo.while"(%x) ({
  ^bb0(%i: tensor<i32>):
    stablehlo.return %i : tensor<i32>
  }, {
  ^bb0(%i: tensor<i32>):
    stablehlo.return %i : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return %y : tensor<i32>
}
// -----
// refused: axis 7 of the result is out of range or twice
func.func @main(%x: tensor<2xi32>) -> tensor<2x2xi32> {
  %y = stablehlo.broadcast_in_dim %x, dims = [7] : (tensor<2xi32>) -> tensor<2x2xi32>
  return %y : tensor<2x2xi32>
}
// -----
// refused: more than 64 levels nest
module attributes {a = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]} { }
