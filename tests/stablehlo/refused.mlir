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
// refused: operands are f32[2] and f32[3], which are not of one shape
func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  %z = "stablehlo.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: elements of type none are not supported
func.func @main(%x: tensor<2xf32>) -> tensor<2xnone> {
  %z = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xnone>
  return %z : tensor<2xnone>
}
// -----
// refused: a constant of i32 with elements of f32
func.func @main() -> tensor<2xi32> {
  %z = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xi32>
  return %z : tensor<2xi32>
}
// -----
// refused: the result has no "...", which an operand has
func.func @main(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %z = stablehlo.unary_einsum %x, config = "a...->a" : (tensor<2x3xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: nx_stablehlo_options.inputs says what they are
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
// refused: there is no number for each column
func.func @main(%x: tensor<2x3xf32>, %p: tensor<2xi32>) -> tensor<2x3xf32> {
  %y:3 = stablehlo.custom_call @lapack_sgeqp3_ffi(%x, %p) : (tensor<2x3xf32>, tensor<2xi32>)
    -> (tensor<2x3xf32>, tensor<2xi32>, tensor<2xf32>)
  return %y#0 : tensor<2x3xf32>
}
// -----
// refused: there is no comparator of 2 scalars
func.func @main(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<2xf32> {
  %y = stablehlo.custom_call @ApproxTopK(%x, %i) {called_computations = [@less]}
    : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
// refused: f32 is no integer
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = chlo.mulhi %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
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
// -----
// refused: operands are f32[3] and f32[1], which are not of one shape
func.func @main(%x: tensor<3xf32>, %y: tensor<1xf32>) -> tensor<3xf32> {
  %z = "stablehlo.add"(%x, %y) : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
// -----
// refused: 3 operands, not 2
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %z = stablehlo.add %x, %x, %x : tensor<3xf32>
  return %z : tensor<3xf32>
}
// -----
// refused: 1.5-3 is no number
func.func @main() -> tensor<f32> {
  %y = stablehlo.constant dense<1.5-3> : tensor<f32>
  return %y : tensor<f32>
}
// -----
// refused: more bits than i8 has
func.func @main() -> tensor<i8> {
  %y = stablehlo.constant dense<0x1FF> : tensor<i8>
  return %y : tensor<i8>
}
// -----
// refused: expected a number
func.func @main() -> tensor<0xf32> {
  %y = stablehlo.constant dense<garbage> : tensor<0xf32>
  return %y : tensor<0xf32>
}
// -----
// refused: @main returns a value 0 of another type than it says
func.func @main(%x: tensor<3xf32>) -> tensor<5xi8> {
  return %x : tensor<3xf32>
}
// -----
// refused: operand 0 has another type than @f takes
func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
  %y = call @f(%x) : (tensor<2xi8>) -> tensor<2xi8>
  return %y : tensor<2xi8>
}
func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
// -----
// refused: the operands' axes do not fit each other
func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<3x2x4xf32>) -> tensor<2x3xf32> {
  %z = stablehlo.dot_general %x, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x3x4xf32>, tensor<3x2x4xf32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}
// -----
// refused: the type of the result is not that of the product
func.func @main(%x: tensor<2x4xf32>, %y: tensor<4x3xf32>) -> tensor<3x2xf32> {
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<3x2xf32>
  return %z : tensor<3x2xf32>
}
// -----
// refused: fft_length does not fit the operand
func.func @main(%x: tensor<8xf32>) -> tensor<5xcomplex<f32>> {
  %z = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return %z : tensor<5xcomplex<f32>>
}
// -----
// refused: dimension is missing or out of range
func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
  %z = "stablehlo.concatenate"(%x, %x) {dimension = -1 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
// -----
// refused: padding is no list of 2 pairs
func.func @main(%x: tensor<2x2xf32>, %i: tensor<f32>) -> tensor<4x4xf32> {
  %z = "stablehlo.reduce_window"(%x, %i) <{padding = dense<[1, 1]> : tensor<2xi64>, window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}
// -----
// refused: operand 1 is f32[3], and the type says f32[2]
func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  %z = "stablehlo.add"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: operand 0 is f32[2], and the type says i32[2]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xi32>
}
// -----
// refused: 1 types of 2 operands
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.add %x, %x : (tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: operand 0 is i32[], and the type says i64[]
func.func @main(%n: tensor<i32>) -> tensor<i32> {
  %r = stablehlo.while(%i = %n) : tensor<i64> cond {
    %c = stablehlo.compare LT, %i, %i : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i64>
  }
  return %n : tensor<i32>
}
// -----
// refused: there is a value %x already
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %x = stablehlo.add %x, %x : tensor<2xf32>
  return %x : tensor<2xf32>
}
// -----
// refused: line 3, column 30: expected an operand
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.add %x, %x, : tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: expected a comma
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.add %x %x : tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: einsum_config "ab,b" is not of the form ab,bc->ac
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %z = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b"}> : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: the letter c of the result is in no operand, or there twice
func.func @main(%x: tensor<2x2xf32>) -> tensor<2xf32> {
  %z = "stablehlo.unary_einsum"(%x) <{einsum_config = "ab->c"}> : (tensor<2x2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: axes of the letter a differ in extent
func.func @main(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %z = "stablehlo.unary_einsum"(%x) <{einsum_config = "aa->a"}> : (tensor<2x3xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: dim or batch_dims is out of range
func.func @main(%x: tensor<2x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
  %z = "stablehlo.torch_index_select"(%x, %i) <{dim = 2 : i64, batch_dims = 0 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}
// -----
// refused: extents 2 and 3 of axis 0 do not fit
func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %z = chlo.broadcast_add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
// -----
// refused: broadcast_dimensions are no 1 rising axes of 2
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2xf32>) -> tensor<2x2xf32> {
  %z = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 2>} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}
// -----
// refused: 2 group sizes for 3 groups
func.func @main(%x: tensor<4x5xf32>, %y: tensor<3x5x2xf32>, %s: tensor<2xi64>) -> tensor<4x2xf32> {
  %z = "chlo.ragged_dot"(%x, %y, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<4x5xf32>, tensor<3x5x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}
// -----
// refused: the second operand has an axis of groups if a free axis is ragged
func.func @main(%x: tensor<4x5xf32>, %y: tensor<5x2xf32>, %s: tensor<2xi64>) -> tensor<4x2xf32> {
  %z = "chlo.ragged_dot"(%x, %y, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>} : (tensor<4x5xf32>, tensor<5x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}
// -----
// refused: line 4, column 8: there is no element of that number
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.tuple %x : tuple<tensor<2xf32>>
  %z = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
// -----
// refused: the result's type is not that of the element
func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {
  %t = stablehlo.tuple %x : tuple<tensor<2xf32>>
  %z = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
// -----
// refused: the tuple's type is not that of its operands
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.tuple %x, %x : tuple<tensor<2xf32>>
  return %x : tensor<2xf32>
}
// -----
// refused: stablehlo.select, line 5, column 8: it neither takes nor gives tuples
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<true> : tensor<i1>
  %t = stablehlo.tuple %x : tuple<tensor<2xf32>>
  %s = stablehlo.select %c, %t, %t : tensor<i1>, tuple<tensor<2xf32>>
  return %x : tensor<2xf32>
}
// -----
// refused: axis 31 is out of range or named twice
func.func @main(%x: tensor<4x5xf32>, %y: tensor<5x2xf32>, %s: tensor<2xi64>) -> tensor<2x4x2xf32> {
  %z = "chlo.ragged_dot"(%x, %y, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [31], lhs_ragged_dimensions = [1], rhs_group_dimensions = []>} : (tensor<4x5xf32>, tensor<5x2xf32>, tensor<2xi64>) -> tensor<2x4x2xf32>
  return %z : tensor<2x4x2xf32>
}
// -----
// refused: 1 ragged axes and 1 of groups, or one that is no axis, or one of the product
func.func @main(%x: tensor<4x5xf32>, %y: tensor<2x5x5xf32>, %s: tensor<2xi64>) -> tensor<4x5xf32> {
  %z = "chlo.ragged_dot"(%x, %y, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [1]>} : (tensor<4x5xf32>, tensor<2x5x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
  return %z : tensor<4x5xf32>
}
// -----
// refused: 7770 results of 1 types
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z:7770 = stablehlo.add %x, %x : tensor<2xf32>
  return %x : tensor<2xf32>
}
// -----
// refused: argument 1 of @main has elements of type none, which are not supported
func.func @main(%x: tensor<2xf32>, %y: tensor<2xnone>) { return }
// -----
// refused: argument 1 of @main has elements of type complex<f16>, which are not supported
func.func @main(%x: tensor<2xf32>, %y: tensor<2xcomplex<f16>>) { return }
// -----
// refused: stablehlo.convert, line 3, column 8: elements of type none are not supported
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xnone>
  %y = stablehlo.convert %z : (tensor<2xnone>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
// refused: line 3, column 33: constants of elements of type none are not supported
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<1> : tensor<2xnone>
  return %x : tensor<2xf32>
}
// -----
// refused: the program exchanges with its host, and there is no function for it
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %y:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %x : tensor<2xf32>
}
// -----
// refused: the program exchanges with its host, and there is no function for it
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %y = "stablehlo.outfeed"(%x, %t) : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: the program exchanges with its host, and there is no function for it
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %y = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: the program exchanges with its host, and there is no function for it
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %y:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %x : tensor<2xf32>
}
// -----
// refused: line 3, column 34: an integer that ui2 has not
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<4> : tensor<2xui2>
  return %x : tensor<2xf32>
}
// -----
// refused: more bits than f6E2M3FN has
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0x40> : tensor<2xf6E2M3FN>
  return %x : tensor<2xf32>
}
// -----
// refused: 4 hexadecimal digits for 3 elements of 1 bytes
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<"0x4041"> : tensor<3xf8E3M4>
  return %x : tensor<2xf32>
}
// -----
// refused: what is moved has to be quantized as what comes of it
func.func @main(%x: tensor<2xf8E3M4>, %y: tensor<2xf8E4M3>) -> tensor<4xf8E3M4> {
  %z = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xf8E3M4>, tensor<2xf8E4M3>) -> tensor<4xf8E3M4>
  return %z : tensor<4xf8E3M4>
}
// -----
// refused: operand 0 has another type than @f takes
func.func private @f(%x: tensor<2xf8E3M4>) -> tensor<2xf8E3M4> { return %x : tensor<2xf8E3M4> }
func.func @main(%x: tensor<2xf8E4M3>) -> tensor<2xf8E3M4> {
  %z = "func.call"(%x) {callee = @f} : (tensor<2xf8E4M3>) -> tensor<2xf8E3M4>
  return %z : tensor<2xf8E3M4>
}
// -----
// refused: elements of this type are not supported
func.func @main(%a: tensor<f8E3M4>, %b: tensor<f8E3M4>) -> tensor<2xf8E3M4> {
  %s = stablehlo.constant dense<2> : tensor<1xi64>
  %z = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f8E3M4>, tensor<f8E3M4>, tensor<1xi64>) -> tensor<2xf8E3M4>
  return %z : tensor<2xf8E3M4>
}
// -----
// refused: result 0 is i8[2,8], and the type says i2[2]
func.func @main(%x: tensor<2xi16>) -> tensor<2xi2> {
  %z = stablehlo.bitcast_convert %x : (tensor<2xi16>) -> tensor<2xi2>
  return %z : tensor<2xi2>
}
// -----
// refused: argument 0 of @main has elements of type complex<tf32>, which are not supported
func.func @main(%x: tensor<2xcomplex<tf32>>) { return }
// -----
// refused: source_target_pairs are no pairs of numbers below 1
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: source_target_pairs are no pairs of numbers below 1
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: source_target_pairs is empty
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: source_target_pairs has a number twice
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: no recv takes what a process sends itself
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: a process waits for what it sends later
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %x : tensor<2xf32>
}
// -----
// refused: there is no channel
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
// -----
// refused: result 0 is f32[2], and the type says i32[2]
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %b:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  return %x : tensor<2xf32>
}
// -----
// refused: its send has fewer operands
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %a = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %b:3 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<2xf32>, tensor<2xf32>, !stablehlo.token)
  return %x : tensor<2xf32>
}
// -----
// refused: operands or results that are no tokens
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %b:2 = "stablehlo.recv"(%x) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> (tensor<2xf32>, !stablehlo.token)
  return %x : tensor<2xf32>
}
