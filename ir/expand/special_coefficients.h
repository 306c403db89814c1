/* SPDX-License-Identifier: ISC */
/* The polynomials of the special functions, lowest degree first, made by
 * tools/fit_special.py; the bound is the relative error that the polynomial leaves. */
#ifndef NXI_EXPAND_SPECIAL_COEFFICIENTS_H
#define NXI_EXPAND_SPECIAL_COEFFICIENTS_H

/* what Stirling lacks, times x, in 1 / (x + 1/2) - 1/3, x >= 1. Degree 17, bound 2^-54.9 */
static const double nxi_stirling_all_f64[] = {
    0x1.53967bb06163dp-4,   -0x1.82819caec0508p-9,  -0x1.9c5ce1da19ab6p-8,  -0x1.0e9c44410460bp-8,
    -0x1.a7b3167ab5acep-11, -0x1.fd4dcd2b23273p-19, -0x1.0e3d9c582bc07p-11, -0x1.45950db68e24fp-14,
    0x1.844dcc14f4fbdp-13,  -0x1.206c5f476e2c7p-12, 0x1.609430c075478p-14,  0x1.304e1c2cbf437p-13,
    -0x1.76c0fedf85436p-12, 0x1.9cf065c924104p-12,  -0x1.3a8d502f804ebp-15, -0x1.5ecc7cfdc0f60p-11,
    0x1.7075b7d87ad61p-11,  0x1.b75f83461d0dep-17,
};
/* (e^r - 1 - r) / r^2, |r| <= ln2/2. Degree 5, bound 2^-34.2 */
static const double nxi_small_exp_wide[] = {
    0x1.00000043c3587p-1, 0x1.55555586a7cb5p-3,  0x1.55547ed87f023p-5,
    0x1.1110945a92d65p-7, 0x1.6d97c67a0f0d7p-10, 0x1.a199bfc90d188p-13,
};
/* (erf x - x) / x in x^2, |x| <= 3/4. Degree 12, bound 2^-60.3 */
static const double nxi_small_erf_f64[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b037a0ep-2,  0x1.ce2f21a044c16p-4,  -0x1.b82ce3134d8d2p-6,
    0x1.565bcd38a4b6fp-8,  -0x1.c02dbf3a9c89ep-11, 0x1.f9a51b5d7d1e5p-14, -0x1.f50d06f07c201p-17,
    0x1.be917d1ab3e8dp-20, -0x1.9f0cb5c15398ep-23, 0x1.94d553bc48c1bp-25, -0x1.741d69317d17bp-26,
    0x1.8ceccae67c703p-28,
};
/* (1 + 2x) e^x^2 erfc x in t = (x - 3) / (x + 3), 0.75 <= x <= 27.4. Degree 21, bound 2^-54.5 */
static const double nxi_erfcx_f64[] = {
    0x1.40c522d7e4987p+0,  -0x1.15c084bb9e905p-3,  -0x1.85a15c58a9ddfp-5,  0x1.098366a5b5059p-3,
    -0x1.e88b803a59581p-4, 0x1.17ca2877c41e5p-4,   -0x1.8574c40519b73p-6,  0x1.4b884e9f10240p-9,
    0x1.ef1bd77ad5c06p-10, -0x1.98db5c9132adep-11, -0x1.b90f8978ba64bp-14, 0x1.065aee5a9e231p-13,
    0x1.4b3f19c8b822bp-18, -0x1.51424ed56c8e0p-16, -0x1.728c2173534d2p-21, 0x1.d1368e5d17965p-19,
    0x1.2daff69ea2d66p-22, -0x1.3d23ec0eb57d4p-21, -0x1.11c7dd4814d62p-24, 0x1.222c930ad883dp-24,
    0x1.94d61e7add370p-29, 0x1.187a7d3327cd0p-29,
};
/* erfinv(x) / x in w - 5/2, w = -log(1 - x^2) <= 5. Degree 12, bound 2^-35.2 */
static const double nxi_erfinv_near_wide[] = {
    0x1.805c5cfd15cdcp+0,   0x1.f91e8993cf64dp-3,   -0x1.11c3c53604a74p-8,  -0x1.4863ce4db26adp-10,
    0x1.c9b4de24526ffp-13,  -0x1.4f472973e7d68p-18, -0x1.cab713f9f686bp-19, 0x1.010054a58b153p-21,
    0x1.dcb78e4ed27ddp-27,  -0x1.754817c6e9601p-27, 0x1.bb37b4fdce523p-31,  0x1.0fcca70c6f564p-33,
    -0x1.5bc467dbac660p-36,
};
/* the same. Degree 23, bound 2^-54.2 */
static const double nxi_erfinv_near_f64[] = {
    0x1.805c5cfcedef5p+0,   0x1.f91e8993f0d1fp-3,   -0x1.11c3c302e07dap-8,  -0x1.4863cdfb65e70p-10,
    0x1.c9b437ed9d8aap-13,  -0x1.4f47fe61193bap-18, -0x1.ca92280f88c9cp-19, 0x1.01037d2c7bbd8p-21,
    0x1.ccffc97136a94p-27,  -0x1.752f94676151bp-27, 0x1.f2c7bd45f9bdap-31,  0x1.06f99342dbd56p-33,
    -0x1.1178a81b528cap-35, 0x1.02e27fd5c5999p-40,  0x1.2b6c3b011bf0fp-41,  -0x1.60cda0aa99efep-44,
    -0x1.384743f919628p-49, 0x1.49982e32212abp-49,  -0x1.fe060fa330925p-53, -0x1.435c9225f2dd8p-54,
    0x1.862c3fdcf83cfp-57,  0x1.ad48ec03ce211p-59,  -0x1.131a30e79a437p-62, -0x1.6404c220f419ap-64,
};
/* erfinv(x) in s - 3.125, s = sqrt(w) up to 4. Degree 10, bound 2^-33.0 */
static const double nxi_erfinv_middle_wide[] = {
    0x1.7aa773f4a7388p+1,   0x1.011497a9072d2p+0,   0x1.7292b81dce4ebp-8,  -0x1.7d53256eeeb30p-9,
    0x1.05d935f38f2e4p-10,  -0x1.e9bedff420cb6p-13, 0x1.8e7923fc187f7p-19, 0x1.2c88d8164fe70p-15,
    -0x1.5e77aac9455a3p-16, 0x1.2dab7703eb96ap-19,  0x1.130510c1f2ea8p-19,
};
/* the same. Degree 20, bound 2^-53.7 */
static const double nxi_erfinv_middle_f64[] = {
    0x1.7aa773f504ec9p+1,   0x1.011497b7e83d8p+0,   0x1.729281fa3ff01p-8,   -0x1.7d5635dcb0ad8p-9,
    0x1.05e344e8e4b35p-10,  -0x1.e85491b609e17p-13, 0x1.36e512c0462d1p-19,  0x1.1b73ea8784783p-15,
    -0x1.48d90f810ee9fp-16, 0x1.4bd537a566415p-18,  0x1.c4ad17722f1c4p-21,  -0x1.5fa1a8c930517p-20,
    0x1.0e6495f63a382p-21,  -0x1.178ffbe48fa51p-26, -0x1.5efbc736b500fp-24, 0x1.61929891fedabp-25,
    -0x1.4555496eac02ap-29, -0x1.6b8232be7fb0cp-28, 0x1.10b57d36a3133p-30,  0x1.b282f62934f8dp-35,
    0x1.cfde0461d3ee6p-33,
};
/* erfinv(x) in s - 5, s up to 6.01. Degree 17, bound 2^-54.0 */
static const double nxi_erfinv_far_f64[] = {
    0x1.3664ddd1a43ddp+2,   0x1.02a30d2124a48p+0,   -0x1.22eb3719d30cfp-13, -0x1.c2f0c4bc4135fp-13,
    0x1.3eb33603780f2p-14,  -0x1.49de78b382f00p-16, 0x1.2dcd24a786ba2p-18,  -0x1.014cd5be9330cp-20,
    0x1.a1074c47de456p-23,  -0x1.425403ed8e362p-25, 0x1.d33f942178eecp-28,  -0x1.1c7036adca356p-30,
    0x1.4033b66211aa1p-37,  0x1.573fe54fea917p-34,  -0x1.27c5a5f0cfcd9p-36, 0x1.4bd69719ac413p-37,
    -0x1.c218e512c6fc3p-37, 0x1.e54715962e54bp-39,
};
/* lgamma(2 + d) / d in d + 0.3125, -0.8 <= d <= 0.2. Degree 11, bound 2^-34.4 */
static const double nxi_lgamma_near_wide[] = {
    0x1.4247f42157650p-2,   0x1.7c937f64ef93ap-2,  -0x1.791a339e8a6bap-4,  0x1.1317a9234d40ap-5,
    -0x1.d790a2a400cb2p-7,  0x1.b846d0fcf5b23p-8,  -0x1.b1228638dcca2p-9,  0x1.b8e0774225a52p-10,
    -0x1.bfdf713a1bbd4p-11, 0x1.d1b56c7775b26p-12, -0x1.46a17c7c2e703p-12, 0x1.76b9522c29744p-13,
};
/* the same. Degree 21, bound 2^-57.0 */
static const double nxi_lgamma_near_f64[] = {
    0x1.4247f42128428p-2,   0x1.7c937f67ea430p-2,   -0x1.791a32c5ac98ap-4,  0x1.1317a18594c24p-5,
    -0x1.d791e031e3bb2p-7,  0x1.b84c73ca35493p-8,   -0x1.b0ce8cb89bb0dp-9,  0x1.b7f7549a1566fp-10,
    -0x1.c9c55376cd3a6p-11, 0x1.e46bbc49ef2e0p-12,  -0x1.039cbfe8fb321p-12, 0x1.19176751cae56p-13,
    -0x1.32cc6ceca4020p-14, 0x1.5036e208e1847p-15,  -0x1.733c86d56fa15p-16, 0x1.acf451e8332b8p-17,
    -0x1.dc2f2ef208f03p-18, 0x1.46d8a3d9a098cp-19,  -0x1.bbe5563123c73p-20, 0x1.dc72e307e8830p-19,
    -0x1.52393ae2a8b3ep-20, -0x1.436451bd41e8bp-20,
};
/* (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x in x^-2, x >= 7.2. Degree 3, bound 2^-36.5 */
static const double nxi_stirling_wide[] = {
    0x1.5555555546bc3p-4,
    -0x1.6c16b582d9829p-9,
    0x1.9fe94ee8a61efp-11,
    -0x1.28007fc2c7293p-11,
};
/* the same. Degree 7, bound 2^-53.5 */
static const double nxi_stirling_f64[] = {
    0x1.5555555555555p-4,  -0x1.6c16c16c0a3adp-9,  0x1.a01a00f6bb5bbp-11, -0x1.3812ad99530acp-11,
    0x1.b8d53eff400b3p-11, -0x1.e3cfe06e18775p-10, 0x1.d74bee304cfc3p-9,  0x1.22dd4a4d9e314p-6,
};
/* digamma(x) / (x - root) in x - 3/2, 1 <= x <= 2. Degree 12, bound 2^-33.0 */
static const double nxi_digamma_near_wide[] = {
    0x1.e6f0cbb88ff36p-1, -0x1.b1cb62d233137p-2, 0x1.eca1890a05c5ep-3, -0x1.2fef13cc17c10p-3,
    0x1.851344792f41bp-4, -0x1.fb304c8955a1ep-5, 0x1.4dd6e94355064p-5, -0x1.bc0cd922ebb0bp-6,
    0x1.271cda0e2127bp-6, -0x1.6b7dee45fc730p-7, 0x1.df1eeefd2564dp-8, -0x1.f8bba72e43148p-8,
    0x1.56b652af20b03p-8,
};
/* the same. Degree 23, bound 2^-53.5 */
static const double nxi_digamma_near_f64[] = {
    0x1.e6f0cbb873616p-1,   -0x1.b1cb63005eea5p-2,  0x1.eca189b8e759ap-3,  -0x1.2feeeb98a5607p-3,
    0x1.8512e58fb9de5p-4,   -0x1.fb44202d8d168p-5,  0x1.4de9aa56d4b2fp-5,  -0x1.b9f8afe51d8fcp-6,
    0x1.2564615e6783cp-6,   -0x1.8635a0dd4929bp-7,  0x1.03c30e708ceb2p-7,  -0x1.59ff655ec8633p-8,
    0x1.ccb04c5a3ed6dp-9,   -0x1.33fb2bd5fc154p-9,  0x1.a0675f3b8861fp-10, -0x1.08a826b0e3439p-10,
    0x1.2ab7fc838e1cep-11,  -0x1.393d9980c4678p-11, 0x1.68276ba5d7a92p-11, 0x1.30d7a7ad47d92p-13,
    -0x1.0f44819d289eap-11, -0x1.3ee123b97aefdp-11, 0x1.293766d2dd865p-11, 0x1.224c258c3a9b8p-12,
};
/* (log x - 1 / 2x - digamma(x)) x^2 in 1 / x^2, x >= 4. Degree 3, bound 2^-32.9 */
static const double nxi_digamma_far_wide[] = {
    0x1.555553e5fbb97p-4,
    -0x1.1109dcd195c14p-7,
    0x1.0136676e1ec31p-8,
    -0x1.aba49a5cc3d8ep-9,
};
/* the same. Degree 10, bound 2^-60.8 */
static const double nxi_digamma_far_f64[] = {
    0x1.555555555554dp-4, -0x1.111111110114ep-7, 0x1.041040d98e7c7p-8, -0x1.1110f4c51fa43p-8,
    0x1.f07112b277425p-8, -0x1.58e51791e3cb3p-6, 0x1.4de9287926e82p-4, -0x1.8e143a7f8bdcap-2,
    0x1.decd5334db186p+0, -0x1.be2e832145d9ep+2, 0x1.b27ab2ec1c2dap+3,
};
/* i0(x) in x^2, |x| <= 8. Degree 11, bound 2^-36.9 */
static const double nxi_i0_small_wide[] = {
    0x1.ffffffffee748p-1,  0x1.0000000113f5cp-2,  0x1.ffffffd594870p-7,  0x1.c71c741f765dfp-12,
    0x1.c71c51b45e17cp-18, 0x1.23465cd2b1bf4p-24, 0x1.02df783fe452bp-31, 0x1.5292e0aafb381p-39,
    0x1.4f0fd60c7b57fp-47, 0x1.1a43b51f084b4p-55, 0x1.f91fcc4a9e9ffp-65, 0x1.442b1f768d315p-72,
};
/* the same. Degree 17, bound 2^-65.6 */
static const double nxi_i0_small_f64[] = {
    0x1.0000000000000p+0,   0x1.0000000000000p-2,   0x1.0000000000000p-6,   0x1.c71c71c71c71cp-12,
    0x1.c71c71c71c736p-18,  0x1.23456789aba86p-24,  0x1.02e85c089c887p-31,  0x1.522a43f5d7d1bp-39,
    0x1.522a440106333p-47,  0x1.0b3131e5728c6p-55,  0x1.5601967f36d92p-64,  0x1.69c9bba815da2p-73,
    0x1.41a1d19842550p-82,  0x1.e67d9431469d0p-92,  0x1.41e28ebc96e18p-101, 0x1.4e0f762ed53aep-111,
    0x1.df5ab1f660402p-121, 0x1.2b0742bf4b9d3p-132,
};
/* e^-x i0(x) sqrt x in 16 / x - 1, x >= 8. Degree 7, bound 2^-33.3 */
static const double nxi_i0_large_wide[] = {
    0x1.9bd428acb0900p-2,  0x1.b8796bbc0b733p-9,  0x1.1dab093360143p-13, 0x1.75cc1fbe6dc68p-17,
    0x1.8c3d3b96b71f3p-20, 0x1.4984cd0e0c4cdp-22, 0x1.d2cc508f75529p-24, 0x1.11d948c4bf9dbp-25,
};
/* the same. Degree 26, bound 2^-53.7 */
static const double nxi_i0_large_f64[] = {
    0x1.9bd428ad249a5p-2,   0x1.b87969bb93e11p-9,  0x1.1daa72b5af284p-13,  0x1.75e5ee61c1519p-17,
    0x1.8e513f6bf38f6p-20,  0x1.3f49e3beb2ad3p-22, 0x1.7d08c50e9e17ap-24,  0x1.51b3bf9212bb5p-25,
    0x1.7341edf4cdeb6p-26,  0x1.06eef053b76a5p-27, -0x1.eb01cdbebcaa7p-28, -0x1.dd7bb207e95eep-27,
    -0x1.01c0b747bb213p-28, 0x1.3a427933d13a0p-27, 0x1.80e0a1b618162p-29,  -0x1.e1a2c2f2f73bfp-28,
    0x1.945a57d9be563p-29,  0x1.cedd1dd436fddp-28, -0x1.16f6d26916dc5p-27, -0x1.8bc2e40172fdep-28,
    0x1.316269de632f4p-27,  0x1.da93bbc287cd4p-29, -0x1.815a0ff5017f3p-28, -0x1.534f75bc442c0p-30,
    0x1.103980ae1adaep-29,  0x1.b00153643dcc9p-33, -0x1.4e86e4604f060p-32,
};
/* i1(x) / x, likewise. Degree 11, bound 2^-39.2 */
static const double nxi_i1_small_wide[] = {
    0x1.fffffffffc862p-2,  0x1.000000005b55ap-4,  0x1.555555496f338p-9,  0x1.c71c72efe16d9p-15,
    0x1.6c16b31577b76p-21, 0x1.845d541d44a76p-28, 0x1.27de23d24d046p-35, 0x1.52765134b5eccp-43,
    0x1.2a71170f4ea41p-51, 0x1.bf8b45f5661bep-60, 0x1.7ea3375990c6fp-69, 0x1.a3fe5a5448521p-77,
};
/* the same. Degree 17, bound 2^-63.5 */
static const double nxi_i1_small_f64[] = {
    0x1.0000000000000p-1,    0x1.0000000000000p-4,   0x1.5555555555555p-9,   0x1.c71c71c71c737p-15,
    0x1.6c16c16c168d4p-21,   0x1.845c8a0cebfdap-28,  0x1.27e4fb76f8e0fp-35,  0x1.522a440628375p-43,
    0x1.2c9757a6c5c8fp-51,   0x1.ab820c1cf261ap-60,  0x1.f173e8f72eaf0p-69,  0x1.e28bc3107b593p-78,
    0x1.8a127ce14d85dp-87,   0x1.2437134acb378p-96,  0x1.6f044c9b4ea20p-107, 0x1.7f608d028fffbp-114,
    -0x1.34c5483c4f675p-122, 0x1.5b1d1cdcd1665p-131,
};
/* e^-x i1(x) sqrt x in 16 / x - 1, x >= 8. Degree 7, bound 2^-33.1 */
static const double nxi_i1_large_wide[] = {
    0x1.8ebe783b145e0p-2,   -0x1.3f79621f3eeafp-7,  -0x1.cbc6031c8163ap-13, -0x1.f881332e2e454p-17,
    -0x1.ea1f10b2e815fp-20, -0x1.809a56d9dc6cap-22, -0x1.074cf3ff1f077p-23, -0x1.343d78c99395bp-25,
};
/* the same. Degree 26, bound 2^-56.1 */
static const double nxi_i1_large_f64[] = {
    0x1.8ebe783a84030p-2,   -0x1.3f796198ee620p-7,  -0x1.cbc54df1f867dp-13, -0x1.f89c230724290p-17,
    -0x1.ec8e0ed7e381fp-20, -0x1.76137bc60ce70p-22, -0x1.ad8f739cac116p-24, -0x1.727ba3b1f0d88p-25,
    -0x1.91304a244bbd6p-26, -0x1.21620e97b4aa9p-27, 0x1.c4ce5bbe9c2bbp-28,  0x1.e14352776e341p-27,
    0x1.c593fbec2e858p-28,  -0x1.037ff212da630p-27, -0x1.4d34819da9a3ep-27, 0x1.bba8e1b3d8cc9p-29,
    0x1.51860c99992d7p-27,  -0x1.39ce0f327940cp-30, -0x1.2991ae3f70edep-27, 0x1.fc25dfe42adcdp-33,
    0x1.a6956609f82ebp-28,  0x1.ca5798df7f5ecp-35,  -0x1.ac9ed4c27a916p-29, -0x1.d3cb2f88f82ecp-35,
    0x1.0bc489390ace8p-30,  0x1.9e3cfad2b437ep-37,  -0x1.3191c0cd8ea6ep-33,
};
/* j0(x) / (x^2 - z^2) in x^2 - 3.4, x <= 2.6. Degree 7, bound 2^-45.0 */
static const double nxi_j0_small_wide[] = {
    -0x1.0e3790eefb010p-3,  0x1.63439dd0e1a4dp-7,  -0x1.60536af76b966p-12, 0x1.75c3818401657p-18,
    -0x1.f06d25344f526p-25, 0x1.c49200772a0eap-32, -0x1.2d20a1526b59dp-39, 0x1.310b46479aea5p-47,
};
/* the same. Degree 13, bound 2^-52.8 */
static const double nxi_j0_small_f64[] = {
    -0x1.0e3790eefb08cp-3,  0x1.63439dd0e16dep-7,  -0x1.60536af73f99cp-12, 0x1.75c381850bf5ep-18,
    -0x1.f06d27a4acc81p-25, 0x1.c491f95984e9ep-32, -0x1.2d0a4c0813602p-39, 0x1.30a1323451028p-47,
    -0x1.0dda51dfcee50p-55, 0x1.81ab7be3449f3p-59, 0x1.fa7be8c965820p-63,  -0x1.98189f5dceaa5p-63,
    -0x1.d25b2b3bb5ef0p-68, 0x1.556778500737ap-68,
};
/* sqrt((j0^2 + y0^2) x) in 0.44 - 4 / (x + 2), x >= 2.6. Degree 9, bound 2^-32.8 */
static const double nxi_j0_modulus_wide[] = {
    0x1.98063cee51414p-1,   0x1.64ed907ce7b40p-8,  -0x1.5a403c79be33ap-7,  0x1.2c5a53e8c8307p-7,
    -0x1.6a6584d1cb5a3p-8,  0x1.74f71a602cffcp-9,  -0x1.a03abf0e02fe4p-10, 0x1.ee21e42e4564bp-11,
    -0x1.3c10573bcc271p-11, 0x1.6b94791ca9435p-12,
};
/* the same. Degree 19, bound 2^-53.9 */
static const double nxi_j0_modulus_f64[] = {
    0x1.98063cef31615p-1,   0x1.64ed8f6c0dcc2p-8,  -0x1.5a407620e0604p-7,  0x1.2c5a8a4f657e3p-7,
    -0x1.6a529f71a82cfp-8,  0x1.74de146f2b92cp-9,  -0x1.a488d2b6363d1p-10, 0x1.f2f6397538d41p-11,
    -0x1.09aefdafd5d3ap-11, 0x1.3712248886f99p-12, -0x1.7fd93027abcb5p-13, 0x1.828241dab9276p-14,
    -0x1.07e1283ee82dap-14, 0x1.3bd9a33b475adp-15, -0x1.86f3a06a41225p-17, 0x1.0c612a4a3b35bp-16,
    -0x1.c962010515588p-17, 0x1.0e4fcab9c9705p-17, 0x1.b1880a3ea686fp-20,  -0x1.2f2a27ca30846p-17,
};
/* (arg(j0 + i y0) - x + 1 pi / 4) x, likewise. Degree 9, bound 2^-31.7 */
static const double nxi_j0_phase_wide[] = {
    -0x1.fafe73c0d0969p-4,  -0x1.ba364b93ffe90p-8,  0x1.8ffbdace5cefbp-7,  -0x1.113a7b59eaeeap-7,
    0x1.54fe0e2f70b05p-9,   -0x1.8f54c7a556d7ep-12, 0x1.06856c0f8261cp-11, -0x1.33bed44cc920dp-12,
    -0x1.c069512383d35p-18, -0x1.0f5b9912a087dp-14,
};
/* the same. Degree 20, bound 2^-55.6 */
static const double nxi_j0_phase_f64[] = {
    -0x1.fafe73c30da78p-4,  -0x1.ba364cc2c988bp-8,  0x1.8ffbed0770b47p-7,   -0x1.113a45969dbedp-7,
    0x1.54f24402571dfp-9,   -0x1.8fff3185b63fdp-12, 0x1.09277b3bbcf2ap-11,  -0x1.2ce62185b5d13p-12,
    -0x1.2418bf007d36fp-15, -0x1.89411b6ac3d90p-14, 0x1.74270f231d025p-15,  0x1.7adf3563edbb7p-15,
    0x1.d1514338535b4p-15,  0x1.e5e5b1e97184cp-17,  -0x1.f6fb1437f06d5p-17, -0x1.8031e68e3ffe1p-15,
    -0x1.f34723790360fp-15, -0x1.af177a524c3f8p-16, 0x1.ae5117f9e729cp-15,  0x1.f65cadb07ac34p-15,
    0x1.16828758bbf32p-17,
};
/* j1(x) / x, likewise. Degree 7, bound 2^-42.1 */
static const double nxi_j1_small_wide[] = {
    0x1.43222242aa793p-2,  -0x1.7d80e17214ab3p-5,  0x1.12aecefd948e9p-9,  -0x1.7f01a89c9e281p-15,
    0x1.3b8868e250911p-21, -0x1.57a1bf256b6c6p-28, 0x1.09fe99f6c0843p-35, -0x1.32dba69a7f16ap-43,
};
/* the same. Degree 13, bound 2^-54.7 */
static const double nxi_j1_small_f64[] = {
    0x1.43222242aabbap-2,   -0x1.7d80e17212931p-5,  0x1.12aecefd33fb8p-9,  -0x1.7f01a8a24a77dp-15,
    0x1.3b886b940b825p-21,  -0x1.57a1a0aa00f10p-28, 0x1.09e62c47e4963p-35, -0x1.3393442e2e580p-43,
    0x1.1307fd539dc0ep-51,  0x1.17b23ef0df7a3p-62,  0x1.369257feb24afp-63, -0x1.fe130311e1555p-64,
    -0x1.1659fe93535d1p-68, 0x1.ae8af72f1d021p-69,
};
/* sqrt((j1^2 + y1^2) x) in 0.44 - 4 / (x + 2), x >= 2.6. Degree 9, bound 2^-30.2 */
static const double nxi_j1_modulus_wide[] = {
    0x1.9a02e06b6534ep-1, -0x1.119b4bbb4fed1p-6, 0x1.112ac12597c42p-5, -0x1.025e6460b5bb5p-5,
    0x1.7091334653aa9p-6, -0x1.cd28867616abdp-7, 0x1.1702f361d3525p-7, -0x1.539a3f58c75b1p-8,
    0x1.e432f8042ed92p-9, -0x1.2228bf8338543p-9,
};
/* the same. Degree 19, bound 2^-56.4 */
static const double nxi_j1_modulus_f64[] = {
    0x1.9a02e065f6747p-1,  -0x1.119b49c696504p-6,  0x1.112b1ad6f11b3p-5,  -0x1.025ec7f2e30e7p-5,
    0x1.7073c5421a9a5p-6,  -0x1.ccfadb337915cp-7,  0x1.1a5cddbeb7b31p-7,  -0x1.57fc31fbed549p-8,
    0x1.95f48407d907ep-9,  -0x1.e5a6ab5a2f469p-10, 0x1.274a1c2544f25p-10, -0x1.5b9239139f2bbp-11,
    0x1.af0ad457a4cb2p-12, -0x1.094ff3b9cce91p-12, 0x1.35439c9847795p-13, -0x1.afc8f425baccep-14,
    0x1.c11da3b37128fp-15, -0x1.dc0d9aece31e9p-16, 0x1.3e41a9e86fa3ep-15, -0x1.41616d1cd97a4p-16,
};
/* (arg(j1 + i y1) - x + 3 pi / 4) x, likewise. Degree 9, bound 2^-34.3 */
static const double nxi_j1_phase_wide[] = {
    0x1.7ccb2158a9ad8p-2,   0x1.1f9dd263e4561p-6,  -0x1.0f895a8eb01bap-5, 0x1.af88523146130p-6,
    -0x1.a8beee505684ap-7,  0x1.3df7eba1d9fc0p-8,  -0x1.237e4d6de376fp-9, 0x1.d8176d57b88dcp-11,
    -0x1.e713ae0038d0fp-15, 0x1.ab0f5c23ec3f8p-23,
};
/* the same. Degree 20, bound 2^-53.6 */
static const double nxi_j1_phase_f64[] = {
    0x1.7ccb2158c1e00p-2,   0x1.1f9dd2cb18e06p-6,   -0x1.0f895b7535190p-5,  0x1.af882afffafebp-6,
    -0x1.a8be4f77f97fcp-7,  0x1.3e08aceaaa5edp-8,   -0x1.23a2f72bb75dap-9,  0x1.d237ee45b8305p-11,
    -0x1.b517970d6aa09p-15, 0x1.cf1b53333d2bep-15,  -0x1.65ba3736bb742p-18, -0x1.926c4cf6e7a39p-14,
    -0x1.24231643ec63fp-15, -0x1.60923b569ab29p-16, 0x1.791626d389bc4p-16,  0x1.666f23dbda562p-15,
    0x1.726a03b7e34dap-14,  0x1.754819c2b51bfp-15,  -0x1.f09261acc6bb5p-14, -0x1.79af56c5acf47p-14,
    0x1.bbbf0e8471dd6p-15,
};

#endif
