func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.abs %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0x4008A489, 0x402C4809, 0x3F908371], [0x3EEB8A89, 0x3FFBACF4, 0x3F0B785A, 0x3E985A10, 0x40356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0x3F82C41B, 0x3FDD8364, 0x3F972579]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.abs %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0x4001149120000000, 0x4005890120000000, 0x3FF2106E20000000], [0x3FDD715120000000, 0x3FFF759E80000000, 0x3FE16F0B40000000, 0x3FD30B4200000000, 0x4006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0x3FF0588360000000, 0x3FFBB06C80000000, 0x3FF2E4AF20000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.ceil %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F800000, 0x40400000, 0xC0000000, 0x40400000, 0xBF800000], [0x80000000, 0x40000000, 0x80000000, 0x3F800000, 0xC0000000], [0x40000000, 0x3F800000, 0xBF800000, 0x40000000, 0xBF800000]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.ceil %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FF0000000000000, 0x4008000000000000, 0xC000000000000000, 0x4008000000000000, 0xBFF0000000000000], [0x8000000000000000, 0x4000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xC000000000000000], [0x4000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x4000000000000000, 0xBFF0000000000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.cosine %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F7F5B36, 0xBF67BEF8, 0xBF08E746, 0xBF668C5D, 0x3EDAE856], [0x3F65627F, 0xBEC5384C, 0x3F5AF03D, 0x3F74BFF6, 0xBF7408DF], [0x3D4B8F3A, 0x3F795332, 0x3F05A160, 0xBE22EA50, 0x3EC2A3D8]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.cosine %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FEFEB66CB65B577, 0xBFECF7DEF34ECBBD, 0xBFE11CE8B416273B, 0xBFECD18BAE5C3C9A, 0x3FDB5D0AADDD4032], [0x3FECAC4FD2275BB0, 0xBFD8A70991877C28, 0x3FEB5E07B1CC5D8B, 0x3FEE97FEC0170BB8, 0xBFEE811BDE24E05C], [0x3FA971E75839A152, 0x3FEF2A663151EDD0, 0x3FE0B42C0FA7734E, 0xBFC45D4A0C1AC358, 0x3FD8547AFD712283]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.exponential %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F8968A3, 0x416EBD2F, 0x3DF22798, 0x416C277F, 0x3EA58E80], [0x3F219A18, 0x40E4984B, 0x3F1477EA, 0x3FAC5C79, 0x3D7098AE], [0x40927818, 0x3FA0EAD0, 0x3EB853E1, 0x40B49AAF, 0x3E9D322E]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.exponential %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FF12D146DB48B11, 0x402DD7A5D4F8412B, 0x3FBE44F2DD3810CF, 0x402D84F003BCF4C8, 0x3FD4B1CFF7A784C1], [0x3FE43343109BE48B, 0x401C93098E31F3CA, 0x3FE28EFD4BD708B6, 0x3FF58B8F1B8F0620, 0x3FAE1315D0FE5A92], [0x40124F03040E0C41, 0x3FF41D59F87A571E, 0x3FD70A7C3AFAF3DA, 0x40169355F253F37D, 0x3FD3A645C803E729]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.exponential_minus_one %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D968A37, 0x415EBD2F, 0xBF61BB0D, 0x415C2780, 0xBF2D38C0], [0xBEBCCBCF, 0x40C4984C, 0xBED7102B, 0x3EB171E3, 0xBF70F675], [0x4064F030, 0x3E83AB3F, 0xBF23D60F, 0x40949AB0, 0xBF3166E9]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.exponential_minus_one %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FB2D146DB48B115, 0x402BD7A5D4F8412B, 0xBFEC3761A458FDE6, 0x402B84F003BCF4C8, 0xBFE5A718042C3DA0], [0xBFD79979DEC836EA, 0x401893098E31F3CB, 0xBFDAE2056851EE95, 0x3FD62E3C6E3C1881, 0xBFEE1ECEA2F01A57], [0x400C9E06081C1882, 0x3FD07567E1E95C78, 0xBFE47AC1E2828613, 0x40129355F253F37D, 0xBFE62CDD1BFE0C6B]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.floor %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x00000000, 0x40000000, 0xC0400000, 0x40000000, 0xC0000000], [0xBF800000, 0x3F800000, 0xBF800000, 0x00000000, 0xC0400000], [0x3F800000, 0x00000000, 0xC0000000, 0x3F800000, 0xC0000000]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.floor %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x0000000000000000, 0x4000000000000000, 0xC008000000000000, 0x4000000000000000, 0xC000000000000000], [0xBFF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x0000000000000000, 0xC008000000000000], [0x3FF0000000000000, 0x0000000000000000, 0xC000000000000000, 0x3FF0000000000000, 0xC000000000000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.negate %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0xBD91439E, 0xC02CFA62, 0x4008A489, 0xC02C4809, 0x3F908371], [0x3EEB8A89, 0xBFFBACF4, 0x3F0B785A, 0xBE985A10, 0x40356AD4], [0xBFC2B2B5, 0xBE6A5A3F, 0x3F82C41B, 0xBFDD8364, 0x3F972579]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.negate %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0xBFB22873C0000000, 0xC0059F4C40000000, 0x4001149120000000, 0xC005890120000000, 0x3FF2106E20000000], [0x3FDD715120000000, 0xBFFF759E80000000, 0x3FE16F0B40000000, 0xBFD30B4200000000, 0x4006AD5A80000000], [0xBFF85656A0000000, 0xBFCD4B47E0000000, 0x3FF0588360000000, 0xBFFBB06C80000000, 0x3FF2E4AF20000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.round_nearest_even %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x00000000, 0x40400000, 0xC0000000, 0x40400000, 0xBF800000], [0x80000000, 0x40000000, 0xBF800000, 0x00000000, 0xC0400000], [0x40000000, 0x00000000, 0xBF800000, 0x40000000, 0xBF800000]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.round_nearest_even %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x0000000000000000, 0x4008000000000000, 0xC000000000000000, 0x4008000000000000, 0xBFF0000000000000], [0x8000000000000000, 0x4000000000000000, 0xBFF0000000000000, 0x0000000000000000, 0xC008000000000000], [0x4000000000000000, 0x0000000000000000, 0xBFF0000000000000, 0x4000000000000000, 0xBFF0000000000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.sine %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D912471, 0x3ED987A3, 0xBF585165, 0x3EDE8FEB, 0xBF676BE2], [0xBEE35205, 0x3F6C3EED, 0xBF04AC21, 0x3E961D0B, 0xBE9AB36B], [0x3F7FAF05, 0x3E684FE6, 0xBF5A5AE4, 0x3F7CBD44, 0xBF6CC7B5]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.sine %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FB2248E2D4DDA21, 0x3FDB30F46B29BCF1, 0xBFEB0A2CAE9B021D, 0x3FDBD1FD6009BFB2, 0xBFECED7C38B1C817], [0xBFDC6A40977A072A, 0x3FED87DD8EEEC0DD, 0xBFE095841E45583C, 0x3FD2C3A167911445, 0xBFD3566D697A3F8A], [0x3FEFF5E09EAD1267, 0x3FCD09FCB9BADAEA, 0xBFEB4B5C75522F93, 0x3FEF97A87EF359C7, 0xBFED98F696A75F1C]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.tan %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D91821B, 0xBEF04BC9, 0x3FCA3FF8, 0xBEF721DB, 0xC007512F], [0xBEFDB235, 0xC0195422, 0xBF1B2186, 0x3E9D0379, 0x3EA2493B], [0x41A0C6B2, 0x3E6E881A, 0xBFD127A6, 0xC0C692C6, 0xC01BB65D]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.tan %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FB230436C19E75F, 0xBFDE09792B2FDD0F, 0x3FF947FF0ED47949, 0xBFDEE43B4ED5EC77, 0xC000EA25E4E96FA6], [0xBFDFB6469467E6FF, 0xC0032A84386D37A4, 0xBFE36430C3FC6232, 0x3FD3A06F0D1AB4BA, 0x3FD449274D53B713], [0x403418D62972CF73, 0x3FCDD103477A0360, 0xBFFA24F4B52702F9, 0xC018D258C900E2D4, 0xC00376CB87FE4549]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.tanh %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D910561, 0x3F7DB5EC, 0xBF78F0CD, 0x3F7DA915, 0xBF4F88C4], [0xBEDC3869, 0x3F7628E1, 0xBEFE448B, 0x3E94024D, 0xBF7E3D51], [0x3F68ACB7, 0x3E66584C, 0xBF4540E3, 0x3F706A66, 0xBF53E508]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.tanh %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FB220AC1C220995, 0x3FEFB6BD70A3D4EF, 0xBFEF1E19A1587E60, 0x3FEFB5228B62E158, 0xBFE9F11871B23326], [0xBFDB870D28632CBF, 0x3FEEC51C3371C01F, 0xBFDFC89150E9BA47, 0x3FD2804990C57BC9, 0xBFEFC7AA19FF2D68], [0x3FED1596F5291AEF, 0x3FCCCB098E30C095, 0xBFE8A81C634BE14B, 0x3FEE0D4CC42B27BA, 0xBFEA7CA0FF757F24]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.cbrt %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3ED3F09E, 0x3FB24C58, 0xBFA4D223, 0x3FB20EFB, 0xBF85488D], [0xBF459FA7, 0x3FA05B4F, 0xBF511573, 0x3F2AE8CB, 0xBFB526E3], [0x3F9334E2, 0x3F1C96F6, 0xBF80EA5B, 0x3F99AD1A, 0xBF874ACA]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.cbrt %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FDA7E13D981501A, 0x3FF6498AF052585B, 0xBFF49A445F5FA635, 0x3FF641DF6A5CDE79, 0xBFF0A9119C9F48BE], [0xBFE8B3F4EB662334, 0x3FF40B69CD5000F5, 0xBFEA22AE706EA1FE, 0x3FE55D197A1D8885, 0xBFF6A4DC4E0C2BAB], [0x3FF2669C3C3B2840, 0x3FE392DED206A243, 0xBFF01D4B5CB1429E, 0x3FF335A33C5FB5D6, 0xBFF0E95932609139]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.sign %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F800000, 0x3F800000, 0xBF800000, 0x3F800000, 0xBF800000], [0xBF800000, 0x3F800000, 0xBF800000, 0x3F800000, 0xBF800000], [0x3F800000, 0x3F800000, 0xBF800000, 0x3F800000, 0xBF800000]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  %r = stablehlo.sign %a : tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000], [0xBFF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000], [0x3FF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FF0000000000000, 0xBFF0000000000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FCC5D5A, 0x3EDF3CBD, 0x3FF43D49, 0x40168D69, 0x3FF058CA], [0x4030A684, 0x3E5BF99A, 0x3FD10328, 0x3FB74E34, 0x3E8FC6D3], [0x3FFADC6C, 0x4024A60E, 0x3FE8E653, 0x3F5AB244, 0x40224832]]> : tensor<3x5xf32>
  %r = stablehlo.log %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3EEF8D66, 0xBF5480BE, 0x3F256807, 0x3F5AFD54, 0x3F214B23], [0x3F81F504, 0xBFC4DBCE, 0x3EFB10DB, 0x3EB7DF13, 0xBFA29171], [0x3F2C4122, 0x3F71E6FC, 0x3F193C62, 0xBE2145E6, 0x3F6E3224]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FCC5D5A, 0x3EDF3CBD, 0x3FF43D49, 0x40168D69, 0x3FF058CA], [0x4030A684, 0x3E5BF99A, 0x3FD10328, 0x3FB74E34, 0x3E8FC6D3], [0x3FFADC6C, 0x4024A60E, 0x3FE8E653, 0x3F5AB244, 0x40224832]]> : tensor<3x5xf32>
  %r = stablehlo.log_plus_one %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F74469C, 0x3EB946D8, 0x3F88A411, 0x3F9AD67E, 0x3F874B9A], [0x3FA987FC, 0x3E474403, 0x3F77D4B2, 0x3F6384C1, 0x3E7D6F80], [0x3F8AE5D7, 0x3FA2FB9C, 0x3F84AE52, 0x3F1E1458, 0x3FA1A6AC]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FCC5D5A, 0x3EDF3CBD, 0x3FF43D49, 0x40168D69, 0x3FF058CA], [0x4030A684, 0x3E5BF99A, 0x3FD10328, 0x3FB74E34, 0x3E8FC6D3], [0x3FFADC6C, 0x4024A60E, 0x3FE8E653, 0x3F5AB244, 0x40224832]]> : tensor<3x5xf32>
  %r = stablehlo.sqrt %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3FA1BC87, 0x3F290A20, 0x3FB0CFFD, 0x3FC451D5, 0x3FAF65D7], [0x3FD4A7E7, 0x3EED4E0C, 0x3FA390B2, 0x3F992D3C, 0x3F07A8C0], [0x3FB33177, 0x3FCD4E06, 0x3FACA8BA, 0x3F6C9D3A, 0x3FCBD2ED]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FCC5D5A, 0x3EDF3CBD, 0x3FF43D49, 0x40168D69, 0x3FF058CA], [0x4030A684, 0x3E5BF99A, 0x3FD10328, 0x3FB74E34, 0x3E8FC6D3], [0x3FFADC6C, 0x4024A60E, 0x3FE8E653, 0x3F5AB244, 0x40224832]]> : tensor<3x5xf32>
  %r = stablehlo.rsqrt %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F4A99EA, 0x3FC1D91F, 0x3F395389, 0x3F26E955, 0x3F3AD22F], [0x3F1A16DE, 0x400A157F, 0x3F485604, 0x3F55EC42, 0x3FF18BE7], [0x3F36DD33, 0x3F1F9B4B, 0x3F3DC8CE, 0x3F8A7CB0, 0x3F20C426]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %r = stablehlo.logistic %a : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F0489A0, 0x3F6FEBBA, 0x3DD88CC4, 0x3F6FC187, 0x3E7A3537], [0x3EC621B9, 0x3F609073, 0x3EBBF0AA, 0x3F12E79A, 0x3D633F7D], [0x3F521938, 0x3F0E955C, 0x3E878897, 0x3F5977E3, 0x3E708A5C]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0xC0200000, 0xBF000000, 0x3F000000, 0x3FC00000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.round_nearest_afz %a : tensor<5xf32>
  %w0 = stablehlo.constant dense<[0xC0400000, 0xBF800000, 0x3F800000, 0x40000000, 0x80000000]> : tensor<5xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xf32>, tensor<5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x80000000, 0x00000000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.sign %a : tensor<3xf32>
  %w0 = stablehlo.constant dense<[0x80000000, 0x00000000, 0x7FC00000]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xf32>, tensor<3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.add %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0xBE5513AF, 0x3F01CCE0, 0xC02DD8EA, 0x3F69A200, 0xC0238745], [0x3F856511, 0x3F260F1E, 0xBF22377F, 0x404BA5A6, 0xBD848280], [0x4037AB1A, 0x3EF3D33E, 0xC0170E8A, 0xBE9C6C90, 0x3FD1C19F]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.subtract %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3EB32BA6, 0x409CC0C6, 0xBFC6E04F, 0x408F13C9, 0x3E981EA0], [0xBFFB2A55, 0x4052292C, 0xBEE97269, 0xC0258F22, 0xC0B358CA], [0x3E3079A8, 0xBC978FF0, 0x3EA25378, 0x407110F6, 0xC0800324]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.multiply %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0xBCA21F43, 0xC0BDE884, 0x3F9EDDEA, 0xC0994476, 0x3FCE17F0], [0xBF30E9DF, 0xC025CC1A, 0x3D4647AE, 0x3F5BB93A, 0xC0FB4200], [0x40034C6B, 0x3D67E0FB, 0x3FAF0CE1, 0xC061829E, 0xC0551523]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.divide %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0xBE8228BA, 0xBF9D8EA3, 0x406B0E1B, 0xBFC1A778, 0x3F4AAAA7], [0xBE9CCC78, 0xBFBF04AC, 0x40C434DF, 0x3DD34676, 0xBF82FD6A], [0x3F905B06, 0x3F6CDA45, 0x3F435E9F, 0xBF59964C, 0xBED66D12]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.maximum %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xBF14D186, 0x402C4809, 0xBF908371], [0x3FC047B3, 0x3FFBACF4, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FC2B2B5, 0x3E7D4C3D, 0xBF82C41B, 0x3FDD8364, 0x4034738C]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.minimum %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xC008A489, 0xBFE3BF12, 0xBFB68B19], [0xBEEB8A89, 0xBFA8A565, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FACA380, 0x3E6A5A3F, 0xBFAB58F9, 0xC0024F44, 0xBF972579]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.atan2 %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x4039212A, 0x4010320C, 0xBFEB16A8, 0x4009E900, 0xC01E347E], [0xBE9827C9, 0x400A5091, 0xBFDDC176, 0x3DD287CF, 0xBF4C0465], [0x3F586AB8, 0x3F3F1F0D, 0xC01F5795, 0x401BF9E7, 0xBECB103D]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.remainder %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D91439E, 0x3F01CCE0, 0xBEC83B24, 0x3F69A200, 0xBF908371], [0xBEEB8A89, 0x3F260F1E, 0xBC3F5E70, 0x3E985A10, 0xBD848280], [0x3E3079A8, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FCC5D5A, 0x3EDF3CBD, 0x3FF43D49, 0x40168D69, 0x3FF058CA], [0x4030A684, 0x3E5BF99A, 0x3FD10328, 0x3FB74E34, 0x3E8FC6D3], [0x3FFADC6C, 0x4024A60E, 0x3FE8E653, 0x3F5AB244, 0x40224832]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = stablehlo.power %a, %b : tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3F60AB9C, 0x40C606FA, 0x3F2FD70A, 0x3E5F8164, 0x3ED07840], [0x4093114D, 0x40F2C241, 0x3F7515DC, 0x4034529D, 0x3CF2F68C], [0x401E9A84, 0x3FA1B44D, 0x3EE5C2AA, 0x3FB063F8, 0x415C8883]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.add %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[3, 5, 10, 1, 14, 11, -2]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.subtract %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[-1, -5, -4, -1, 2, -3, -16]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.multiply %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[2, 0, 21, 0, 48, 28, -63]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.maximum %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[2, 5, 7, 1, 8, 7, 7]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.minimum %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[1, 0, 3, 0, 6, 4, -9]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.divide %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[0, 0, 0, 0, 1, 0, -1]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.and %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[0, 0, 3, 0, 0, 4, 7]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.or %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[3, 5, 7, 1, 14, 7, -9]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[2, 5, 7, 1, 6, 7, 7]> : tensor<7xi8>
  %r = stablehlo.xor %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[3, 5, 4, 1, 14, 3, -16]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %r = stablehlo.not %a : tensor<7xi8>
  %w0 = stablehlo.constant dense<[-2, -1, -4, -1, -9, -5, 8]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %r = stablehlo.popcnt %a : tensor<7xi8>
  %w0 = stablehlo.constant dense<[1, 0, 2, 0, 1, 1, 7]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %r = stablehlo.count_leading_zeros %a : tensor<7xi8>
  %w0 = stablehlo.constant dense<[7, 8, 6, 8, 4, 5, 0]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[0, 1, 2, 7, 8, 6, 3]> : tensor<7xi8>
  %r = stablehlo.shift_left %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[1, 0, 12, 0, 0, 0, -72]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[0, 1, 2, 7, 8, 6, 3]> : tensor<7xi8>
  %r = stablehlo.shift_right_logical %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[1, 0, 0, 0, 0, 0, 30]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 0, 3, 0, 8, 4, -9]> : tensor<7xi8>
  %b = stablehlo.constant dense<[0, 1, 2, 7, 8, 6, 3]> : tensor<7xi8>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<7xi8>
  %w0 = stablehlo.constant dense<[1, 0, 0, 0, 0, 0, -2]> : tensor<7xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi8>, tensor<7xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.add %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[8, 3, 11, 13, 10, 8, 12]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.subtract %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[6, 255, 253, 1, 252, 250, 252]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.multiply %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[7, 2, 28, 42, 21, 7, 32]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.maximum %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[7, 2, 7, 7, 7, 7, 8]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.minimum %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[1, 1, 4, 6, 3, 1, 4]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.divide %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[7, 0, 0, 1, 0, 0, 0]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.and %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[1, 0, 4, 6, 3, 1, 0]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.or %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[7, 3, 7, 7, 7, 7, 12]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[1, 2, 7, 6, 7, 7, 8]> : tensor<7xui8>
  %r = stablehlo.xor %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[6, 3, 3, 1, 4, 6, 12]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %r = stablehlo.not %a : tensor<7xui8>
  %w0 = stablehlo.constant dense<[248, 254, 251, 248, 252, 254, 251]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %r = stablehlo.popcnt %a : tensor<7xui8>
  %w0 = stablehlo.constant dense<[3, 1, 1, 3, 2, 1, 1]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %r = stablehlo.count_leading_zeros %a : tensor<7xui8>
  %w0 = stablehlo.constant dense<[5, 7, 5, 5, 6, 7, 5]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[0, 1, 2, 7, 8, 6, 3]> : tensor<7xui8>
  %r = stablehlo.shift_left %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[7, 2, 16, 128, 0, 64, 32]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[0, 1, 2, 7, 8, 6, 3]> : tensor<7xui8>
  %r = stablehlo.shift_right_logical %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[7, 0, 1, 0, 0, 0, 0]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[7, 1, 4, 7, 3, 1, 4]> : tensor<7xui8>
  %b = stablehlo.constant dense<[0, 1, 2, 7, 8, 6, 3]> : tensor<7xui8>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<7xui8>
  %w0 = stablehlo.constant dense<[7, 0, 1, 0, 0, 0, 0]> : tensor<7xui8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui8>, tensor<7xui8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.add %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[2, 2, 8, -1, 14, -1, 9]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.subtract %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-10, -4, -4, -9, 0, -17, 3]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.multiply %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-24, -3, 12, -20, 49, -72, 18]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.maximum %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 6]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.minimum %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 3]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.divide %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[0, 0, 0, -1, 1, -1, 2]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.and %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[4, 3, 2, 0, 7, 0, 2]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.or %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-2, -1, 6, -1, 7, -1, 7]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[6, 3, 6, 4, 7, 8, 3]> : tensor<7xi32>
  %r = stablehlo.xor %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-6, -4, 4, -1, 0, -1, 5]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %r = stablehlo.not %a : tensor<7xi32>
  %w0 = stablehlo.constant dense<[3, 0, -3, 4, -8, 8, -7]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %r = stablehlo.popcnt %a : tensor<7xi32>
  %w0 = stablehlo.constant dense<[30, 32, 1, 31, 3, 31, 2]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %r = stablehlo.count_leading_zeros %a : tensor<7xi32>
  %w0 = stablehlo.constant dense<[0, 0, 30, 0, 29, 0, 29]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[0, 1, 2, 31, 32, 30, 3]> : tensor<7xi32>
  %r = stablehlo.shift_left %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-4, -2, 8, -2147483648, 0, -1073741824, 48]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[0, 1, 2, 31, 32, 30, 3]> : tensor<7xi32>
  %r = stablehlo.shift_right_logical %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-4, 2147483647, 0, 1, 0, 3, 0]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[-4, -1, 2, -5, 7, -9, 6]> : tensor<7xi32>
  %b = stablehlo.constant dense<[0, 1, 2, 31, 32, 30, 3]> : tensor<7xi32>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<7xi32>
  %w0 = stablehlo.constant dense<[-4, -1, 0, -1, 0, -1, 0]> : tensor<7xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi32>, tensor<7xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.add %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[12, 9, 8, 6, 11, 10, 16]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.subtract %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[4294967292, 4294967289, 4, 4, 3, 4, 0]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.multiply %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[32, 8, 12, 5, 28, 21, 64]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.maximum %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[8, 8, 6, 5, 7, 7, 8]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.minimum %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[4, 1, 2, 1, 4, 3, 8]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.divide %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[0, 0, 3, 5, 1, 2, 1]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.and %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[0, 0, 2, 1, 4, 3, 8]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.or %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[12, 9, 6, 5, 7, 7, 8]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[8, 8, 2, 1, 4, 3, 8]> : tensor<7xui32>
  %r = stablehlo.xor %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[12, 9, 4, 4, 3, 4, 0]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %r = stablehlo.not %a : tensor<7xui32>
  %w0 = stablehlo.constant dense<[4294967291, 4294967294, 4294967289, 4294967290, 4294967288, 4294967288, 4294967287]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %r = stablehlo.popcnt %a : tensor<7xui32>
  %w0 = stablehlo.constant dense<[1, 1, 2, 2, 3, 3, 1]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %r = stablehlo.count_leading_zeros %a : tensor<7xui32>
  %w0 = stablehlo.constant dense<[29, 31, 29, 29, 29, 29, 28]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[0, 1, 2, 31, 32, 30, 3]> : tensor<7xui32>
  %r = stablehlo.shift_left %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[4, 2, 24, 2147483648, 0, 3221225472, 64]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[0, 1, 2, 31, 32, 30, 3]> : tensor<7xui32>
  %r = stablehlo.shift_right_logical %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[4, 0, 1, 0, 0, 0, 1]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4, 1, 6, 5, 7, 7, 8]> : tensor<7xui32>
  %b = stablehlo.constant dense<[0, 1, 2, 31, 32, 30, 3]> : tensor<7xui32>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<7xui32>
  %w0 = stablehlo.constant dense<[4, 0, 1, 0, 0, 0, 1]> : tensor<7xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui32>, tensor<7xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.add %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[11, 2, 9, 9, 14, -5, 7]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.subtract %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[-1, -6, -7, -7, 0, -13, -9]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.multiply %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[30, -8, 8, 8, 49, -36, -8]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.maximum %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.minimum %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.divide %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[0, 0, 0, 0, 1, -2, 0]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.and %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[4, 4, 0, 0, 7, 4, 8]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.or %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[7, -2, 9, 9, 7, -9, -1]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[6, 4, 8, 8, 7, 4, 8]> : tensor<7xi64>
  %r = stablehlo.xor %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[3, -6, 9, 9, 0, -13, -9]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %r = stablehlo.not %a : tensor<7xi64>
  %w0 = stablehlo.constant dense<[-6, 1, -2, -2, -8, 8, 0]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %r = stablehlo.popcnt %a : tensor<7xi64>
  %w0 = stablehlo.constant dense<[2, 63, 1, 1, 3, 63, 64]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %r = stablehlo.count_leading_zeros %a : tensor<7xi64>
  %w0 = stablehlo.constant dense<[61, 0, 63, 63, 61, 0, 0]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[0, 1, 2, 63, 64, 62, 3]> : tensor<7xi64>
  %r = stablehlo.shift_left %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[5, -4, 4, -9223372036854775808, 0, -4611686018427387904, -8]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[0, 1, 2, 63, 64, 62, 3]> : tensor<7xi64>
  %r = stablehlo.shift_right_logical %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[5, 9223372036854775807, 0, 0, 0, 3, 2305843009213693951]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -2, 1, 1, 7, -9, -1]> : tensor<7xi64>
  %b = stablehlo.constant dense<[0, 1, 2, 63, 64, 62, 3]> : tensor<7xi64>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<7xi64>
  %w0 = stablehlo.constant dense<[5, -1, 0, 0, 0, -1, -1]> : tensor<7xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xi64>, tensor<7xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.add %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[2, 12, 9, 5, 7, 13, 14]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.subtract %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[18446744073709551614, 18446744073709551614, 18446744073709551611, 18446744073709551615, 5, 18446744073709551615, 0]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.multiply %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 35, 14, 6, 6, 42, 49]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.maximum %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[2, 7, 7, 3, 6, 7, 7]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.minimum %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 5, 2, 2, 1, 6, 7]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.divide %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 0, 0, 0, 6, 0, 1]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.and %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 5, 2, 2, 0, 6, 7]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.or %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[2, 7, 7, 3, 7, 7, 7]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[2, 7, 7, 3, 1, 7, 7]> : tensor<7xui64>
  %r = stablehlo.xor %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[2, 2, 5, 1, 7, 1, 0]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %r = stablehlo.not %a : tensor<7xui64>
  %w0 = stablehlo.constant dense<[18446744073709551615, 18446744073709551610, 18446744073709551613, 18446744073709551613, 18446744073709551609, 18446744073709551609, 18446744073709551608]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %r = stablehlo.popcnt %a : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 2, 1, 1, 2, 2, 3]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %r = stablehlo.count_leading_zeros %a : tensor<7xui64>
  %w0 = stablehlo.constant dense<[64, 61, 62, 62, 61, 61, 61]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[0, 1, 2, 63, 64, 62, 3]> : tensor<7xui64>
  %r = stablehlo.shift_left %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 10, 8, 0, 0, 9223372036854775808, 56]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[0, 1, 2, 63, 64, 62, 3]> : tensor<7xui64>
  %r = stablehlo.shift_right_logical %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 2, 0, 0, 0, 0, 0]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0, 5, 2, 2, 6, 6, 7]> : tensor<7xui64>
  %b = stablehlo.constant dense<[0, 1, 2, 63, 64, 62, 3]> : tensor<7xui64>
  %r = stablehlo.shift_right_arithmetic %a, %b : tensor<7xui64>
  %w0 = stablehlo.constant dense<[0, 2, 0, 0, 0, 0, 0]> : tensor<7xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<7xui64>, tensor<7xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -5, -128]> : tensor<3xi8>
  %b = stablehlo.constant dense<[0, 0, -1]> : tensor<3xi8>
  %r = stablehlo.divide %a, %b : tensor<3xi8>
  %w0 = stablehlo.constant dense<[-1, -1, -128]> : tensor<3xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xi8>, tensor<3xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[5, -5, -128]> : tensor<3xi8>
  %b = stablehlo.constant dense<[0, 0, -1]> : tensor<3xi8>
  %r = stablehlo.remainder %a, %b : tensor<3xi8>
  %w0 = stablehlo.constant dense<[5, -5, 0]> : tensor<3xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xi8>, tensor<3xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[false, false, false, false, true, false, false, true, true]> : tensor<9xi1>
  %b = stablehlo.constant dense<[false, true, false, true, false, true, false, true, false]> : tensor<9xi1>
  %r = stablehlo.add %a, %b : tensor<9xi1>
  %w0 = stablehlo.constant dense<[false, true, false, true, true, true, false, true, true]> : tensor<9xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<9xi1>, tensor<9xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[false, false, false, false, true, false, false, true, true]> : tensor<9xi1>
  %b = stablehlo.constant dense<[false, true, false, true, false, true, false, true, false]> : tensor<9xi1>
  %r = stablehlo.multiply %a, %b : tensor<9xi1>
  %w0 = stablehlo.constant dense<[false, false, false, false, false, false, false, true, false]> : tensor<9xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<9xi1>, tensor<9xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[false, false, false, false, true, false, false, true, true]> : tensor<9xi1>
  %b = stablehlo.constant dense<[false, true, false, true, false, true, false, true, false]> : tensor<9xi1>
  %r = stablehlo.maximum %a, %b : tensor<9xi1>
  %w0 = stablehlo.constant dense<[false, true, false, true, true, true, false, true, true]> : tensor<9xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<9xi1>, tensor<9xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[false, false, false, false, true, false, false, true, true]> : tensor<9xi1>
  %b = stablehlo.constant dense<[false, true, false, true, false, true, false, true, false]> : tensor<9xi1>
  %r = stablehlo.minimum %a, %b : tensor<9xi1>
  %w0 = stablehlo.constant dense<[false, false, false, false, false, false, false, true, false]> : tensor<9xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<9xi1>, tensor<9xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[false, false, false, false, true, false, false, true, true]> : tensor<9xi1>
  %b = stablehlo.constant dense<[false, true, false, true, false, true, false, true, false]> : tensor<9xi1>
  %r = stablehlo.xor %a, %b : tensor<9xi1>
  %w0 = stablehlo.constant dense<[false, true, false, true, true, true, false, false, true]> : tensor<9xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<9xi1>, tensor<9xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %b = stablehlo.constant dense<[[(0xBE8EDABF, 0xBD91439E), (0xC00C872A, 0xC02CFA62), (0xBF14D186, 0x4008A489), (0xBFE3BF12, 0xC02C4809), (0xBFB68B19, 0x3F908371)], [(0x3FC047B3, 0x3EEB8A89), (0xBFA8A565, 0xBFFBACF4), (0xBDB5F92B, 0x3F0B785A), (0x40389A64, 0xBE985A10), (0x403146C0, 0x40356AD4)], [(0x3FACA380, 0xBFC2B2B5), (0x3E7D4C3D, 0xBE6A5A3F), (0xBFAB58F9, 0x3F82C41B), (0xC0024F44, 0xBFDD8364), (0x4034738C, 0x3F972579)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.add %a, %b : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0xBE5513AF, 0xBEB32BA6), (0x3F01CCE0, 0xC09CC0C6), (0xC02DD8EA, 0x3FC6E04F), (0x3F69A200, 0xC08F13C9), (0xC0238745, 0xBE981EA0)], [(0x3F856511, 0x3FFB2A55), (0x3F260F1E, 0xC052292C), (0xBF22377F, 0x3EE97269), (0x404BA5A6, 0x40258F22), (0xBD848280, 0x40B358CA)], [(0x4037AB1A, 0xBE3079A8), (0x3EF3D33E, 0x3C978FF0), (0xC0170E8A, 0xBEA25378), (0xBE9C6C90, 0xC07110F6), (0x3FD1C19F, 0x40800324)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %b = stablehlo.constant dense<[[(0xBE8EDABF, 0xBD91439E), (0xC00C872A, 0xC02CFA62), (0xBF14D186, 0x4008A489), (0xBFE3BF12, 0xC02C4809), (0xBFB68B19, 0x3F908371)], [(0x3FC047B3, 0x3EEB8A89), (0xBFA8A565, 0xBFFBACF4), (0xBDB5F92B, 0x3F0B785A), (0x40389A64, 0xBE985A10), (0x403146C0, 0x40356AD4)], [(0x3FACA380, 0xBFC2B2B5), (0x3E7D4C3D, 0xBE6A5A3F), (0xBFAB58F9, 0x3F82C41B), (0xC0024F44, 0xBFDD8364), (0x4034738C, 0x3F972579)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.subtract %a, %b : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x3EB32BA6, 0xBE5513AF), (0x409CC0C6, 0x3F01CCE0), (0xBFC6E04F, 0xC02DD8EA), (0x408F13C9, 0x3F69A200), (0x3E981EA0, 0xC0238745)], [(0xBFFB2A55, 0x3F856511), (0x4052292C, 0x3F260F1E), (0xBEE97269, 0xBF22377F), (0xC0258F22, 0x404BA5A6), (0xC0B358CA, 0xBD848280)], [(0x3E3079A8, 0x4037AB1A), (0xBC978FF0, 0x3EF3D33E), (0x3EA25378, 0xC0170E8A), (0x407110F6, 0xBE9C6C90), (0xC0800324, 0x3FD1C19F)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %b = stablehlo.constant dense<[[(0xBE8EDABF, 0xBD91439E), (0xC00C872A, 0xC02CFA62), (0xBF14D186, 0x4008A489), (0xBFE3BF12, 0xC02C4809), (0xBFB68B19, 0x3F908371)], [(0x3FC047B3, 0x3EEB8A89), (0xBFA8A565, 0xBFFBACF4), (0xBDB5F92B, 0x3F0B785A), (0x40389A64, 0xBE985A10), (0x403146C0, 0x40356AD4)], [(0x3FACA380, 0xBFC2B2B5), (0x3E7D4C3D, 0xBE6A5A3F), (0xBFAB58F9, 0x3F82C41B), (0xC0024F44, 0xBFDD8364), (0x4034738C, 0x3F972579)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.multiply %a, %b : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0xBD221F43, 0x3D952119), (0xC13DE884, 0xC01EF52C), (0x401EDDEA, 0xC0870E19), (0xC1194476, 0xC082938C), (0x404E17F0, 0x3F4257C2)], [(0xBFB0E9DF, 0x4002E027), (0xC0A5CC1A, 0xC008531C), (0x3DC647AE, 0xBE93ED02), (0x3FDBB93A, 0x4103B3A1), (0xC17B4200, 0xBEB9AA6C)], [(0x40834C6B, 0xBEFD39D5), (0x3DE7E0FB, 0x3C105AB0), (0x402F0CE1, 0x3F3F90E7), (0xC0E1829E, 0x3F934C90), (0xC0D51523, 0x40D1C6C5)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %b = stablehlo.constant dense<[[(0xBE8EDABF, 0xBD91439E), (0xC00C872A, 0xC02CFA62), (0xBF14D186, 0x4008A489), (0xBFE3BF12, 0xC02C4809), (0xBFB68B19, 0x3F908371)], [(0x3FC047B3, 0x3EEB8A89), (0xBFA8A565, 0xBFFBACF4), (0xBDB5F92B, 0x3F0B785A), (0x40389A64, 0xBE985A10), (0x403146C0, 0x40356AD4)], [(0x3FACA380, 0xBFC2B2B5), (0x3E7D4C3D, 0xBE6A5A3F), (0xBFAB58F9, 0x3F82C41B), (0xC0024F44, 0xBFDD8364), (0x4034738C, 0x3F972579)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.divide %a, %b : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x80000000, 0x3F800000), (0x80000000, 0x3F800000), (0x00000000, 0x3F800000), (0x80000000, 0x3F800000), (0x80000000, 0x3F800000)], [(0x00000000, 0x3F7FFFFF), (0x80000000, 0x3F800000), (0x00000000, 0x3F800000), (0x00000000, 0x3F800000), (0x00000000, 0x3F800000)], [(0x80000000, 0x3F7FFFFF), (0x00000000, 0x3F7FFFFF), (0x80000000, 0x3F800000), (0x80000000, 0x3F800000), (0x00000000, 0x3F800000)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.exponential %a : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x3F841848, 0xBE975F84), (0xC10BAD31, 0xC1419D73), (0x3DCA60B1, 0xBD84F966), (0xC04380CA, 0xC1670A88), (0x3D3EF309, 0xBEA3D3B7)], [(0x3D3141A8, 0x3F2138C5), (0x3FE5192B, 0xC0DD4DB5), (0x3F13E1FA, 0xBD52CB82), (0xBFA6B163, 0x3EAF5B30), (0xBD602BBA, 0x3CAEBF1B)], [(0x3F810800, 0x408EDF70), (0x3F9C04EC, 0x3E9D9996), (0x3DA9A0F6, 0xBEB36217), (0xC022117B, 0xC0A16783), (0xBE951D65, 0x3DC70303)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.sine %a : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x3D96D420, 0xBE9059F0), (0x3FF762D7, 0x40808DA4), (0xBF7DE8E0, 0x3EA8499A), (0x3FA98B6A, 0x4025E6C0), (0xBFFEB918, 0xBF56A770)], [(0xBF85F3E8, 0x3FF4CD95), (0x3FEC5DCF, 0x3F2AE9ED), (0xBF05324B, 0xBD9BD567), (0x40286680, 0x41086D87), (0xC01AE5E5, 0xC0F26F23)], [(0x40036CFA, 0x3DB6D8E8), (0x3E6F74A9, 0x3E79377B), (0xBFDE825F, 0xBF6D4EC5), (0x407623EB, 0x3F19584B), (0xC0F90C46, 0x404B460E)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.cosine %a : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x3F84AE23, 0x3CA4189B), (0xC083C6D7, 0x3FF155AF), (0xBF20B1CA, 0xBF04F420), (0xC02FA0D8, 0x3FA02794), (0x3F70F2FB, 0xBFE2ECBD)], [(0x40072B52, 0x3F729996), (0xBF455216, 0x3FCCBBF3), (0x3F5BCDA4, 0xBD3CDD3A), (0x41094861, 0xC0275A0A), (0xC0F45880, 0x4019AFAD)], [(0x3DD14417, 0xBFE5AAF6), (0x3F807EF1, 0xBD683613), (0x3F882C36, 0xBFC1E210), (0xBF1EA95D, 0x406DE46B), (0x404CB97B, 0x40F7486F)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %r = stablehlo.tanh %a : tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x3D9CDBE2, 0xBE91E297), (0x3F805BC8, 0x3C0C0F38), (0xBF7D1773, 0xBCCFE4F8), (0x3F8113FD, 0x3B75B6F5), (0xBF9C32D5, 0xBD96C435)], [(0xC011C73A, 0x3E972285), (0x3F847058, 0xBCA1371C), (0xBEFFC8FD, 0xBD892FDD), (0x3E9D562E, 0xBE7561A1), (0xBF7EB32C, 0xBB983E95)], [(0x3F8B687C, 0x3D376546), (0x3E743F19, 0x3E74B80B), (0xBFA0507B, 0xBE176991), (0x3F84B897, 0x3D56111C), (0xBF5ACBDA, 0xBDC7ECA8)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %r = "stablehlo.abs"(%a) : (tensor<3x5xcomplex<f32>>) -> tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3E9365F7, 0x405EDDDA, 0x400D9DFD, 0x404E838D, 0x3FE8D281], [0x3FC91843, 0x40177A52, 0x3F0D5018, 0x40399532, 0x407DA6D0], [0x40021B6C, 0x3EAC8A5E, 0x3FD78B93, 0x402B04F6, 0x4043A32D]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %r = "stablehlo.real"(%a) : (tensor<3x5xcomplex<f32>>) -> tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  %r = "stablehlo.imag"(%a) : (tensor<3x5xcomplex<f32>>) -> tensor<3x5xf32>
  %w0 = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3x5xf32>, tensor<3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %b = stablehlo.constant dense<[[(0xBFD1DB57E0000000, 0xBFB22873C0000000), (0xC00190E540000000, 0xC0059F4C40000000), (0xBFE29A30C0000000, 0x4001149120000000), (0xBFFC77E240000000, 0xC005890120000000), (0xBFF6D16320000000, 0x3FF2106E20000000)], [(0x3FF808F660000000, 0x3FDD715120000000), (0xBFF514ACA0000000, 0xBFFF759E80000000), (0xBFB6BF2560000000, 0x3FE16F0B40000000), (0x4007134C80000000, 0xBFD30B4200000000), (0x400628D800000000, 0x4006AD5A80000000)], [(0x3FF5947000000000, 0xBFF85656A0000000), (0x3FCFA987A0000000, 0xBFCD4B47E0000000), (0xBFF56B1F20000000, 0x3FF0588360000000), (0xC00049E880000000, 0xBFFBB06C80000000), (0x40068E7180000000, 0x3FF2E4AF20000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.add %a, %b : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0xBFCAA275E0000000, 0xBFD66574D0000000), (0x3FE0399C00000000, 0xC0139818C0000000), (0xC005BB1D50000000, 0x3FF8DC09E0000000), (0x3FED344000000000, 0xC011E27920000000), (0xC00470E8A0000000, 0xBFD303D400000000)], [(0x3FF0ACA218000000, 0x3FFF654AA8000000), (0x3FE4C1E3C0000000, 0xC00A452590000000), (0xBFE446EFEC000000, 0x3FDD2E4D28000000), (0x400974B4C0000000, 0x4004B1E440000000), (0xBFB0905000000000, 0x40166B1940000000)], [(0x4006F56350000000, 0xBFC60F3500000000), (0x3FDE7A67C0000000, 0x3F92F1FE00000000), (0xC002E1D140000000, 0xBFD44A6F00000000), (0xBFD38D9200000000, 0xC00E221EC0000000), (0x3FFA3833E0000000, 0x4010006488000000)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %b = stablehlo.constant dense<[[(0xBFD1DB57E0000000, 0xBFB22873C0000000), (0xC00190E540000000, 0xC0059F4C40000000), (0xBFE29A30C0000000, 0x4001149120000000), (0xBFFC77E240000000, 0xC005890120000000), (0xBFF6D16320000000, 0x3FF2106E20000000)], [(0x3FF808F660000000, 0x3FDD715120000000), (0xBFF514ACA0000000, 0xBFFF759E80000000), (0xBFB6BF2560000000, 0x3FE16F0B40000000), (0x4007134C80000000, 0xBFD30B4200000000), (0x400628D800000000, 0x4006AD5A80000000)], [(0x3FF5947000000000, 0xBFF85656A0000000), (0x3FCFA987A0000000, 0xBFCD4B47E0000000), (0xBFF56B1F20000000, 0x3FF0588360000000), (0xC00049E880000000, 0xBFFBB06C80000000), (0x40068E7180000000, 0x3FF2E4AF20000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.subtract %a, %b : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0x3FD66574D0000000, 0xBFCAA275E0000000), (0x40139818C0000000, 0x3FE0399C00000000), (0xBFF8DC09E0000000, 0xC005BB1D50000000), (0x4011E27920000000, 0x3FED344000000000), (0x3FD303D400000000, 0xC00470E8A0000000)], [(0xBFFF654AA8000000, 0x3FF0ACA218000000), (0x400A452590000000, 0x3FE4C1E3C0000000), (0xBFDD2E4D28000000, 0xBFE446EFEC000000), (0xC004B1E440000000, 0x400974B4C0000000), (0xC0166B1940000000, 0xBFB0905000000000)], [(0x3FC60F3500000000, 0x4006F56350000000), (0xBF92F1FE00000000, 0x3FDE7A67C0000000), (0x3FD44A6F00000000, 0xC002E1D140000000), (0x400E221EC0000000, 0xBFD38D9200000000), (0xC010006488000000, 0x3FFA3833E0000000)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %b = stablehlo.constant dense<[[(0xBFD1DB57E0000000, 0xBFB22873C0000000), (0xC00190E540000000, 0xC0059F4C40000000), (0xBFE29A30C0000000, 0x4001149120000000), (0xBFFC77E240000000, 0xC005890120000000), (0xBFF6D16320000000, 0x3FF2106E20000000)], [(0x3FF808F660000000, 0x3FDD715120000000), (0xBFF514ACA0000000, 0xBFFF759E80000000), (0xBFB6BF2560000000, 0x3FE16F0B40000000), (0x4007134C80000000, 0xBFD30B4200000000), (0x400628D800000000, 0x4006AD5A80000000)], [(0x3FF5947000000000, 0xBFF85656A0000000), (0x3FCFA987A0000000, 0xBFCD4B47E0000000), (0xBFF56B1F20000000, 0x3FF0588360000000), (0xC00049E880000000, 0xBFFBB06C80000000), (0x40068E7180000000, 0x3FF2E4AF20000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.multiply %a, %b : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0xBFA443E8667FB880, 0x3FB2A42308164A30), (0xC027BD1080B08500, 0xC003DEA5A31D5000), (0x4003DBBD437E2D80, 0xC010E1C31A440BB0), (0xC023288EBAD8F440, 0xC01052718EC64000), (0x4009C2FDF44C4240, 0x3FE84AF841A84800)], [(0xBFF61D3BDBBB9960, 0x40005C04CD9CEA7E), (0xC014B9833C900880, 0xC0010A637CADD6E0), (0x3FB8C8F5C7B04780, 0xBFD27DA04ACD3BC7), (0x3FFB77274C339000, 0x4020767412374180), (0xC02F683FF685C000, 0xBFD7354D3ABE4000)], [(0x4010698D57D33000, 0xBFDFA73AA7F3F900), (0x3FBCFC1F5CA6A060, 0x3F820B5624F58400), (0x4005E19C28C190C0, 0x3FE7F21CF663AC00), (0xC01C3053CAB0A400, 0x3FF26992152A4C00), (0xC01AA2A464764B00, 0x401A38D89E21F0F0)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %b = stablehlo.constant dense<[[(0xBFD1DB57E0000000, 0xBFB22873C0000000), (0xC00190E540000000, 0xC0059F4C40000000), (0xBFE29A30C0000000, 0x4001149120000000), (0xBFFC77E240000000, 0xC005890120000000), (0xBFF6D16320000000, 0x3FF2106E20000000)], [(0x3FF808F660000000, 0x3FDD715120000000), (0xBFF514ACA0000000, 0xBFFF759E80000000), (0xBFB6BF2560000000, 0x3FE16F0B40000000), (0x4007134C80000000, 0xBFD30B4200000000), (0x400628D800000000, 0x4006AD5A80000000)], [(0x3FF5947000000000, 0xBFF85656A0000000), (0x3FCFA987A0000000, 0xBFCD4B47E0000000), (0xBFF56B1F20000000, 0x3FF0588360000000), (0xC00049E880000000, 0xBFFBB06C80000000), (0x40068E7180000000, 0x3FF2E4AF20000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.divide %a, %b : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0x8000000000000000, 0x3FF0000000000000), (0x8000000000000000, 0x3FF0000000000000), (0x0000000000000000, 0x3FF0000000000000), (0x8000000000000000, 0x3FF0000000000000), (0x8000000000000000, 0x3FEFFFFFFFFFFFFF)], [(0x0000000000000000, 0x3FF0000000000000), (0x8000000000000000, 0x3FF0000000000000), (0xBC7C9B7BB453BE88, 0x3FF0000000000000), (0x0000000000000000, 0x3FEFFFFFFFFFFFFF), (0x0000000000000000, 0x3FF0000000000000)], [(0x8000000000000000, 0x3FF0000000000000), (0x0000000000000000, 0x3FEFFFFFFFFFFFFF), (0x8000000000000000, 0x3FF0000000000000), (0x8000000000000000, 0x3FF0000000000000), (0x0000000000000000, 0x3FF0000000000000)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.exponential %a : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0x3FF0830901825F3F, 0xBFD2EBF0815B758A), (0xC02175A608DBC240, 0xC02833AE4516B973), (0x3FB94C160E85E7CE, 0xBFB09F2CC953BCBA), (0xC00870192EB65BED, 0xC02CE151156B7C16), (0x3FA7DE61075BC2B3, 0xBFD47A76CD25DF22)], [(0x3FA62834E18F45B1, 0x3FE427188FECCD04), (0x3FFCA32562F067AA, 0xC01BA9B6A16C0D18), (0x3FE27C3F41D66602, 0xBFAA59703C150963), (0xBFF4D62C58BB8862, 0x3FD5EB6610856FE0), (0xBFAC05773CD09C8B, 0x3F95D7E341340A48)], [(0x3FF0210017D36A2E, 0x4011DBEDF27BC1FE), (0x3FF3809D7303401D, 0x3FD3B332B5A91B8B), (0x3FB5341EB2EE61BA, 0xBFD66C42DB5181D5), (0xC004422F5598C294, 0xC0142CF056802849), (0xBFD2A3ACB1F6C4DC, 0x3FB8E0606F90BA5D)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.sine %a : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0x3FB2DA841BCCB04E, 0xBFD20B3DF8A770CA), (0x3FFEEC5B179AD099, 0x401011B467D93772), (0xBFEFBD1C1357361C, 0x3FD509333C1A8FEC), (0x3FF5316D380F97BD, 0x4004BCD804E66A3C), (0xBFFFD722F237449B, 0xBFEAD4EDFF4EB33C)], [(0xBFF0BE7D00928807, 0x3FFE99B294C23B42), (0x3FFD8BB9FE781582, 0x3FE55D3D829E39BA), (0xBFE0A64952DC395A, 0xBFB37AACBDB9951B), (0x40050CCFF2BE6F21, 0x40210DB0CAEDD6F1), (0xC0035CBCBC610CEE, 0xC01E4DE463890C88)], [(0x40006D9F3DA5FD66, 0x3FB6DB1D01966179), (0x3FCDEE953A4648B4, 0x3FCF26EF3E9AED37), (0xBFFBD04BDE1EE9E8, 0xBFEDA9D8BF6EDABF), (0x400EC47D73C60BFF, 0x3FE32B097DEDF312), (0xC01F218885A68D5D, 0x400968C1B443970B)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.cosine %a : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0x3FF095C45F88E1FF, 0x3F9483137AA2EF3F), (0xC01078DADCD610B5, 0x3FFE2AB5E975AA5D), (0xBFE416391F65F394, 0xBFE09E841BB2156C), (0xC005F41AF73A401A, 0x3FF404F27700271E), (0x3FEE1E5F69A91AFF, 0xBFFC5D97A44CA81B)], [(0x4000E56A421704D8, 0x3FEE5332A5EB150D), (0xBFE8AA42B8FFC3F0, 0x3FF9977E59266645), (0x3FEB79B46C23E659, 0xBFA79BA7378EBF16), (0x4021290C1A06EAF8, 0xC004EB4135D9CFFA), (0xC01E8B0FFA9EEB4E, 0x400335F5A761C6C0)], [(0x3FBA2882DDEA994B, 0xBFFCB55EDB57CC7F), (0x3FF00FDE289B34B1, 0xBFAD06C24C88E342), (0x3FF10586D4C4E9F9, 0xBFF83C420662FDDB), (0xBFE3D52BB08160BF, 0x400DBC8D76FBAB4A), (0x4009972F2A3B4662, 0x401EE90DD3B3045C)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %r = stablehlo.tanh %a : tensor<3x5xcomplex<f64>>
  %w0 = stablehlo.constant dense<[[(0x3FB39B7C38B5621A, 0xBFD23C52ED43A917), (0x3FF00B78EF2140E2, 0x3F8181E6ED4A79D9), (0xBFEFA2EEAE26F2C5, 0xBF99FC9F17AFC8E1), (0x3FF0227FC2DB161D, 0x3F6EB6DEC852006B), (0xBFF3865A8AD5E2BE, 0xBFB2D88697FF68B5)], [(0xC00238E74B3E9827, 0x3FD2E450B1A66B6C), (0x3FF08E0B0DA7CD09, 0xBF9426E352DA12C8), (0xBFDFF91FC4821FD3, 0xBFB125FBAAA884E3), (0x3FD3AAC5EF523DBF, 0xBFCEAC3436870571), (0xBFEFD665B00A259E, 0xBF7307D2C574926D)], [(0x3FF16D0F77FF056F, 0x3FA6ECA8A12D7EE1), (0x3FCE87E34FB7C046, 0x3FCE97018C654AA1), (0xBFF40A0F76692393, 0xBFC2ED3225B7A5B3), (0x3FF09712BB51623D, 0x3FAAC2237477A023), (0xBFEB597B6FE5AB49, 0xBFB8FD950636389C)]]> : tensor<3x5xcomplex<f64>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xcomplex<f64>>, tensor<3x5xcomplex<f64>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %r = "stablehlo.abs"(%a) : (tensor<3x5xcomplex<f64>>) -> tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FD26CBEC9E9D3AB, 0x400BDBBB374BC7C5, 0x4001B3BFA07BA5D2, 0x4009D0719F7D86F9, 0x3FFD1A500B759FE3], [0x3FF92308503F7854, 0x4002EF4A328FCBB6, 0x3FE1AA02FEF4CD70, 0x400732A63E9E0752, 0x400FB4DA19B2C271], [0x4000436D87E3AE5E, 0x3FD5914BB34FF938, 0x3FFAF17263E625F0, 0x4005609EC9624B84, 0x40087465B55EA59F]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %r = "stablehlo.real"(%a) : (tensor<3x5xcomplex<f64>>) -> tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0x3FB22873C0000000, 0x40059F4C40000000, 0xC001149120000000, 0x4005890120000000, 0xBFF2106E20000000], [0xBFDD715120000000, 0x3FFF759E80000000, 0xBFE16F0B40000000, 0x3FD30B4200000000, 0xC006AD5A80000000], [0x3FF85656A0000000, 0x3FCD4B47E0000000, 0xBFF0588360000000, 0x3FFBB06C80000000, 0xBFF2E4AF20000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FB22873C0000000, 0xBFD1DB57E0000000), (0x40059F4C40000000, 0xC00190E540000000), (0xC001149120000000, 0xBFE29A30C0000000), (0x4005890120000000, 0xBFFC77E240000000), (0xBFF2106E20000000, 0xBFF6D16320000000)], [(0xBFDD715120000000, 0x3FF808F660000000), (0x3FFF759E80000000, 0xBFF514ACA0000000), (0xBFE16F0B40000000, 0xBFB6BF2560000000), (0x3FD30B4200000000, 0x4007134C80000000), (0xC006AD5A80000000, 0x400628D800000000)], [(0x3FF85656A0000000, 0x3FF5947000000000), (0x3FCD4B47E0000000, 0x3FCFA987A0000000), (0xBFF0588360000000, 0xBFF56B1F20000000), (0x3FFBB06C80000000, 0xC00049E880000000), (0xBFF2E4AF20000000, 0x40068E7180000000)]]> : tensor<3x5xcomplex<f64>>
  %r = "stablehlo.imag"(%a) : (tensor<3x5xcomplex<f64>>) -> tensor<3x5xf64>
  %w0 = stablehlo.constant dense<[[0xBFD1DB57E0000000, 0xC00190E540000000, 0xBFE29A30C0000000, 0xBFFC77E240000000, 0xBFF6D16320000000], [0x3FF808F660000000, 0xBFF514ACA0000000, 0xBFB6BF2560000000, 0x4007134C80000000, 0x400628D800000000], [0x3FF5947000000000, 0x3FCFA987A0000000, 0xBFF56B1F20000000, 0xC00049E880000000, 0x40068E7180000000]]> : tensor<3x5xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3x5xf64>, tensor<3x5xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3D91439E, 0x402CFA62, 0xC008A489, 0x402C4809, 0xBF908371], [0xBEEB8A89, 0x3FFBACF4, 0xBF0B785A, 0x3E985A10, 0xC0356AD4], [0x3FC2B2B5, 0x3E6A5A3F, 0xBF82C41B, 0x3FDD8364, 0xBF972579]]> : tensor<3x5xf32>
  %b = stablehlo.constant dense<[[0xBE8EDABF, 0xC00C872A, 0xBF14D186, 0xBFE3BF12, 0xBFB68B19], [0x3FC047B3, 0xBFA8A565, 0xBDB5F92B, 0x40389A64, 0x403146C0], [0x3FACA380, 0x3E7D4C3D, 0xBFAB58F9, 0xC0024F44, 0x4034738C]]> : tensor<3x5xf32>
  %r = "stablehlo.complex"(%a, %b) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x3D91439E, 0xBE8EDABF), (0x402CFA62, 0xC00C872A), (0xC008A489, 0xBF14D186), (0x402C4809, 0xBFE3BF12), (0xBF908371, 0xBFB68B19)], [(0xBEEB8A89, 0x3FC047B3), (0x3FFBACF4, 0xBFA8A565), (0xBF0B785A, 0xBDB5F92B), (0x3E985A10, 0x40389A64), (0xC0356AD4, 0x403146C0)], [(0x3FC2B2B5, 0x3FACA380), (0x3E6A5A3F, 0x3E7D4C3D), (0xBF82C41B, 0xBFAB58F9), (0x3FDD8364, 0xC0024F44), (0xBF972579, 0x4034738C)]]> : tensor<3x5xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %r = "stablehlo.is_finite"(%a) : (tensor<4xf32>) -> tensor<4xi1>
  %w0 = stablehlo.constant dense<[true, false, false, false]> : tensor<4xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<4xi1>, tensor<4xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x7FC00000, 0x80000000, 0x00000000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x40000000, 0x40000000, 0x3F800000, 0x00000000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %w0 = stablehlo.constant dense<[false, true, false, true, true]> : tensor<5xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi1>, tensor<5xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x7FC00000, 0x80000000, 0x00000000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x40000000, 0x40000000, 0x3F800000, 0x00000000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.compare NE, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %w0 = stablehlo.constant dense<[true, false, true, false, false]> : tensor<5xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi1>, tensor<5xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x7FC00000, 0x80000000, 0x00000000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x40000000, 0x40000000, 0x3F800000, 0x00000000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.compare LT, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %w0 = stablehlo.constant dense<[true, false, false, false, false]> : tensor<5xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi1>, tensor<5xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x7FC00000, 0x80000000, 0x00000000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x40000000, 0x40000000, 0x3F800000, 0x00000000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.compare LE, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %w0 = stablehlo.constant dense<[true, true, false, true, true]> : tensor<5xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi1>, tensor<5xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x7FC00000, 0x80000000, 0x00000000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x40000000, 0x40000000, 0x3F800000, 0x00000000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.compare GT, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %w0 = stablehlo.constant dense<[false, false, false, false, false]> : tensor<5xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi1>, tensor<5xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x7FC00000, 0x80000000, 0x00000000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x40000000, 0x40000000, 0x3F800000, 0x00000000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.compare GE, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %w0 = stablehlo.constant dense<[false, true, false, true, true]> : tensor<5xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi1>, tensor<5xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x7FC00000, 0x80000000, 0x00000000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x40000000, 0x40000000, 0x3F800000, 0x00000000, 0x80000000]> : tensor<5xf32>
  %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %w0 = stablehlo.constant dense<[true, false, false, true, false]> : tensor<5xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi1>, tensor<5xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[0xC0175385, 0x3F4C889F, 0xBF37AB17]> : tensor<3xf32>
  %c = stablehlo.constant dense<[0x3FAD0697, 0x3F6C5694, 0xBED3457C]> : tensor<3xf32>
  %r = stablehlo.select %a, %b, %c : tensor<3xi1>, tensor<3xf32>
  %w0 = stablehlo.constant dense<[0xC0175385, 0x3F6C5694, 0xBF37AB17]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xf32>, tensor<3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<0xBF800000> : tensor<f32>
  %b = stablehlo.constant dense<[0xC0175385, 0x3F4C889F, 0xBF37AB17]> : tensor<3xf32>
  %c = stablehlo.constant dense<0x3F800000> : tensor<f32>
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %w0 = stablehlo.constant dense<[0xBF800000, 0x3F4C889F, 0xBF37AB17]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xf32>, tensor<3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x42B00000, 0x42AC0000, 0x41F80000, 0x427C0000, 0x41000000, 0x42A20000]> : tensor<6xf32>
  %r = "stablehlo.convert"(%a) : (tensor<6xf32>) -> tensor<6xf32>
  %w0 = stablehlo.constant dense<[0x42B00000, 0x42AC0000, 0x41F80000, 0x427C0000, 0x41000000, 0x42A20000]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x41D00000, 0x42080000, 0x42C00000, 0x42580000, 0x42AE0000, 0x41980000]> : tensor<6xf32>
  %r = "stablehlo.convert"(%a) : (tensor<6xf32>) -> tensor<6xi8>
  %w0 = stablehlo.constant dense<[26, 34, 96, 54, 87, 19]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi8>, tensor<6xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x42960000, 0x42C60000, 0x40E00000, 0x41C00000, 0x41600000, 0x41C80000]> : tensor<6xf32>
  %r = "stablehlo.convert"(%a) : (tensor<6xf32>) -> tensor<6xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi1>, tensor<6xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x41F80000, 0x40E00000, 0x42B20000, 0x41C80000, 0x42B80000, 0x42980000]> : tensor<6xf32>
  %r = "stablehlo.convert"(%a) : (tensor<6xf32>) -> tensor<6xf64>
  %w0 = stablehlo.constant dense<[0x403F000000000000, 0x401C000000000000, 0x4056400000000000, 0x4039000000000000, 0x4057000000000000, 0x4053000000000000]> : tensor<6xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf64>, tensor<6xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x41880000, 0x428A0000, 0x429A0000, 0x41400000, 0x41400000, 0x42140000]> : tensor<6xf32>
  %r = "stablehlo.convert"(%a) : (tensor<6xf32>) -> tensor<6xui32>
  %w0 = stablehlo.constant dense<[17, 69, 77, 12, 12, 37]> : tensor<6xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui32>, tensor<6xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x40C00000, 0x42280000, 0x423C0000, 0x42840000, 0x42640000, 0x42340000]> : tensor<6xf32>
  %r = "stablehlo.convert"(%a) : (tensor<6xf32>) -> tensor<6xf16>
  %w0 = stablehlo.constant dense<[0x4600, 0x5140, 0x51E0, 0x5420, 0x5320, 0x51A0]> : tensor<6xf16>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf16>, tensor<6xf16>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x41B00000, 0x42680000, 0x42340000, 0x42A60000, 0x428A0000, 0x42900000]> : tensor<6xf32>
  %r = "stablehlo.convert"(%a) : (tensor<6xf32>) -> tensor<6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[(0x41B00000, 0x00000000), (0x42680000, 0x00000000), (0x42340000, 0x00000000), (0x42A60000, 0x00000000), (0x428A0000, 0x00000000), (0x42900000, 0x00000000)]> : tensor<6xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[57, 36, 28, 44, 57, 36]> : tensor<6xi32>
  %r = "stablehlo.convert"(%a) : (tensor<6xi32>) -> tensor<6xf32>
  %w0 = stablehlo.constant dense<[0x42640000, 0x42100000, 0x41E00000, 0x42300000, 0x42640000, 0x42100000]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[14, 10, 4, 20, 40, 28]> : tensor<6xi32>
  %r = "stablehlo.convert"(%a) : (tensor<6xi32>) -> tensor<6xi8>
  %w0 = stablehlo.constant dense<[14, 10, 4, 20, 40, 28]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi8>, tensor<6xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[17, 31, 71, 31, 91, 57]> : tensor<6xi32>
  %r = "stablehlo.convert"(%a) : (tensor<6xi32>) -> tensor<6xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi1>, tensor<6xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[13, 97, 88, 77, 15, 79]> : tensor<6xi32>
  %r = "stablehlo.convert"(%a) : (tensor<6xi32>) -> tensor<6xf64>
  %w0 = stablehlo.constant dense<[0x402A000000000000, 0x4058400000000000, 0x4056000000000000, 0x4053400000000000, 0x402E000000000000, 0x4053C00000000000]> : tensor<6xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf64>, tensor<6xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[70, 75, 71, 59, 34, 91]> : tensor<6xi32>
  %r = "stablehlo.convert"(%a) : (tensor<6xi32>) -> tensor<6xui32>
  %w0 = stablehlo.constant dense<[70, 75, 71, 59, 34, 91]> : tensor<6xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui32>, tensor<6xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[98, 68, 35, 50, 56, 7]> : tensor<6xi32>
  %r = "stablehlo.convert"(%a) : (tensor<6xi32>) -> tensor<6xf16>
  %w0 = stablehlo.constant dense<[0x5620, 0x5440, 0x5060, 0x5240, 0x5300, 0x4700]> : tensor<6xf16>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf16>, tensor<6xf16>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[8, 48, 56, 21, 26, 13]> : tensor<6xi32>
  %r = "stablehlo.convert"(%a) : (tensor<6xi32>) -> tensor<6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[(0x41000000, 0x00000000), (0x42400000, 0x00000000), (0x42600000, 0x00000000), (0x41A80000, 0x00000000), (0x41D00000, 0x00000000), (0x41500000, 0x00000000)]> : tensor<6xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[91, 50, 27, 78, 95, 29]> : tensor<6xui8>
  %r = "stablehlo.convert"(%a) : (tensor<6xui8>) -> tensor<6xf32>
  %w0 = stablehlo.constant dense<[0x42B60000, 0x42480000, 0x41D80000, 0x429C0000, 0x42BE0000, 0x41E80000]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[89, 76, 79, 52, 91, 14]> : tensor<6xui8>
  %r = "stablehlo.convert"(%a) : (tensor<6xui8>) -> tensor<6xi8>
  %w0 = stablehlo.constant dense<[89, 76, 79, 52, 91, 14]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi8>, tensor<6xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[8, 96, 49, 40, 73, 29]> : tensor<6xui8>
  %r = "stablehlo.convert"(%a) : (tensor<6xui8>) -> tensor<6xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi1>, tensor<6xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[63, 84, 80, 12, 96, 73]> : tensor<6xui8>
  %r = "stablehlo.convert"(%a) : (tensor<6xui8>) -> tensor<6xf64>
  %w0 = stablehlo.constant dense<[0x404F800000000000, 0x4055000000000000, 0x4054000000000000, 0x4028000000000000, 0x4058000000000000, 0x4052400000000000]> : tensor<6xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf64>, tensor<6xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[69, 18, 92, 39, 94, 23]> : tensor<6xui8>
  %r = "stablehlo.convert"(%a) : (tensor<6xui8>) -> tensor<6xui32>
  %w0 = stablehlo.constant dense<[69, 18, 92, 39, 94, 23]> : tensor<6xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui32>, tensor<6xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[9, 84, 58, 39, 97, 97]> : tensor<6xui8>
  %r = "stablehlo.convert"(%a) : (tensor<6xui8>) -> tensor<6xf16>
  %w0 = stablehlo.constant dense<[0x4880, 0x5540, 0x5340, 0x50E0, 0x5610, 0x5610]> : tensor<6xf16>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf16>, tensor<6xf16>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 62, 80, 69, 60, 52]> : tensor<6xui8>
  %r = "stablehlo.convert"(%a) : (tensor<6xui8>) -> tensor<6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[(0x3F800000, 0x00000000), (0x42780000, 0x00000000), (0x42A00000, 0x00000000), (0x428A0000, 0x00000000), (0x42700000, 0x00000000), (0x42500000, 0x00000000)]> : tensor<6xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  %r = "stablehlo.convert"(%a) : (tensor<6xi1>) -> tensor<6xf32>
  %w0 = stablehlo.constant dense<[0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  %r = "stablehlo.convert"(%a) : (tensor<6xi1>) -> tensor<6xi8>
  %w0 = stablehlo.constant dense<[1, 1, 1, 1, 1, 1]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi8>, tensor<6xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  %r = "stablehlo.convert"(%a) : (tensor<6xi1>) -> tensor<6xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi1>, tensor<6xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  %r = "stablehlo.convert"(%a) : (tensor<6xi1>) -> tensor<6xf64>
  %w0 = stablehlo.constant dense<[0x3FF0000000000000, 0x3FF0000000000000, 0x3FF0000000000000, 0x3FF0000000000000, 0x3FF0000000000000, 0x3FF0000000000000]> : tensor<6xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf64>, tensor<6xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  %r = "stablehlo.convert"(%a) : (tensor<6xi1>) -> tensor<6xui32>
  %w0 = stablehlo.constant dense<[1, 1, 1, 1, 1, 1]> : tensor<6xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui32>, tensor<6xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  %r = "stablehlo.convert"(%a) : (tensor<6xi1>) -> tensor<6xf16>
  %w0 = stablehlo.constant dense<[0x3C00, 0x3C00, 0x3C00, 0x3C00, 0x3C00, 0x3C00]> : tensor<6xf16>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf16>, tensor<6xf16>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  %r = "stablehlo.convert"(%a) : (tensor<6xi1>) -> tensor<6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[(0x3F800000, 0x00000000), (0x3F800000, 0x00000000), (0x3F800000, 0x00000000), (0x3F800000, 0x00000000), (0x3F800000, 0x00000000), (0x3F800000, 0x00000000)]> : tensor<6xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x4045800000000000, 0x4058C00000000000, 0x4043000000000000, 0x403A000000000000, 0x4037000000000000, 0x4055000000000000]> : tensor<6xf64>
  %r = "stablehlo.convert"(%a) : (tensor<6xf64>) -> tensor<6xf32>
  %w0 = stablehlo.constant dense<[0x422C0000, 0x42C60000, 0x42180000, 0x41D00000, 0x41B80000, 0x42A80000]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x4035000000000000, 0x404E000000000000, 0x4037000000000000, 0x4054000000000000, 0x4051C00000000000, 0x404F800000000000]> : tensor<6xf64>
  %r = "stablehlo.convert"(%a) : (tensor<6xf64>) -> tensor<6xi8>
  %w0 = stablehlo.constant dense<[21, 60, 23, 80, 71, 63]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi8>, tensor<6xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x4045000000000000, 0x4042000000000000, 0x4057800000000000, 0x4053000000000000, 0x4043800000000000, 0x4000000000000000]> : tensor<6xf64>
  %r = "stablehlo.convert"(%a) : (tensor<6xf64>) -> tensor<6xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi1>, tensor<6xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x4028000000000000, 0x4046000000000000, 0x4047000000000000, 0x4042800000000000, 0x4058800000000000, 0x4047800000000000]> : tensor<6xf64>
  %r = "stablehlo.convert"(%a) : (tensor<6xf64>) -> tensor<6xf64>
  %w0 = stablehlo.constant dense<[0x4028000000000000, 0x4046000000000000, 0x4047000000000000, 0x4042800000000000, 0x4058800000000000, 0x4047800000000000]> : tensor<6xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf64>, tensor<6xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x4053C00000000000, 0x4028000000000000, 0x4042800000000000, 0x4036000000000000, 0x402C000000000000, 0x404C000000000000]> : tensor<6xf64>
  %r = "stablehlo.convert"(%a) : (tensor<6xf64>) -> tensor<6xui32>
  %w0 = stablehlo.constant dense<[79, 12, 37, 22, 14, 56]> : tensor<6xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui32>, tensor<6xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x402C000000000000, 0x4043000000000000, 0x4051000000000000, 0x4053C00000000000, 0x404B800000000000, 0x404E000000000000]> : tensor<6xf64>
  %r = "stablehlo.convert"(%a) : (tensor<6xf64>) -> tensor<6xf16>
  %w0 = stablehlo.constant dense<[0x4B00, 0x50C0, 0x5440, 0x54F0, 0x52E0, 0x5380]> : tensor<6xf16>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf16>, tensor<6xf16>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x403D000000000000, 0x4055800000000000, 0x4032000000000000, 0x4052400000000000, 0x4020000000000000, 0x404E000000000000]> : tensor<6xf64>
  %r = "stablehlo.convert"(%a) : (tensor<6xf64>) -> tensor<6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[(0x41E80000, 0x00000000), (0x42AC0000, 0x00000000), (0x41900000, 0x00000000), (0x42920000, 0x00000000), (0x41000000, 0x00000000), (0x42700000, 0x00000000)]> : tensor<6xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[25, 28, 34, 78, 78, 25]> : tensor<6xi64>
  %r = "stablehlo.convert"(%a) : (tensor<6xi64>) -> tensor<6xf32>
  %w0 = stablehlo.constant dense<[0x41C80000, 0x41E00000, 0x42080000, 0x429C0000, 0x429C0000, 0x41C80000]> : tensor<6xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf32>, tensor<6xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[53, 7, 89, 96, 36, 54]> : tensor<6xi64>
  %r = "stablehlo.convert"(%a) : (tensor<6xi64>) -> tensor<6xi8>
  %w0 = stablehlo.constant dense<[53, 7, 89, 96, 36, 54]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi8>, tensor<6xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[53, 77, 6, 52, 84, 61]> : tensor<6xi64>
  %r = "stablehlo.convert"(%a) : (tensor<6xi64>) -> tensor<6xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, true, true]> : tensor<6xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi1>, tensor<6xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[55, 3, 92, 18, 35, 67]> : tensor<6xi64>
  %r = "stablehlo.convert"(%a) : (tensor<6xi64>) -> tensor<6xf64>
  %w0 = stablehlo.constant dense<[0x404B800000000000, 0x4008000000000000, 0x4057000000000000, 0x4032000000000000, 0x4041800000000000, 0x4050C00000000000]> : tensor<6xf64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf64>, tensor<6xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[46, 57, 58, 15, 1, 95]> : tensor<6xi64>
  %r = "stablehlo.convert"(%a) : (tensor<6xi64>) -> tensor<6xui32>
  %w0 = stablehlo.constant dense<[46, 57, 58, 15, 1, 95]> : tensor<6xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui32>, tensor<6xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[80, 15, 67, 51, 73, 14]> : tensor<6xi64>
  %r = "stablehlo.convert"(%a) : (tensor<6xi64>) -> tensor<6xf16>
  %w0 = stablehlo.constant dense<[0x5500, 0x4B80, 0x5430, 0x5260, 0x5490, 0x4B00]> : tensor<6xf16>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xf16>, tensor<6xf16>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[70, 71, 99, 27, 43, 13]> : tensor<6xi64>
  %r = "stablehlo.convert"(%a) : (tensor<6xi64>) -> tensor<6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[(0x428C0000, 0x00000000), (0x428E0000, 0x00000000), (0x42C60000, 0x00000000), (0x41D80000, 0x00000000), (0x422C0000, 0x00000000), (0x41500000, 0x00000000)]> : tensor<6xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0xC0175385, 0x3F4C889F, 0xBF37AB17]> : tensor<3xf32>
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<3xf32>) -> tensor<3xui32>
  %w0 = stablehlo.constant dense<[3222754181, 1061980319, 3208096535]> : tensor<3xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xui32>, tensor<3xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[906, 2759], [26931, 10490], [44549, 11507]]> : tensor<3x2xui16>
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<3x2xui16>) -> tensor<3xui32>
  %w0 = stablehlo.constant dense<[180814730, 687499571, 754167301]> : tensor<3xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xui32>, tensor<3xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F802000, 0x40490FD0]> : tensor<2xf32>
  %r = stablehlo.reduce_precision %a, format = e5m10 : tensor<2xf32>
  %w0 = stablehlo.constant dense<[0x3F802000, 0x40490000]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[2, 0, -4, -1], [8, 8, -5, 8], [-6, 5, -3, 3]], [[2, 6, -3, 7], [6, -9, -8, -7], [2, -3, -7, -8]]]> : tensor<2x3x4xi32>
  %r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x3x4xi32>) -> tensor<4x2x3xi32>
  %w0 = stablehlo.constant dense<[[[2, 8, -6], [2, 6, 2]], [[0, 8, 5], [6, -9, -3]], [[-4, -5, -3], [-3, -8, -7]], [[-1, 8, 3], [7, -7, -8]]]> : tensor<4x2x3xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<4x2x3xi32>, tensor<4x2x3xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[2, 0, -4, -1], [8, 8, -5, 8], [-6, 5, -3, 3]], [[2, 6, -3, 7], [6, -9, -8, -7], [2, -3, -7, -8]]]> : tensor<2x3x4xi32>
  %r = stablehlo.reshape %a : (tensor<2x3x4xi32>) -> tensor<6x4xi32>
  %w0 = stablehlo.constant dense<[[2, 0, -4, -1], [8, 8, -5, 8], [-6, 5, -3, 3], [2, 6, -3, 7], [6, -9, -8, -7], [2, -3, -7, -8]]> : tensor<6x4xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6x4xi32>, tensor<6x4xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[2, 0, -4, -1], [8, 8, -5, 8], [-6, 5, -3, 3]], [[2, 6, -3, 7], [6, -9, -8, -7], [2, -3, -7, -8]]]> : tensor<2x3x4xi32>
  %r = stablehlo.reverse %a, dims = [0, 2] : tensor<2x3x4xi32>
  %w0 = stablehlo.constant dense<[[[7, -3, 6, 2], [-7, -8, -9, 6], [-8, -7, -3, 2]], [[-1, -4, 0, 2], [8, -5, 8, 8], [3, -3, 5, -6]]]> : tensor<2x3x4xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<2x3x4xi32>, tensor<2x3x4xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[2, 0, -4, -1], [8, 8, -5, 8], [-6, 5, -3, 3]], [[2, 6, -3, 7], [6, -9, -8, -7], [2, -3, -7, -8]]]> : tensor<2x3x4xi32>
  %r = stablehlo.slice %a [0:1, 1:3, 0:4:3] : (tensor<2x3x4xi32>) -> tensor<1x2x2xi32>
  %w0 = stablehlo.constant dense<[[[8, 8], [-6, 3]]]> : tensor<1x2x2xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<1x2x2xi32>, tensor<1x2x2xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[2], [8], [-6]]> : tensor<3x1xi32>
  %r = stablehlo.broadcast_in_dim %a, dims = [1, 3] : (tensor<3x1xi32>) -> tensor<2x3x2x4xi32>
  %w0 = stablehlo.constant dense<[[[[2, 2, 2, 2], [2, 2, 2, 2]], [[8, 8, 8, 8], [8, 8, 8, 8]], [[-6, -6, -6, -6], [-6, -6, -6, -6]]], [[[2, 2, 2, 2], [2, 2, 2, 2]], [[8, 8, 8, 8], [8, 8, 8, 8]], [[-6, -6, -6, -6], [-6, -6, -6, -6]]]]> : tensor<2x3x2x4xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<2x3x2x4xi32>, tensor<2x3x2x4xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[2, 8, -6], [2, 6, 2]]> : tensor<2x3xi32>
  %r = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %w0 = stablehlo.constant dense<[[2, 2], [8, 6], [-6, 2]]> : tensor<3x2xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3x2xi32>, tensor<3x2xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[2, 0, -4, -1], [8, 8, -5, 8], [-6, 5, -3, 3]], [[2, 6, -3, 7], [6, -9, -8, -7], [2, -3, -7, -8]]]> : tensor<2x3x4xi32>
  %b = stablehlo.constant dense<[[[7, 1, -9, -5]], [[2, -5, 4, -4]]]> : tensor<2x1x4xi32>
  %r = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3x4xi32>, tensor<2x1x4xi32>) -> tensor<2x4x4xi32>
  %w0 = stablehlo.constant dense<[[[2, 0, -4, -1], [8, 8, -5, 8], [-6, 5, -3, 3], [7, 1, -9, -5]], [[2, 6, -3, 7], [6, -9, -8, -7], [2, -3, -7, -8], [2, -5, 4, -4]]]> : tensor<2x4x4xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<2x4x4xi32>, tensor<2x4x4xi32>) -> ()
  return
}
// -----
func.func @main() {
  %r = stablehlo.iota dim = 1 : tensor<2x3xf32>
  %w0 = stablehlo.constant dense<[[0x00000000, 0x3F800000, 0x40000000], [0x00000000, 0x3F800000, 0x40000000]]> : tensor<2x3xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = stablehlo.constant dense<7> : tensor<i32>
  %r = stablehlo.pad %a, %b, low = [2], high = [1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<8xi32>
  %w0 = stablehlo.constant dense<[7, 7, 1, 7, 2, 7, 3, 7]> : tensor<8xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<8xi32>, tensor<8xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = stablehlo.constant dense<7> : tensor<i32>
  %s = stablehlo.add %b, %b : tensor<i32>
  %r = stablehlo.pad %a, %s, low = [-1], high = [1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  %w0 = stablehlo.constant dense<[14, 2, 14, 3, 14]> : tensor<5xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<5xi32>, tensor<5xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[2, -8, 5, 4, 0], [2, -8, 1, -1, -9], [-9, -2, 3, 3, -6], [-7, -5, -3, -7, -9]]> : tensor<4x5xi32>
  %b = stablehlo.constant dense<1> : tensor<i32>
  %c = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 3] : (tensor<4x5xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
  %w0 = stablehlo.constant dense<[[1, -1, -9], [3, 3, -6]]> : tensor<2x3xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<2x3xi32>, tensor<2x3xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[2, -8, 5, 4, 0], [2, -8, 1, -1, -9], [-9, -2, 3, 3, -6], [-7, -5, -3, -7, -9]]> : tensor<4x5xi32>
  %b = stablehlo.constant dense<1> : tensor<i32>
  %c = stablehlo.constant dense<9> : tensor<i32>
  %d = stablehlo.constant dense<[[-3, -8, -6], [-6, -3, -2]]> : tensor<2x3xi32>
  %r = stablehlo.dynamic_update_slice %a, %d, %b, %c : (tensor<4x5xi32>, tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> tensor<4x5xi32>
  %w0 = stablehlo.constant dense<[[2, -8, 5, 4, 0], [2, -8, -3, -8, -6], [-9, -2, -6, -3, -2], [-7, -5, -3, -7, -9]]> : tensor<4x5xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<4x5xi32>, tensor<4x5xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[2, -8, 5, 4, 0], [2, -8, 1, -1, -9], [-9, -2, 3, 3, -6], [-7, -5, -3, -7, -9]]> : tensor<4x5xi32>
  %r = stablehlo.get_dimension_size %a, dim = 1 : (tensor<4x5xi32>) -> tensor<i32>
  %w0 = stablehlo.constant dense<5> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]], [[0xBE514E61, 0xC01CA349, 0x3F4A5F12, 0x3F32C3F8, 0xC033AE46], [0x3FEC19C7, 0x3FDC4225, 0x401F7A77, 0x3F82CBA6, 0x3F941E42], [0xC0011F8A, 0xC036D3A2, 0xC026D2E1, 0x40325A68, 0x3F5FD3F9], [0x402B9CB7, 0xBF67587B, 0x3FC4029B, 0xC026E305, 0xC0002D5E]], [[0xBFAB295F, 0x3E9A93E2, 0x3EB05C2E, 0xBBC74587, 0xBEE80C41], [0x3EE890F6, 0x403332C8, 0xBE80C793, 0x400196CA, 0xC02A8B90], [0xBF2FBCEC, 0x3EB9D857, 0x3F38CFF8, 0xBFBFFC65, 0xBF1AB063], [0x402BA67F, 0x3F64A280, 0x3F028217, 0xC026ECE0, 0xC02BF6DD]]]> : tensor<3x4x5xf32>
  %b = stablehlo.constant dense<0x00000000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %w0 = stablehlo.constant dense<[0xC0A189AD, 0x410DAB6E, 0xC0F3C3F2, 0xC0CB0C14]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<0x00000000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5x2xf32>
  %w0 = stablehlo.constant dense<[[0x3F7C8C92, 0xC000E42A], [0xBFA715EB, 0x3FA7FF6C], [0xC0C49582, 0x4083DD20], [0xC0441F04, 0xC045EB35], [0x3F49779E, 0xC078C196]]> : tensor<5x2xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<5x2xf32>, tensor<5x2xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]], [[0xBE514E61, 0xC01CA349, 0x3F4A5F12, 0x3F32C3F8, 0xC033AE46], [0x3FEC19C7, 0x3FDC4225, 0x401F7A77, 0x3F82CBA6, 0x3F941E42], [0xC0011F8A, 0xC036D3A2, 0xC026D2E1, 0x40325A68, 0x3F5FD3F9], [0x402B9CB7, 0xBF67587B, 0x3FC4029B, 0xC026E305, 0xC0002D5E]], [[0xBFAB295F, 0x3E9A93E2, 0x3EB05C2E, 0xBBC74587, 0xBEE80C41], [0x3EE890F6, 0x403332C8, 0xBE80C793, 0x400196CA, 0xC02A8B90], [0xBF2FBCEC, 0x3EB9D857, 0x3F38CFF8, 0xBFBFFC65, 0xBF1AB063], [0x402BA67F, 0x3F64A280, 0x3F028217, 0xC026ECE0, 0xC02BF6DD]]]> : tensor<3x4x5xf32>
  %b = stablehlo.constant dense<0x3F800000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %b) applies stablehlo.multiply across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %w0 = stablehlo.constant dense<[0xBA750DE9, 0xC3D4F986, 0x411754F0, 0x45825ECE]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<0x3F800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.multiply %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5x2xf32>
  %w0 = stablehlo.constant dense<[[0x3F0F4D27, 0x40C5D4BF], [0x411FCBA2, 0xC1CB4771], [0xC1CE8D05, 0xC08AFAE8], [0x40DA3E27, 0x4084743C], [0xC096CFF5, 0x407AB2AB]]> : tensor<5x2xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<5x2xf32>, tensor<5x2xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]], [[0xBE514E61, 0xC01CA349, 0x3F4A5F12, 0x3F32C3F8, 0xC033AE46], [0x3FEC19C7, 0x3FDC4225, 0x401F7A77, 0x3F82CBA6, 0x3F941E42], [0xC0011F8A, 0xC036D3A2, 0xC026D2E1, 0x40325A68, 0x3F5FD3F9], [0x402B9CB7, 0xBF67587B, 0x3FC4029B, 0xC026E305, 0xC0002D5E]], [[0xBFAB295F, 0x3E9A93E2, 0x3EB05C2E, 0xBBC74587, 0xBEE80C41], [0x3EE890F6, 0x403332C8, 0xBE80C793, 0x400196CA, 0xC02A8B90], [0xBF2FBCEC, 0x3EB9D857, 0x3F38CFF8, 0xBFBFFC65, 0xBF1AB063], [0x402BA67F, 0x3F64A280, 0x3F028217, 0xC026ECE0, 0xC02BF6DD]]]> : tensor<3x4x5xf32>
  %b = stablehlo.constant dense<0xC1100000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %b) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %w0 = stablehlo.constant dense<[0x4013A801, 0x403332C8, 0x40325A68, 0x402BA67F]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<0xC1100000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5x2xf32>
  %w0 = stablehlo.constant dense<[[0x4013A801, 0x3FFA8A1F], [0x4031DC9E, 0x4031DC9E], [0x4031DC9E, 0x4031DC9E], [0x4023E4A9, 0x400FC911], [0x4023E4A9, 0x3F3BDF92]]> : tensor<5x2xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<5x2xf32>, tensor<5x2xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]], [[0xBE514E61, 0xC01CA349, 0x3F4A5F12, 0x3F32C3F8, 0xC033AE46], [0x3FEC19C7, 0x3FDC4225, 0x401F7A77, 0x3F82CBA6, 0x3F941E42], [0xC0011F8A, 0xC036D3A2, 0xC026D2E1, 0x40325A68, 0x3F5FD3F9], [0x402B9CB7, 0xBF67587B, 0x3FC4029B, 0xC026E305, 0xC0002D5E]], [[0xBFAB295F, 0x3E9A93E2, 0x3EB05C2E, 0xBBC74587, 0xBEE80C41], [0x3EE890F6, 0x403332C8, 0xBE80C793, 0x400196CA, 0xC02A8B90], [0xBF2FBCEC, 0x3EB9D857, 0x3F38CFF8, 0xBFBFFC65, 0xBF1AB063], [0x402BA67F, 0x3F64A280, 0x3F028217, 0xC026ECE0, 0xC02BF6DD]]]> : tensor<3x4x5xf32>
  %b = stablehlo.constant dense<0x41100000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %b) applies stablehlo.minimum across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %w0 = stablehlo.constant dense<[0xC037C204, 0xC02A8B90, 0xC036D3A2, 0xC02BF6DD]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<0x41100000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.minimum %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5x2xf32>
  %w0 = stablehlo.constant dense<[[0xBF8CCE6B, 0xC037C204], [0xC0284033, 0xC037C204], [0xC0284033, 0xBF790E52], [0xC0207EA6, 0xC0148A87], [0xC0207EA6, 0xC0148A87]]> : tensor<5x2xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<5x2xf32>, tensor<5x2xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[]> : tensor<0x3xf32>
  %b = stablehlo.constant dense<0x40A00000> : tensor<f32>
  %r = stablehlo.reduce(%a init: %b) applies stablehlo.maximum across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  %w0 = stablehlo.constant dense<[0x40A00000, 0x40A00000, 0x40A00000]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xf32>, tensor<3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[true, false, true], [false, true, true], [false, false, false], [false, false, false]]> : tensor<4x3xi1>
  %b = stablehlo.constant dense<false> : tensor<i1>
  %r = stablehlo.reduce(%a init: %b) applies stablehlo.or across dimensions = [0] : (tensor<4x3xi1>, tensor<i1>) -> tensor<3xi1>
  %w0 = stablehlo.constant dense<[true, true, true]> : tensor<3xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xi1>, tensor<3xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<0x00000000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %w0 = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0365DDA, 0xBE0A2830, 0x3FD6EAD1, 0xBFACEE5D, 0x3F7C05EC], [0xC0A1CE12, 0xBF508566, 0x3F36D67E, 0x3F65478A, 0x3EFE749E], [0xC0F20D65, 0x3FDF869F, 0x3FB95B08, 0xBFB3BA23, 0xBFE977E6]]> : tensor<4x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4x5xf32>, tensor<4x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %r = stablehlo.constant dense<"0x01"> : tensor<8xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, true, true, true, true]> : tensor<8xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<8xi1>, tensor<8xi1>) -> ()
  return
}
// -----
func.func @main() {
  %r = stablehlo.constant dense<"0x00"> : tensor<3xi1>
  %w0 = stablehlo.constant dense<[false, false, false]> : tensor<3xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xi1>, tensor<3xi1>) -> ()
  return
}
// -----
func.func @main() {
  %r = stablehlo.constant dense<"0x010001"> : tensor<3xi1>
  %w0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xi1>, tensor<3xi1>) -> ()
  return
}
// -----
func.func @main() {
  %r = stablehlo.constant dense<"0x05"> : tensor<3xi1>
  %w0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3xi1>, tensor<3xi1>) -> ()
  return
}
// -----
func.func @main() {
  %r = stablehlo.constant dense<"0x0F80"> : tensor<16xi1>
  %w0 = stablehlo.constant dense<[true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, true]> : tensor<16xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<16xi1>, tensor<16xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x40400000]> : tensor<3xf32>
  %b = stablehlo.constant dense<0x40000000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %w0 = stablehlo.constant dense<[0x40E00000, 0x40E00000, 0x41000000]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3xf32>, tensor<3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0x40000000, 0x40400000]> : tensor<3xf32>
  %b = stablehlo.constant dense<0x40000000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%a, %b) <{padding = dense<[[2, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  %w0 = stablehlo.constant dense<[0x40E00000, 0x40E00000, 0x41000000, 0x41100000]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<0xC2C60000> : tensor<f32>
  %c = stablehlo.constant dense<[[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]> : tensor<4x5xi32>
  %d = stablehlo.constant dense<0> : tensor<i32>
  %r0, %r1 = stablehlo.reduce(%a init: %b), (%c init: %d) across dimensions = [1] : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %more = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %more, %p, %q : tensor<i1>, tensor<f32>
    %k = stablehlo.select %more, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %v, %k : tensor<f32>, tensor<i32>
   }
  %w0 = stablehlo.constant dense<[0x4013A801, 0x4031DC9E, 0x400FC911, 0x4023E4A9]> : tensor<4xf32>
  stablehlo.custom_call @check.expect_eq(%r0, %w0) : (tensor<4xf32>, tensor<4xf32>) -> ()
  %w1 = stablehlo.constant dense<[1, 2, 3, 1]> : tensor<4xi32>
  stablehlo.custom_call @check.expect_eq(%r1, %w1) : (tensor<4xi32>, tensor<4xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBE61DA6C, 0x4013A801, 0xBF8CCE6B, 0xC037C204, 0x3FFA8A1F], [0xC0284033, 0xC01C4A84, 0x4031DC9E, 0x3FC295AB, 0xBF790E52], [0xC00D3E4B, 0xBF2DFB5A, 0xBF76FF24, 0x400FC911, 0xBEF9973A], [0xC0207EA6, 0x4023E4A9, 0x3F3BDF92, 0xC0132EF4, 0xC0148A87]]> : tensor<4x5xf32>
  %b = stablehlo.constant dense<[[0xBE514E61, 0xC01CA349, 0x3F4A5F12, 0x3F32C3F8, 0xC033AE46], [0x3FEC19C7, 0x3FDC4225, 0x401F7A77, 0x3F82CBA6, 0x3F941E42], [0xC0011F8A, 0xC036D3A2, 0xC026D2E1, 0x40325A68, 0x3F5FD3F9], [0x402B9CB7, 0xBF67587B, 0x3FC4029B, 0xC026E305, 0xC0002D5E]]> : tensor<4x5xf32>
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.multiply %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %w0 = stablehlo.constant dense<[[0x3D38A878, 0xC0B4B11D, 0xBF5E9E56, 0xC0005192, 0xC0AFD922], [0xC09B2C20, 0xC086786B, 0x40DD9A38, 0x3FC6D597, 0xBF9019B7], [0x408E7B95, 0x3FF8810D, 0x4020F4E8, 0x40C8592A, 0xBEDA3966], [0xC0D72DB2, 0xC0141BFA, 0x3F8FD915, 0x40BFE5EF, 0x4094BF2D]]> : tensor<4x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4x5xf32>, tensor<4x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0, 3, 0, 0, 1, 0], [0, 0, 2, 1, 4, 2], [1, 4, 0, 1, 0, 1]]> : tensor<3x6xi32>
  %b = stablehlo.constant dense<[[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]> : tensor<3x6xi32>
  %r0, %r1 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):
    %less = stablehlo.compare GT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3x6xi32>, tensor<3x6xi32>) -> (tensor<3x6xi32>, tensor<3x6xi32>)
  %w0 = stablehlo.constant dense<[[3, 1, 0, 0, 0, 0], [4, 2, 2, 1, 0, 0], [4, 1, 1, 1, 0, 0]]> : tensor<3x6xi32>
  stablehlo.custom_call @check.expect_eq(%r0, %w0) : (tensor<3x6xi32>, tensor<3x6xi32>) -> ()
  %w1 = stablehlo.constant dense<[[1, 4, 0, 2, 3, 5], [4, 2, 5, 3, 0, 1], [1, 0, 3, 5, 2, 4]]> : tensor<3x6xi32>
  stablehlo.custom_call @check.expect_eq(%r1, %w1) : (tensor<3x6xi32>, tensor<3x6xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FF933C9, 0x3FBCE36B, 0xC00F4D9A, 0x3FEB46A7, 0x3FFE669E, 0xBFF76E07, 0x3F42FDFC, 0xBFE8E6A1], [0xBFC4FF63, 0xBD135087, 0x3E088515, 0xBE00D16E, 0x3E7CC548, 0xBFDC4A1F, 0x3FD5F321, 0xBFAA9CC8]]> : tensor<2x8xf32>
  %r0, %r1 = chlo.top_k(%a, k = 3) : tensor<2x8xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %w0 = stablehlo.constant dense<[[0x3FFE669E, 0x3FF933C9, 0x3FEB46A7], [0x3FD5F321, 0x3E7CC548, 0x3E088515]]> : tensor<2x3xf32>
  stablehlo.custom_call @check.expect_eq(%r0, %w0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %w1 = stablehlo.constant dense<[[4, 0, 3], [6, 4, 2]]> : tensor<2x3xi32>
  stablehlo.custom_call @check.expect_eq(%r1, %w1) : (tensor<2x3xi32>, tensor<2x3xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.constant dense<0x3F800000> : tensor<f32>
  %c = stablehlo.constant dense<0x40400000> : tensor<f32>
  %c0 = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %a, %s = %b) : tensor<i32>, tensor<f32>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %i, %c0 : tensor<i32>
    %twice = stablehlo.multiply %s, %c : tensor<f32>
    stablehlo.return %next, %twice : tensor<i32>, tensor<f32>
  }
  %r = stablehlo.add %w#1, %w#1 : tensor<f32>
  %w0 = stablehlo.constant dense<0x43F30000> : tensor<f32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<f32>, tensor<f32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.constant dense<3> : tensor<i32>
  %r = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<i32>
  }, {
    %m = stablehlo.multiply %b, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }, {
    %o = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %o : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %w0 = stablehlo.constant dense<3> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<3> : tensor<i32>
  %r = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<i32>
  }, {
    %m = stablehlo.multiply %b, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }, {
    %o = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %o : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %w0 = stablehlo.constant dense<9> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<7> : tensor<i32>
  %b = stablehlo.constant dense<3> : tensor<i32>
  %r = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<i32>
  }, {
    %m = stablehlo.multiply %b, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }, {
    %o = stablehlo.constant dense<1> : tensor<i32>
    stablehlo.return %o : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %w0 = stablehlo.constant dense<1> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<true> : tensor<i1>
  %b = stablehlo.constant dense<3> : tensor<i32>
  %c = stablehlo.constant dense<4> : tensor<i32>
  %r = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<i32>
  }, {
    stablehlo.return %c : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  %w0 = stablehlo.constant dense<3> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<false> : tensor<i1>
  %b = stablehlo.constant dense<3> : tensor<i32>
  %c = stablehlo.constant dense<4> : tensor<i32>
  %r = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<i32>
  }, {
    stablehlo.return %c : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  %w0 = stablehlo.constant dense<4> : tensor<i32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<i32>, tensor<i32>) -> ()
  return
}
// -----
module @calls {
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func public @main() {
  %a = stablehlo.constant dense<[1.0, -2.5]> : tensor<2xf32>
  %b = call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %c = stablehlo.composite "own.twice" %b {decomposition = @twice} : (tensor<2xf32>) -> tensor<2xf32>
  %w = stablehlo.constant dense<[4.0, -10.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%c, %w) : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[0x401E786B, 0x3DBA3A76, 0xBF96C549, 0xBFFA12BB], [0xBDB5D04F, 0xBF3E01E1, 0x3F3D1273, 0xBC176DDF], [0xC031CEB7, 0x3FFFD119, 0xC02C283F, 0x3FFB97D4]], [[0x3FF03115, 0x4022CF3D, 0x3F7C851F, 0xC002520E], [0xBEB26492, 0xBEBA1018, 0x3F4B4373, 0xBF3692A0], [0x3F86EBB8, 0xBFE3662E, 0xBF6140D2, 0x3E850F0D]]]> : tensor<2x3x4xf32>
  %b = stablehlo.constant dense<[[[0xBEDE4187, 0xC010F33D, 0x4032E0C5, 0x3F92EA35], [0x3FFFC55C, 0xBF5AF0B7, 0x402AD70C, 0x3FEFF599], [0x40382162, 0xBFE866B6, 0xBE0C454F, 0xBF2F5600], [0x3F2EF156, 0xBFBFD4CC, 0xC0196B2C, 0xBE0FAAEE], [0x3F563A99, 0xBF3226FE, 0x403B2D3D, 0xBF1066B8]], [[0xBF99BDDE, 0x3FF112D3, 0xBE4CA869, 0xBFAE2B65], [0xBFA3F993, 0x402BB534, 0x40314E92, 0x3F609EB0], [0xBFA9E7FC, 0x3FA254D8, 0xBFD98563, 0xBF88A393], [0x3E8036CF, 0xBF17D7B3, 0xBF64D3CD, 0x40361150], [0xBFFD481B, 0x3F2EC38D, 0xC031333A, 0xC01CC813]]]> : tensor<2x5x4xf32>
  %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %w0 = stablehlo.constant dense<[[[0xC0DA17A6, 0xBFF7E949, 0x410754B8, 0x4094E9BA, 0xBEAB0F56], [0x40717C04, 0x401A56D8, 0x3F7F51B2, 0xBF37ACED, 0x4026E0B0], [0xC10952F1, 0xC12C1A62, 0xC14997AB, 0x3FA3AD02, 0xC14B10C8]], [[0x40A38C2F, 0x40ABC11E, 0x3F9DCB50, 0xC0F6D472, 0x3E8FAF3A], [0x3F0BB8EE, 0x3F85CCD4, 0xBF161CDE, 0xC0270EA5, 0xBC22FEE6], [0xC09945A8, 0xC10538C3, 0xC01BCC80, 0x4035FBFE, 0xBFBFDE73]]]> : tensor<2x3x5xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[5, -6, 4, 8], [-1, 4, -2, 6], [3, -9, -3, 3]]> : tensor<3x4xi8>
  %b = stablehlo.constant dense<[[-1, -2], [-1, -2], [0, 3], [-4, -4]]> : tensor<4x2xi8>
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xi8>, tensor<4x2xi8>) -> tensor<3x2xi32>
  %w0 = stablehlo.constant dense<[[-31, -18], [-27, -36], [-6, -9]]> : tensor<3x2xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<3x2xi32>, tensor<3x2xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[[0x3DA57E1C, 0xBFB7C36F, 0xBF26CDA8, 0x3E4CC18B, 0xC0035FAA, 0xBFABE367], [0xBEF48358, 0xBE276FB9, 0x3FE6672E, 0x3F5B9246, 0x3EBFF830, 0x400E0772]]]> : tensor<1x2x6xf32>
  %b = stablehlo.constant dense<[[[0xBFE86FA2, 0xC0180839, 0xBF233CF2], [0xC00B51AE, 0x3EABF948, 0x3EE23B79]], [[0xC00D77D4, 0x3FA5EDF2, 0x3EADB076], [0xBEEBFC23, 0x40205021, 0x4008AB9A]], [[0xBFD64BB2, 0xC0000835, 0x401F90E4], [0xC0039D83, 0x3FC588D2, 0xBF8FFCA8]]]> : tensor<3x2x3xf32>
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6xf32>, tensor<3x2x3xf32>) -> tensor<1x3x3xf32>
  %w0 = stablehlo.constant dense<[[[0x3EFB4DBE, 0x40ABBD49, 0x40937B82], [0xBFF6BEC6, 0x410CFFB0, 0x3FDCB8BC], [0xC0896956, 0x40CB5B05, 0xC0508322]]]> : tensor<1x3x3xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<1x3x3xf32>, tensor<1x3x3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x4024A8C78C46E93C, 0x4014D9318ABF56D9, 0x401CDC8813DAC70A], [0x4014D9318ABF56D9, 0x4031C7147FC818E2, 0x4020484895128350], [0x401CDC8813DAC70A, 0x4020484895128350, 0x402978A44868B2EE]]> : tensor<3x3xf64>
  %r = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>
  %w0 = stablehlo.constant dense<[[0x4009B639839DB373, 0x0000000000000000, 0x0000000000000000], [0x3FF9F27AA217A6EA, 0x400F22D69E23AB09, 0x0000000000000000], [0x4001F5C011D120D6, 0x3FF2805A2775BD5F, 0x40042C41534590F6]]> : tensor<3x3xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x3xf64>, tensor<3x3xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x4024A8C78C46E93C, 0x4014D9318ABF56D9, 0x401CDC8813DAC70A], [0x4014D9318ABF56D9, 0x4031C7147FC818E2, 0x4020484895128350], [0x401CDC8813DAC70A, 0x4020484895128350, 0x402978A44868B2EE]]> : tensor<3x3xf64>
  %r = stablehlo.cholesky %a, lower = false : tensor<3x3xf64>
  %w0 = stablehlo.constant dense<[[0x4009B639839DB373, 0x3FF9F27AA217A6EA, 0x4001F5C011D120D6], [0x0000000000000000, 0x400F22D69E23AB09, 0x3FF2805A2775BD5F], [0x0000000000000000, 0x0000000000000000, 0x40042C41534590F6]]> : tensor<3x3xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x3xf64>, tensor<3x3xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x4009B639839DB373, 0x0000000000000000, 0x0000000000000000], [0x3FF9F27AA217A6EA, 0x400F22D69E23AB09, 0x0000000000000000], [0x4001F5C011D120D6, 0x3FF2805A2775BD5F, 0x40042C41534590F6]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[[0xBFF6A73CCABA58AF, 0x3FF48F5DFDF923CC], [0x40064867AF82612E, 0x3FF939BD14C76CD8], [0x3FF41A8F3159C9F4, 0x3FF56D8736582660]]> : tensor<3x2xf64>
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  %w0 = stablehlo.constant dense<[[0xBFF1332563955A70, 0xBFB88FBC5D2DE6E8], [0x3FE229E8C3D46E6A, 0x3FCFA73CD1CF2593], [0x3FDFE3EDE6D43A0B, 0x3FE0FED0DD0FF99F]]> : tensor<3x2xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3x2xf64>, tensor<3x2xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FEA69E5, 0xBFB48C29), (0xBFAFB53A, 0xC0385FCE), (0x3F42973F, 0xBFA23C99), (0x3FE89DCA, 0x3FD7989F), (0x40151487, 0xC038411E), (0x401BD71F, 0xC000A470)], [(0x401B18A2, 0xBF912D1F), (0xC01A8235, 0x3E44AD10), (0xBF3DD71B, 0xBF525D8F), (0xBE85F6A9, 0x4012EF03), (0x4016683E, 0xBFE0A83D), (0xBEF80D8A, 0x3EBD5744)]]> : tensor<2x6xcomplex<f32>>
  %r = stablehlo.fft %a, type = FFT, length = [6] : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x40F99D58, 0xC10C375B), (0xBEB75A08, 0x3F9841EC), (0xBF13B3FB, 0x40D764C7), (0x4002A3E2, 0xC0166D90), (0x406E3DD5, 0x4036A690), (0xBFD20CF2, 0xC101FAA4)], [(0x3F5F2178, 0xBF5A7555), (0x3F8AFC75, 0x401F3B6B), (0x3FEC195C, 0x3F94D8C3), (0x40E626EA, 0xC0D23367), (0x4071385B, 0x404B3A4E), (0xBE645AA0, 0xC0C6B2AA)]]> : tensor<2x6xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<2x6xcomplex<f32>>, tensor<2x6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x3FEA69E5, 0xBFB48C29), (0xBFAFB53A, 0xC0385FCE), (0x3F42973F, 0xBFA23C99), (0x3FE89DCA, 0x3FD7989F), (0x40151487, 0xC038411E), (0x401BD71F, 0xC000A470)], [(0x401B18A2, 0xBF912D1F), (0xC01A8235, 0x3E44AD10), (0xBF3DD71B, 0xBF525D8F), (0xBE85F6A9, 0x4012EF03), (0x4016683E, 0xBFE0A83D), (0xBEF80D8A, 0x3EBD5744)]]> : tensor<2x6xcomplex<f32>>
  %r = stablehlo.fft %a, type = IFFT, length = [6] : (tensor<2x6xcomplex<f32>>) -> tensor<2x6xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x3FA668E6, 0xBFBAF47A), (0xBE8C08A1, 0xBFAD4E30), (0x3F1ED3E4, 0x3EF388C0), (0x3EAE2FD8, 0xBEC89217), (0xBDC4EFF6, 0x3F8F9886), (0xBD74780B, 0x3E4B028E)], [(0x3E14C0FB, 0xBE11A38F), (0xBD183C6B, 0xBF84771C), (0x3F20D03C, 0x3F077C34), (0x3F996F47, 0xBF8C2244), (0x3E9D663E, 0x3E46765B), (0x3E3950A0, 0x3ED44F3A)]]> : tensor<2x6xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<2x6xcomplex<f32>>, tensor<2x6xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FD55D25, 0x4024F835, 0x400F6A9B, 0xC00BF5BE, 0x3FE01A3B, 0x3F86AA7B], [0xBEF0D579, 0xC0362EA7, 0xBFFEFD80, 0x3FBF95FE, 0xC01FBDFF, 0xBF8FE286]]> : tensor<2x6xf32>
  %r = stablehlo.fft %a, type = RFFT, length = [6] : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
  %w0 = stablehlo.constant dense<[[(0x40E33F00, 0x00000000), (0x406B0F2E, 0xBFDF700A), (0xC08A94E0, 0xBF659222), (0x4086E74B, 0x00000000)], [(0xC0EDD62D, 0x00000000), (0xBFDAAE87, 0x3F871660), (0x40A82F52, 0x3FF6CB63), (0xC01F0283, 0x00000000)]]> : tensor<2x4xcomplex<f32>>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[(0x40E33F00, 0x00000000), (0x406B0F2E, 0xBFDF700A), (0xC08A94E0, 0xBF659222), (0x4086E74B, 0x00000000)], [(0xC0EDD62D, 0x00000000), (0xBFDAAE87, 0x3F871660), (0x40A82F52, 0x3FF6CB63), (0xC01F0283, 0x00000000)]]> : tensor<2x4xcomplex<f32>>
  %r = stablehlo.fft %a, type = IRFFT, length = [6] : (tensor<2x4xcomplex<f32>>) -> tensor<2x6xf32>
  %w0 = stablehlo.constant dense<[[0x3FD55D25, 0x4024F835, 0x400F6A9B, 0xC00BF5BE, 0x3FE01A3B, 0x3F86AA7B], [0xBEF0D579, 0xC0362EA7, 0xBFFEFD80, 0x3FBF95FE, 0xC01FBDFF, 0xBF8FE286]]> : tensor<2x6xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<2x6xf32>, tensor<2x6xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0xBFBBFF31, 0x3FBD0168, 0xBF587BEE], [0xC01E850C, 0xBF47003D, 0xBF84FEA2], [0x3FA6AC23, 0xBF8A2569, 0x3F94B263], [0x3E6D1FD4, 0x4014E3B0, 0x3FB33976]]> : tensor<4x3xf32>
  %b = stablehlo.constant dense<[0xBF0D6FD3, 0xBDB96E8D, 0xBE2FCE4F]> : tensor<3xf32>
  %c = stablehlo.constant dense<[0x400EBBD5, 0xC00AFE7E, 0xBEE8C3F1]> : tensor<3xf32>
  %d = stablehlo.constant dense<[0xBF1A5C95, 0x3EF92340, 0x3E2D5E80]> : tensor<3xf32>
  %e = stablehlo.constant dense<[0x400963E3, 0x4006A1A6, 0x3F9FAEC2]> : tensor<3xf32>
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %w0 = stablehlo.constant dense<[[0x40239F46, 0xC00EF2D5, 0xBE98EB92], [0x403BF23E, 0xC005F209, 0xBE89B507], [0x3FC18954, 0xC004BD4E, 0xBF1B6B00], [0x3FF5324E, 0xC01257CB, 0xBF24CC96]]> : tensor<4x3xf32>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<4x3xf32>, tensor<4x3xf32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x4000000000000000, 0x4000000000000000, 0x4000000000000000]> : tensor<3xf64>
  %b = stablehlo.constant dense<[0x3FF0000000000000, 0x4000000000000000, 0x3FE0000000000000]> : tensor<3xf64>
  %r = chlo.zeta %a, %b : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  %w0 = stablehlo.constant dense<[0x3FFA51A6625307D3, 0x3FE4A34CC4A60FA6, 0x4013BD3CC9BE45DE]> : tensor<3xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3xf64>, tensor<3xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x0000000000000000, 0x3FF0000000000000, 0x4000000000000000]> : tensor<3xf64>
  %b = stablehlo.constant dense<[0x3FF0000000000000, 0x4000000000000000, 0x3FF0000000000000]> : tensor<3xf64>
  %r = chlo.polygamma %a, %b : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  %w0 = stablehlo.constant dense<[0xBFE2788CFC6FB619, 0x3FE4A34CC4A60FA6, 0xC0033BA004F00621]> : tensor<3xf64>
  stablehlo.custom_call @check.expect_close(%r, %w0) : (tensor<3xf64>, tensor<3xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000]> : tensor<4xf32>
  %r = chlo.is_pos_inf %a : tensor<4xf32> -> tensor<4xi1>
  %w0 = stablehlo.constant dense<[true, false, false, false]> : tensor<4xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<4xi1>, tensor<4xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000]> : tensor<4xf32>
  %r = chlo.is_neg_inf %a : tensor<4xf32> -> tensor<4xi1>
  %w0 = stablehlo.constant dense<[false, true, false, false]> : tensor<4xi1>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<4xi1>, tensor<4xi1>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[127, 127, -128, -128, 127, 3]> : tensor<6xi8>
  %b = stablehlo.constant dense<[127, -128, -128, 1, 2, 63]> : tensor<6xi8>
  %r = chlo.mulhi %a, %b : tensor<6xi8>, tensor<6xi8> -> tensor<6xi8>
  %w0 = stablehlo.constant dense<[63, -64, 64, -1, 0, 0]> : tensor<6xi8>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi8>, tensor<6xi8>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[65535, 65535, 0, 0, 65535, 3]> : tensor<6xui16>
  %b = stablehlo.constant dense<[65535, 0, 0, 1, 2, 32767]> : tensor<6xui16>
  %r = chlo.mulhi %a, %b : tensor<6xui16>, tensor<6xui16> -> tensor<6xui16>
  %w0 = stablehlo.constant dense<[65534, 0, 0, 0, 1, 1]> : tensor<6xui16>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui16>, tensor<6xui16>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[2147483647, 2147483647, -2147483648, -2147483648, 2147483647, 3]> : tensor<6xi32>
  %b = stablehlo.constant dense<[2147483647, -2147483648, -2147483648, 1, 2, 1073741823]> : tensor<6xi32>
  %r = chlo.mulhi %a, %b : tensor<6xi32>, tensor<6xi32> -> tensor<6xi32>
  %w0 = stablehlo.constant dense<[1073741823, -1073741824, 1073741824, -1, 0, 0]> : tensor<6xi32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi32>, tensor<6xi32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[4294967295, 4294967295, 0, 0, 4294967295, 3]> : tensor<6xui32>
  %b = stablehlo.constant dense<[4294967295, 0, 0, 1, 2, 2147483647]> : tensor<6xui32>
  %r = chlo.mulhi %a, %b : tensor<6xui32>, tensor<6xui32> -> tensor<6xui32>
  %w0 = stablehlo.constant dense<[4294967294, 0, 0, 0, 1, 1]> : tensor<6xui32>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui32>, tensor<6xui32>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[9223372036854775807, 9223372036854775807, -9223372036854775808, -9223372036854775808, 9223372036854775807, 3]> : tensor<6xi64>
  %b = stablehlo.constant dense<[9223372036854775807, -9223372036854775808, -9223372036854775808, 1, 2, 4611686018427387903]> : tensor<6xi64>
  %r = chlo.mulhi %a, %b : tensor<6xi64>, tensor<6xi64> -> tensor<6xi64>
  %w0 = stablehlo.constant dense<[4611686018427387903, -4611686018427387904, 4611686018427387904, -1, 0, 0]> : tensor<6xi64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xi64>, tensor<6xi64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[18446744073709551615, 18446744073709551615, 0, 0, 18446744073709551615, 3]> : tensor<6xui64>
  %b = stablehlo.constant dense<[18446744073709551615, 0, 0, 1, 2, 9223372036854775807]> : tensor<6xui64>
  %r = chlo.mulhi %a, %b : tensor<6xui64>, tensor<6xui64> -> tensor<6xui64>
  %w0 = stablehlo.constant dense<[18446744073709551614, 0, 0, 0, 1, 1]> : tensor<6xui64>
  stablehlo.custom_call @check.expect_eq(%r, %w0) : (tensor<6xui64>, tensor<6xui64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000], [0xC008000000000000, 0x3FF0000000000000, 0x4010000000000000], [0x0000000000000000, 0x0000000000000000, 0x4014000000000000]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[0x0000000000000000, 0x0000000000000000, 0x0000000000000000]> : tensor<3xf64>
  %s:6 = stablehlo.custom_call @lapack_dgees_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<i32>, tensor<i32>)
  %t = stablehlo.transpose %s#1, dims = [1, 0] : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %u = stablehlo.dot %s#1, %s#0 : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  %r0 = stablehlo.dot %u, %t : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  %r1 = stablehlo.add %s#2, %b : tensor<3xf64>
  %r2 = stablehlo.add %s#3, %b : tensor<3xf64>
  %w0 = stablehlo.constant dense<[[0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000], [0xC008000000000000, 0x3FF0000000000000, 0x4010000000000000], [0x0000000000000000, 0x0000000000000000, 0x4014000000000000]]> : tensor<3x3xf64>
  stablehlo.custom_call @check.expect_close(%r0, %w0) : (tensor<3x3xf64>, tensor<3x3xf64>) -> ()
  %w1 = stablehlo.constant dense<[0x3FF0000000000000, 0x3FF0000000000000, 0x4014000000000000]> : tensor<3xf64>
  stablehlo.custom_call @check.expect_close(%r1, %w1) : (tensor<3xf64>, tensor<3xf64>) -> ()
  %w2 = stablehlo.constant dense<[0x4003988E1409212E, 0xC003988E1409212E, 0x0000000000000000]> : tensor<3xf64>
  stablehlo.custom_call @check.expect_close(%r2, %w2) : (tensor<3xf64>, tensor<3xf64>) -> ()
  return
}
// -----
func.func @main() {
  %a = stablehlo.constant dense<[[0x3F800000, 0x00000000, 0x00000000], [0x00000000, 0x40400000, 0x00000000], [0x00000000, 0x00000000, 0x40000000]]> : tensor<3x3xf32>
  %b = stablehlo.constant dense<0> : tensor<3xi32>
  %s:3 = stablehlo.custom_call @lapack_sgeqp3_ffi(%a, %b) : (tensor<3x3xf32>, tensor<3xi32>) -> (tensor<3x3xf32>, tensor<3xi32>, tensor<3xf32>)
  %r0 = stablehlo.abs %s#0 : tensor<3x3xf32>
  %r1 = stablehlo.add %s#1, %b : tensor<3xi32>
  %w0 = stablehlo.constant dense<[[0x40400000, 0x00000000, 0x00000000], [0x00000000, 0x40000000, 0x00000000], [0x00000000, 0x00000000, 0x3F800000]]> : tensor<3x3xf32>
  stablehlo.custom_call @check.expect_close(%r0, %w0) : (tensor<3x3xf32>, tensor<3x3xf32>) -> ()
  %w1 = stablehlo.constant dense<[2, 3, 1]> : tensor<3xi32>
  stablehlo.custom_call @check.expect_close(%r1, %w1) : (tensor<3xi32>, tensor<3xi32>) -> ()
  return
}
// -----
func.func private @least(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %l = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %l : tensor<i1>
}
func.func @main() {
  %a = stablehlo.constant dense<[[0x3F800000, 0x40A00000, 0x40400000], [0x40800000, 0x00000000, 0x41100000]]> : tensor<2x3xf32>
  %b = stablehlo.constant dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  %c = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %d = stablehlo.constant dense<-1> : tensor<i32>
  %r:2 = stablehlo.custom_call @ApproxTopK(%a, %b, %c, %d) {called_computations = [@least], mhlo.backend_config = {reduction_dim = 1 : i64, recall_target = 0.9 : f32, top_k = 2 : i64}} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %v = stablehlo.constant dense<[[0x3F800000, 0x40400000], [0x00000000, 0x40800000]]> : tensor<2x2xf32>
  %p = stablehlo.constant dense<[[0, 2], [1, 0]]> : tensor<2x2xi32>
  stablehlo.custom_call @check.expect_eq(%r#0, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  stablehlo.custom_call @check.expect_eq(%r#1, %p) : (tensor<2x2xi32>, tensor<2x2xi32>) -> ()
  return
}
