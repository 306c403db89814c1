// SPDX-License-Identifier: ISC
// Results that have no name are results all the same.
func.func private @two(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  return %a, %a : tensor<2xf32>, tensor<2xf32>
}
func.func @main() {
  stablehlo.constant dense<[1, 0, 3]> : tensor<3xi8>
  "stablehlo.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = stablehlo.constant dense<3> : tensor<i32>
  %m = stablehlo.constant dense<[[4.0, 1.0], [1.0, 3.0]]> : tensor<2x2xf32>
  stablehlo.iota dim = 0 : tensor<4xi32>
  stablehlo.add %x, %x : tensor<2xf32>
  stablehlo.compare LT, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xi32>
  stablehlo.optimization_barrier %x, %i : tensor<2xf32>, tensor<i32>
  "stablehlo.optimization_barrier"(%x, %i) : (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
  func.call @two(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  stablehlo.custom_call @lapack_spotrf_ffi(%m) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<2xf32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %c = stablehlo.compare GT, %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %l = stablehlo.subtract %k, %one : tensor<i32>
    stablehlo.return %l, %v : tensor<i32>, tensor<2xf32>
  }
  %t = stablehlo.constant dense<true> : tensor<i1>
  "stablehlo.if"(%t) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    %y = stablehlo.add %x, %x : tensor<2xf32>
    stablehlo.return %y : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %u = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %s = stablehlo.add %x, %x : tensor<2xf32>
  stablehlo.custom_call @check.eq(%s, %u) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
