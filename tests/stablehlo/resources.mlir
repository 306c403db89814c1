// SPDX-License-Identifier: ISC
// Elements that stand behind the module, or before it, by name and in hexadecimal.
module @m {
  func.func @main() {
    %0 = stablehlo.constant dense_resource<floats> : tensor<2x3xf32>
    %1 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
    stablehlo.custom_call @check.expect_eq(%0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
    %2 = "stablehlo.constant"() <{value = dense_resource<"of two, {-# \22"> : tensor<2xi32>}> : () -> tensor<2xi32>
    %3 = stablehlo.constant dense<[1, -2]> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%2, %3) : (tensor<2xi32>, tensor<2xi32>) -> ()
    // the same bytes as another type, and {-# no section #-}
    %4 = stablehlo.constant dense_resource<floats> : tensor<6xi32>
    %5 = stablehlo.bitcast_convert %0 : (tensor<2x3xf32>) -> tensor<2x3xi32>
    %6 = stablehlo.reshape %5 : (tensor<2x3xi32>) -> tensor<6xi32>
    stablehlo.custom_call @check.expect_eq(%4, %6) : (tensor<6xi32>, tensor<6xi32>) -> ()
    %7 = stablehlo.constant dense_resource<floats> : tensor<3xcomplex<f32>>
    %8 = stablehlo.constant dense<[(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]> : tensor<3xcomplex<f32>>
    stablehlo.custom_call @check.expect_eq(%7, %8) : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> ()
    %9 = stablehlo.constant dense_resource<none> : tensor<0x4xf64>
    %10 = stablehlo.constant dense<> : tensor<0x4xf64>
    stablehlo.custom_call @check.expect_eq(%9, %10) : (tensor<0x4xf64>, tensor<0x4xf64>) -> ()
    %11 = stablehlo.constant dense_resource<one> : tensor<f64>
    %12 = stablehlo.constant dense<-1.5> : tensor<f64>
    stablehlo.custom_call @check.expect_eq(%11, %12) : (tensor<f64>, tensor<f64>) -> ()
    return
  }
}

{-#
  dialect_resources: {
    builtin: {
      "of two, {-# \22": "0x0400000001000000FEFFFFFF",
      floats: "0x40000000000000000000803f0000004000004040000080400000A040",
      none: "0x00000000",
      one: "0x08000000000000000000F8BF" // behind it a comment "
    },
    other: {}
  },
  external_resources: {
    mlir_reproducer: { verify_each: true, pipeline: "cse", blob: "0x0100000002", threads: 3 }
  }
#-}
// -----
// Before a function that is alone, and in an alias; the last section is empty.
{-# dialect_resources: { builtin: { _a.b$1: "0x0100000003FF" } } #-}
#c = dense_resource<_a.b$1> : tensor<2xi8>
{-# #-}
func.func @main() {
  %0 = stablehlo.constant #c
  %1 = stablehlo.constant dense<[3, -1]> : tensor<2xi8>
  stablehlo.custom_call @check.expect_eq(%0, %1) : (tensor<2xi8>, tensor<2xi8>) -> ()
  %2 = stablehlo.constant dense_resource<later> : tensor<1xui8>
  %3 = stablehlo.constant dense<7> : tensor<1xui8>
  stablehlo.custom_call @check.expect_eq(%2, %3) : (tensor<1xui8>, tensor<1xui8>) -> ()
  return
}
{-# dialect_resources: { builtin: { later: "0x0000008007" } } #-}
func.func private @f() {
  %0 = stablehlo.constant dense_resource<last> : tensor<1xui8>
  return
}
{-# dialect_resources: { builtin: { last: "0x0000000008" } } #-}
// -----
// Bools as bytes and as bits, elements of four bits, and of types that the library does not
// compute with.
func.func @main() {
  %0 = stablehlo.constant dense_resource<bools> : tensor<3xi1>
  %1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  stablehlo.custom_call @check.expect_eq(%0, %1) : (tensor<3xi1>, tensor<3xi1>) -> ()
  %2 = stablehlo.constant dense_resource<bits> : tensor<11xi1>
  %3 = stablehlo.constant dense<[true, false, true, true, false, false, false, true, true, true, false]> : tensor<11xi1>
  stablehlo.custom_call @check.expect_eq(%2, %3) : (tensor<11xi1>, tensor<11xi1>) -> ()
  %4 = stablehlo.constant dense_resource<true> : tensor<i1>
  %5 = stablehlo.constant dense<true> : tensor<i1>
  stablehlo.custom_call @check.expect_eq(%4, %5) : (tensor<i1>, tensor<i1>) -> ()
  %6 = stablehlo.constant dense_resource<true> : tensor<2xi1>
  %7 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  stablehlo.custom_call @check.expect_eq(%6, %7) : (tensor<2xi1>, tensor<2xi1>) -> ()
  %8 = stablehlo.constant dense_resource<nibbles> : tensor<3xi4>
  %9 = stablehlo.constant dense<[1, -8, 7]> : tensor<3xi4>
  stablehlo.custom_call @check.expect_eq(%8, %9) : (tensor<3xi4>, tensor<3xi4>) -> ()
  %10 = stablehlo.constant dense_resource<nibbles> : tensor<3xui4>
  %11 = stablehlo.constant dense<[1, 8, 7]> : tensor<3xui4>
  stablehlo.custom_call @check.expect_eq(%10, %11) : (tensor<3xui4>, tensor<3xui4>) -> ()
  %12 = stablehlo.constant dense_resource<bytes> : tensor<2xf8E4M3>
  %13 = stablehlo.constant dense<[1.0, -1.125]> : tensor<2xf8E4M3>
  stablehlo.custom_call @check.expect_eq(%12, %13) : (tensor<2xf8E4M3>, tensor<2xf8E4M3>) -> ()
  %14 = stablehlo.constant dense_resource<bytes> : tensor<2xf8E4M3FN>
  %15 = stablehlo.constant dense<[1.0, -1.125]> : tensor<2xf8E4M3FN>
  stablehlo.custom_call @check.expect_eq(%14, %15) : (tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>) -> ()
  %16 = stablehlo.constant dense_resource<crumbs> : tensor<3xi2>
  %17 = stablehlo.constant dense<[1, -2, -1]> : tensor<3xi2>
  stablehlo.custom_call @check.expect_eq(%16, %17) : (tensor<3xi2>, tensor<3xi2>) -> ()
  %18 = stablehlo.constant dense_resource<crumbs> : tensor<tf32>
  %19 = stablehlo.convert %18 : (tensor<tf32>) -> tensor<f32>
  %20 = stablehlo.constant dense<2.7695346E-38> : tensor<f32>
  %21 = stablehlo.constant dense_resource<halves> : tensor<2xbf16>
  %22 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xbf16>
  stablehlo.custom_call @check.expect_eq(%21, %22) : (tensor<2xbf16>, tensor<2xbf16>) -> ()
  return
}
{-# dialect_resources: { builtin: {
  bools: "0x01000000010002", bits: "0x010000008D03", true: "0x0100000001", nibbles: "0x01000000010807",
  bytes: "0x0100000038B9", crumbs: "0x01000000010203", halves: "0x02000000803F00C0"
} } #-}
