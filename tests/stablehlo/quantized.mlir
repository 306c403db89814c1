// SPDX-License-Identifier: ISC
// Quantized types: what is written, what is computed in floats, and what is moved as it is stored.
// The numbers are those of the specification's formulas, computed with NumPy.

// Halves go to the even number, and what is beyond the limits to them.
func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.75, -0.25, -100.0, 100.0, 0.0]> : tensor<6xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<i8<-127:127>:f32, 0.5:3>>
  %s = stablehlo.bitcast_convert %q : (tensor<6x!quant.uniform<i8<-127:127>:f32, 0.5:3>>) -> tensor<6xi8>
  %w = stablehlo.constant dense<[4, 4, 2, -127, 127, 3]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%s, %w) : (tensor<6xi8>, tensor<6xi8>) -> ()
  %y = stablehlo.uniform_dequantize %q : (tensor<6x!quant.uniform<i8<-127:127>:f32, 0.5:3>>) -> tensor<6xf32>
  %v = stablehlo.constant dense<[0.5, 0.5, -0.5, -65.0, 62.0, 0.0]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%y, %v) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
// Each place of an axis has a scale; unsigned and nibbles; without a zero point it is 0.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [-1.0, 40.0, 0.5]]> : tensor<2x3xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<u8:f32:1, {0.25:10, 0.125:20, 0.5}>>
  %s = stablehlo.bitcast_convert %q : (tensor<2x3x!quant.uniform<u8:f32:1, {0.25:10, 0.125:20, 0.5}>>) -> tensor<2x3xui8>
  %w = stablehlo.constant dense<[[14, 36, 6], [6, 255, 1]]> : tensor<2x3xui8>
  stablehlo.custom_call @check.expect_eq(%s, %w) : (tensor<2x3xui8>, tensor<2x3xui8>) -> ()
  %n = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i4:f32, 1.0:-2>>
  %y = stablehlo.uniform_dequantize %n : (tensor<2x3x!quant.uniform<i4:f32, 1.0:-2>>) -> tensor<2x3xf32>
  %v = stablehlo.constant dense<[[1.0, 2.0, 3.0], [-1.0, 9.0, 0.0]]> : tensor<2x3xf32>
  stablehlo.custom_call @check.expect_eq(%y, %v) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  return
}
// -----
// A type is written again as another one; a constant is of the storage.
func.func @main() {
  %q = "stablehlo.constant"() <{value = dense<[4, -6, 127]> : tensor<3xi8>}> : () -> tensor<3x!quant.uniform<i8:f32, 0.5:4>>
  %p = stablehlo.uniform_quantize %q : (tensor<3x!quant.uniform<i8:f32, 0.5:4>>) -> tensor<3x!quant.uniform<i16:f32, 0.25:-8>>
  %s = stablehlo.bitcast_convert %p : (tensor<3x!quant.uniform<i16:f32, 0.25:-8>>) -> tensor<3xi16>
  %w = stablehlo.constant dense<[-8, -28, 238]> : tensor<3xi16>
  stablehlo.custom_call @check.expect_eq(%s, %w) : (tensor<3xi16>, tensor<3xi16>) -> ()
  return
}
// -----
// Signless words are those of an unsigned storage.
func.func @main() {
  %q = "stablehlo.constant"() <{value = dense<[-56, 7]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  %y = stablehlo.uniform_dequantize %q : (tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2xf32>
  %v = stablehlo.constant dense<[100.0, 3.5]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%y, %v) : (tensor<2xf32>, tensor<2xf32>) -> ()
  %p = "stablehlo.constant"() <{value = dense<-56> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<u8:f32, 0.5>>
  %z = stablehlo.uniform_dequantize %p : (tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2xf32>
  %w = stablehlo.constant dense<100.0> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%z, %w) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
// -----
// A product of floats and weights that have a scale each, and one whose result is quantized.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, -2.0], [0.5, 3.0]]> : tensor<2x2xf32>
  %w = "stablehlo.constant"() <{value = dense<[[2, 4, -6], [1, -3, 5]]> : tensor<2x3xi8>}> : () -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 2.0}>>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 2.0}>>) -> tensor<2x3xf32>
  %v = stablehlo.constant dense<[[0.0, 2.5, -32.0], [2.0, -1.75, 24.0]]> : tensor<2x3xf32>
  stablehlo.custom_call @check.expect_eq(%y, %v) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %a = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
  %c = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  %b = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>, tensor<2x2x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x2x!quant.uniform<i32:f32, 0.25>>
  %s = stablehlo.bitcast_convert %b : (tensor<2x2x!quant.uniform<i32:f32, 0.25>>) -> tensor<2x2xi32>
  %t = stablehlo.constant dense<[[0, -32], [8, 32]]> : tensor<2x2xi32>
  stablehlo.custom_call @check.expect_eq(%s, %t) : (tensor<2x2xi32>, tensor<2x2xi32>) -> ()
  return
}
// -----
// A sum of quantized numbers is quantized at each addition, so it stays at the limit; the largest
// of them is that of the storage.
func.func @main() {
  %x = "stablehlo.constant"() <{value = dense<[[120, 100], [4, -8]]> : tensor<2x2xi8>}> : () -> tensor<2x2x!quant.uniform<i8:f32, 0.5:2>>
  %z = "stablehlo.constant"() <{value = dense<2> : tensor<i8>}> : () -> tensor<!quant.uniform<i8:f32, 0.5:2>>
  %y = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<!quant.uniform<i8:f32, 0.5:2>>, %b: tensor<!quant.uniform<i8:f32, 0.5:2>>):
    %c = stablehlo.add %a, %b : tensor<!quant.uniform<i8:f32, 0.5:2>>
    stablehlo.return %c : tensor<!quant.uniform<i8:f32, 0.5:2>>
  }) : (tensor<2x2x!quant.uniform<i8:f32, 0.5:2>>, tensor<!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:2>>
  %s = stablehlo.bitcast_convert %y : (tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2xi8>
  %w = stablehlo.constant dense<[127, -6]> : tensor<2xi8>
  stablehlo.custom_call @check.expect_eq(%s, %w) : (tensor<2xi8>, tensor<2xi8>) -> ()
  %m = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<!quant.uniform<i8:f32, 0.5:2>>, %b: tensor<!quant.uniform<i8:f32, 0.5:2>>):
    %c = stablehlo.maximum %a, %b : tensor<!quant.uniform<i8:f32, 0.5:2>>
    stablehlo.return %c : tensor<!quant.uniform<i8:f32, 0.5:2>>
  }) : (tensor<2x2x!quant.uniform<i8:f32, 0.5:2>>, tensor<!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:2>>
  %f = stablehlo.uniform_dequantize %m : (tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2xf32>
  %v = stablehlo.constant dense<[59.0, 1.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%f, %v) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
// -----
// What is moved takes the scales of its axis with it.
func.func @main() {
  %x = "stablehlo.constant"() <{value = dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>}> : () -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5:1, 2.0}>>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x2x!quant.uniform<i8:f32:1, {0.5:1, 2.0}>>) -> tensor<2x3x!quant.uniform<i8:f32:0, {0.5:1, 2.0}>>
  %r = stablehlo.reshape %t : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5:1, 2.0}>>) -> tensor<1x2x3x!quant.uniform<i8:f32:1, {0.5:1, 2.0}>>
  %b = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<1x2x3x!quant.uniform<i8:f32:1, {0.5:1, 2.0}>>) -> tensor<2x2x3x!quant.uniform<i8:f32:1, {0.5:1, 2.0}>>
  %y = stablehlo.uniform_dequantize %b : (tensor<2x2x3x!quant.uniform<i8:f32:1, {0.5:1, 2.0}>>) -> tensor<2x2x3xf32>
  %w = stablehlo.constant dense<[[[0.0, 1.0, 2.0], [4.0, 8.0, 12.0]], [[0.0, 1.0, 2.0], [4.0, 8.0, 12.0]]]> : tensor<2x2x3xf32>
  stablehlo.custom_call @check.expect_eq(%y, %w) : (tensor<2x2x3xf32>, tensor<2x2x3xf32>) -> ()
  return
}
// -----
// Through calls, loops and branches; comparison is of what the numbers mean.
func.func private @twice(%x: tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:2>> {
  %y = stablehlo.add %x, %x : tensor<2x!quant.uniform<i8:f32, 0.5:2>>
  return %y : tensor<2x!quant.uniform<i8:f32, 0.5:2>>
}
func.func @main() {
  %x = "stablehlo.constant"() <{value = dense<[4, 0]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5:2>>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %l:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<2x!quant.uniform<i8:f32, 0.5:2>>
    cond {
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %u = func.call @twice(%v) : (tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:2>>
      stablehlo.return %j, %u : tensor<i32>, tensor<2x!quant.uniform<i8:f32, 0.5:2>>
    }
  %s = stablehlo.bitcast_convert %l#1 : (tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2xi8>
  %w = stablehlo.constant dense<[18, -14]> : tensor<2xi8>
  stablehlo.custom_call @check.expect_eq(%s, %w) : (tensor<2xi8>, tensor<2xi8>) -> ()
  %z = "stablehlo.constant"() <{value = dense<[8, -4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 1.0>>
  %e = stablehlo.compare EQ, %l#1, %z : (tensor<2x!quant.uniform<i8:f32, 0.5:2>>, tensor<2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2xi1>
  %t = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  stablehlo.custom_call @check.expect_eq(%e, %t) : (tensor<2xi1>, tensor<2xi1>) -> ()
  return
}
// -----
// refused: has to be quantized as what comes of it
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<1x!quant.uniform<i8:f32, 0.25:2>> {
  %y = stablehlo.slice %x [0:1] : (tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<1x!quant.uniform<i8:f32, 0.25:2>>
  return %y : tensor<1x!quant.uniform<i8:f32, 0.25:2>>
}
// -----
// refused: with one scale
func.func @main(%x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> {
  %y = stablehlo.reverse %x, dims = [0] : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return %y : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}
// -----
// refused: the axis that it has there
func.func @main(%x: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> {
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return %y : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}
// -----
// refused: quantized values are not supported
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:2>> {
  %y = stablehlo.and %x, %x : tensor<2x!quant.uniform<i8:f32, 0.5:2>>
  return %y : tensor<2x!quant.uniform<i8:f32, 0.5:2>>
}
// -----
// refused: another type than it says
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  return %x : tensor<2x!quant.uniform<i8:f32, 0.5:2>>
}
// -----
// refused: not as long
func.func @main(%x: tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3xf32> {
  %y = stablehlo.uniform_dequantize %x : (tensor<3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
// -----
// refused: a zero point is beyond the storage
func.func @main(%x: tensor<2x!quant.uniform<i8<-100:100>:f32, 0.5:101>>) {
  return
}
// -----
// refused: a scale is not positive and finite
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.0:1>>) {
  return
}
// -----
// Blocks of two axes: pairs of columns of each row, then halves of the rows. An axis that is not
// named has one block.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0], [-1.0, 40.0, 0.5, 1.5]]> : tensor<2x4xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5:1, 1.0}, {0.25:-3, 0.125:2}}>>
  %s = stablehlo.bitcast_convert %q : (tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5:1, 1.0}, {0.25:-3, 0.125:2}}>>) -> tensor<2x4xi8>
  %w = stablehlo.constant dense<[[3, 5, 3, 4], [-7, 127, 6, 14]]> : tensor<2x4xi8>
  stablehlo.custom_call @check.expect_eq(%s, %w) : (tensor<2x4xi8>, tensor<2x4xi8>) -> ()
  %y = stablehlo.uniform_dequantize %q : (tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5:1, 1.0}, {0.25:-3, 0.125:2}}>>) -> tensor<2x4xf32>
  %v = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0], [-1.0, 32.5, 0.5, 1.5]]> : tensor<2x4xf32>
  stablehlo.custom_call @check.expect_eq(%y, %v) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
  %h = stablehlo.uniform_quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32:{1:2}, {{1.0, 0.5}}>>
  %t = stablehlo.bitcast_convert %h : (tensor<2x4x!quant.uniform<i8:f32:{1:2}, {{1.0, 0.5}}>>) -> tensor<2x4xi8>
  %u = stablehlo.constant dense<[[1, 2, 6, 8], [-1, 40, 1, 3]]> : tensor<2x4xi8>
  stablehlo.custom_call @check.expect_eq(%t, %u) : (tensor<2x4xi8>, tensor<2x4xi8>) -> ()
  return
}
// -----
// Products with weights in blocks of what is summed, and sums of such tensors.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, -1.0, 3.0]]> : tensor<1x4xf32>
  %w = "stablehlo.constant"() <{value = dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>}> : () -> tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5, 1.0:1}, {2.0, 0.25:4}}>>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x4xf32>, tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5, 1.0:1}, {2.0, 0.25:4}}>>) -> tensor<1x2xf32>
  %v = stablehlo.constant dense<[[35.5, 9.5]]> : tensor<1x2xf32>
  stablehlo.custom_call @check.expect_eq(%y, %v) : (tensor<1x2xf32>, tensor<1x2xf32>) -> ()
  %a = stablehlo.add %w, %w : tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5, 1.0:1}, {2.0, 0.25:4}}>>
  %s = stablehlo.bitcast_convert %a : (tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5, 1.0:1}, {2.0, 0.25:4}}>>) -> tensor<4x2xi8>
  %t = stablehlo.constant dense<[[2, 3], [6, 7], [10, 8], [14, 12]]> : tensor<4x2xi8>
  stablehlo.custom_call @check.expect_eq(%s, %t) : (tensor<4x2xi8>, tensor<4x2xi8>) -> ()
  return
}
// -----
// What is moved takes the scales of its blocks with it; one block of a whole tensor is one scale.
func.func @main() {
  %x = "stablehlo.constant"() <{value = dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>}> : () -> tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5:1, 2.0}, {4.0, 1.0}}>>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5:1, 2.0}, {4.0, 1.0}}>>) -> tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5:1, 4.0}, {2.0, 1.0}}>>
  %r = stablehlo.reshape %t : (tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5:1, 4.0}, {2.0, 1.0}}>>) -> tensor<4x1x2x!quant.uniform<i8:f32:{0:2, 2:1}, {{{0.5:1, 4.0}}, {{2.0, 1.0}}}>>
  %b = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<4x1x2x!quant.uniform<i8:f32:{0:2, 2:1}, {{{0.5:1, 4.0}}, {{2.0, 1.0}}}>>) -> tensor<4x2x2x!quant.uniform<i8:f32:{0:2, 2:1}, {{{0.5:1, 4.0}}, {{2.0, 1.0}}}>>
  %y = stablehlo.uniform_dequantize %b : (tensor<4x2x2x!quant.uniform<i8:f32:{0:2, 2:1}, {{{0.5:1, 4.0}}, {{2.0, 1.0}}}>>) -> tensor<4x2x2xf32>
  %w = stablehlo.constant dense<[[[0.0, 20.0], [0.0, 20.0]], [[0.5, 24.0], [0.5, 24.0]], [[6.0, 7.0], [6.0, 7.0]], [[8.0, 8.0], [8.0, 8.0]]]> : tensor<4x2x2xf32>
  stablehlo.custom_call @check.expect_eq(%y, %w) : (tensor<4x2x2xf32>, tensor<4x2x2xf32>) -> ()
  %z = "stablehlo.constant"() <{value = dense<[[2, 4]]> : tensor<1x2xi8>}> : () -> tensor<1x2x!quant.uniform<i8:f32:{}, {{0.5:1}}>>
  %p = stablehlo.slice %z [0:1, 1:2] : (tensor<1x2x!quant.uniform<i8:f32:{}, {{0.5:1}}>>) -> tensor<1x1x!quant.uniform<i8:f32, 0.5:1>>
  %f = stablehlo.uniform_dequantize %p : (tensor<1x1x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<1x1xf32>
  %g = stablehlo.constant dense<1.5> : tensor<1x1xf32>
  stablehlo.custom_call @check.expect_eq(%f, %g) : (tensor<1x1xf32>, tensor<1x1xf32>) -> ()
  return
}
// -----
// refused: or of its blocks
func.func @main(%x: tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5, 1.0}, {2.0, 4.0}}>>) -> tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5, 1.0}, {2.0, 4.0}}>> {
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5, 1.0}, {2.0, 4.0}}>>) -> tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5, 1.0}, {2.0, 4.0}}>>
  return %y : tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5, 1.0}, {2.0, 4.0}}>>
}
// -----
// refused: with one scale
func.func @main(%x: tensor<2x2x!quant.uniform<i8:f32:{0:1}, {{0.5}, {2.0}}>>) -> tensor<2x2x!quant.uniform<i8:f32:{0:1}, {{0.5}, {2.0}}>> {
  %y = stablehlo.reverse %x, dims = [0] : tensor<2x2x!quant.uniform<i8:f32:{0:1}, {{0.5}, {2.0}}>>
  return %y : tensor<2x2x!quant.uniform<i8:f32:{0:1}, {{0.5}, {2.0}}>>
}
// -----
// refused: blocks that a tensor of this shape has not
func.func @main(%x: tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:3}, {{0.5, 1.0}, {2.0, 4.0}}>>) -> tensor<2x4xf32> {
  %y = stablehlo.uniform_dequantize %x : (tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:3}, {{0.5, 1.0}, {2.0, 4.0}}>>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
// -----
// refused: blocks that a tensor of this shape has not
func.func @main(%x: tensor<2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5}, {2.0}}>>) -> tensor<2xf32> {
  %y = stablehlo.uniform_dequantize %x : (tensor<2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5}, {2.0}}>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
// refused: several scales along axis 1, which has no blocks
func.func @main(%x: tensor<1x2x!quant.uniform<i8:f32:{0:1}, {{0.5, 0.25}}>>) {
  return
}
// -----
// refused: axis 2
func.func @main(%x: tensor<1x2x!quant.uniform<i8:f32:{2:1}, {{0.5}}>>) {
  return
}
// -----
// refused: axis 0
func.func @main(%x: tensor<1x2x!quant.uniform<i8:f32:{0:1, 0:1}, {{0.5}}>>) {
  return
}
// -----
// refused: a block of 0 places
func.func @main(%x: tensor<1x2x!quant.uniform<i8:f32:{0:0}, {{0.5}}>>) {
  return
}
// -----
// refused: not as long as others
func.func @main(%x: tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5, 1.0}, {0.5}}>>) {
  return
}
// -----
// refused: not as deep as others
func.func @main(%x: tensor<2x2x!quant.uniform<i8:f32:{0:1, 1:1}, {{0.5, 1.0}, 0.5}>>) {
  return
}
// -----
// refused: not as deep as others
func.func @main(%x: tensor<2x2x!quant.uniform<i8:f32:0, {{0.5, 1.0}}>>) {
  return
}
// -----
// refused: what is moved has to be quantized as what comes of it
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  "stablehlo.transpose"(%x) <{permutation = array<i64: 0>}> : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> ()
  return
}
// -----
// refused: 0 results
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  "stablehlo.uniform_dequantize"(%x) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> ()
  return
}
