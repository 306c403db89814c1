// SPDX-License-Identifier: ISC
// Elements that are said to stand behind the module and do not, or are not of their type.
// refused: elements that were left out when the text was printed
func.func @main() {
  %z = stablehlo.constant dense_resource<__elided__> : tensor<2xi8>
  return
}
// -----
// refused: the text has no resource r
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<2xi8>
  return
}
{-# dialect_resources: { builtin: { s: "0x010000000102" } } #-}
// -----
// refused: the text has no resource r
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<2xi8>
  return
}
{-# external_resources: { builtin: { r: "0x010000000102" } } #-}
// -----
// refused: 6 hexadecimal digits for 2 elements of 1 bytes
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<2xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x01000000010203" } } #-}
// -----
// refused: 8 hexadecimal digits for 6 elements of 4 bytes
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<2x3xf32>
  return
}
{-# dialect_resources: { builtin: { r: "0x010000000000803F" } } #-}
// -----
// refused: 2 hexadecimal digits for 2 elements of 1 bytes
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<2xf8E4M3>
  return
}
{-# dialect_resources: { builtin: { r: "0x0100000001" } } #-}
// -----
// refused: 4 hexadecimal digits for 17 elements of 1 bytes
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<17xi1>
  return
}
{-# dialect_resources: { builtin: { r: "0x01000000FFFF" } } #-}
// -----
// refused: 16 hexadecimal digits for 2305843009213693953 elements of 8 bytes
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<2305843009213693953xf64>
  return
}
{-# dialect_resources: { builtin: { r: "0x010000000000000000000000" } } #-}
// -----
// refused: line 6, column 40: an alignment of 3, which is no power of two
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x0300000001" } } #-}
// -----
// refused: 6 hexadecimal digits, which are not four bytes and more
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x010000" } } #-}
// -----
// refused: 9 hexadecimal digits, which are not
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x010000001" } } #-}
// -----
// refused: what is no hexadecimal digit
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x010000000g" } } #-}
// -----
// refused: expected hexadecimal digits
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0100000001" } } #-}
// -----
// refused: expected a string
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: true } } #-}
// -----
// refused: there are two resources r
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x0100000001", r: "0x0100000001" } } #-}
// -----
// refused: resources is not supported in a section of resources
func.func @main() {
  %z = stablehlo.constant dense<1> : tensor<1xi8>
  return
}
{-# resources: { builtin: { r: "0x0100000001" } } #-}
// -----
// refused: expected ,
func.func @main() {
  %z = stablehlo.constant dense<1> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x0100000001" s: "0x01000000" } } #-}
// -----
// refused: expected :
func.func @main() {
  %z = stablehlo.constant dense<1> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin { } } #-}
// -----
// refused: expected ,
func.func @main() {
  %z = stablehlo.constant dense<1> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { } } }
// -----
// refused: expected a word
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x0100000001", } } #-}
// -----
// refused: constants of this type are not supported
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<?xi8>
  return
}
{-# dialect_resources: { builtin: { r: "0x0100000001" } } #-}
// -----
// refused: constants of elements of type none are not supported
func.func @main() {
  %z = stablehlo.constant dense_resource<r> : tensor<1xnone>
  return
}
{-# dialect_resources: { builtin: { r: "0x0100000001" } } #-}
// -----
// refused: expected a word
func.func @main() {
  %z = stablehlo.constant dense_resource<> : tensor<1xi8>
  return
}
// -----
// refused: expected hexadecimal digits
func.func @main() {
  %z = stablehlo.constant dense<"0101"> : tensor<2xi8>
  return
}
// -----
// refused: of 1 bytes
func.func @main() {
  %z = stablehlo.constant dense<"0x010203"> : tensor<2xi8>
  return
}
// -----
// refused: 32 hexadecimal digits for 2305843009213693954 elements of 8 bytes
func.func @main() {
  %z = stablehlo.constant dense<"0x00000000000000000000000000000000"> : tensor<2305843009213693954xf64>
  return
}
