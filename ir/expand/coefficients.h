/* SPDX-License-Identifier: ISC */
/* The polynomials of the function expansions, lowest degree first, made by
 * tools/fit_coefficients.py; the bound is the relative error that the polynomial alone leaves in
 * the function. */
#ifndef NXI_EXPAND_COEFFICIENTS_H
#define NXI_EXPAND_COEFFICIENTS_H

/* (e^r - 1 - r) / r^2, |r| <= ln2/2. Degree 4, bound 2^-26.1 */
static const double nxi_exp_f32[] = {
    0x1.0000000000000p-1, 0x1.5554ae0000000p-3,  0x1.5554e20000000p-5,
    0x1.1229040000000p-7, 0x1.6d53be0000000p-10,
};
/* the same. Degree 9, bound 2^-55.5 */
static const double nxi_exp_f64[] = {
    0x1.0000000000005p-1,  0x1.555555555555cp-3,  0x1.55555555520c5p-5,  0x1.111111110e806p-7,
    0x1.6c16c17f4fd95p-10, 0x1.a01a01b58b48dp-13, 0x1.a019a6224adafp-16, 0x1.71ddea74ce0d1p-19,
    0x1.28a320e813c27p-22, 0x1.af764cd9ec513p-26,
};
/* (log(1+f) - f + f^2/2) / f^3, sqrt(1/2) <= 1+f <= sqrt 2. Degree 7, bound 2^-27.3 */
static const double nxi_log_f32[] = {
    0x1.55554a0000000p-2, -0x1.00021c0000000p-2, 0x1.99a5820000000p-3, -0x1.54795c0000000p-3,
    0x1.2272540000000p-3, -0x1.0cde280000000p-3, 0x1.07ae9e0000000p-3, -0x1.419be20000000p-4,
};
/* the same, for f32 functions that work in f64. Degree 8, bound 2^-30.3 */
static const double nxi_log_wide[] = {
    0x1.55554611455bbp-2,  -0x1.fffff23ed0de7p-3, 0x1.99a5377bd1528p-3,
    -0x1.55620861a2b5fp-3, 0x1.233363bc03a77p-3,  -0x1.fb5f5f10171a1p-4,
    0x1.e65ff5c242a6bp-4,  -0x1.e252908713495p-4, 0x1.1a7634b568df3p-4,
};
/* (2 atanh s - 2 s) / s^3 in s^2, |s| <= 0.1716. Degree 6, bound 2^-59.5 */
static const double nxi_log_f64[] = {
    0x1.5555555555593p-1, 0x1.999999997fb5bp-2, 0x1.2492494209e50p-2, 0x1.c71c51f93d032p-3,
    0x1.746641b3894aep-3, 0x1.39a17bb873b04p-3, 0x1.2f079bd5347ebp-3,
};
/* (sin r - r) / r^3 in r^2, |r| <= pi/4. Degree 3, bound 2^-32.4 */
static const double nxi_sin_f32[] = {
    -0x1.5555560000000p-3,
    0x1.1111740000000p-7,
    -0x1.a0587e0000000p-13,
    0x1.7bd02a0000000p-19,
};
/* the same. Degree 6, bound 2^-62.7 */
static const double nxi_sin_f64[] = {
    -0x1.5555555555555p-3,  0x1.1111111111060p-7,  -0x1.a01a019ffbd5fp-13, 0x1.71de3a2ff13a6p-19,
    -0x1.ae642755b0f03p-26, 0x1.61069cec751a0p-33, -0x1.9e7fde49bc736p-41,
};
/* (cos r - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4. Degree 2, bound 2^-33.1 */
static const double nxi_cos_f32[] = {
    0x1.55554a0000000p-5,
    -0x1.6c0c2c0000000p-10,
    0x1.99e9c20000000p-16,
};
/* the same. Degree 5, bound 2^-64.1 */
static const double nxi_cos_f64[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c1502ep-10, 0x1.a01a019c92d8fp-16,
    -0x1.27e4f7f4a7c7bp-22, 0x1.1ee9ddfb70452p-29,  -0x1.8fa79d5801839p-37,
};
/* (asin x - x) / x^3 in x^2, |x| <= 1/2. Degree 4, bound 2^-27.5 */
static const double nxi_asin_f32[] = {
    0x1.5555ca0000000p-3, 0x1.33015a0000000p-4, 0x1.748d200000000p-5,
    0x1.8b8f060000000p-6, 0x1.59f1ae0000000p-5,
};
/* the same. Degree 12, bound 2^-59.8 */
static const double nxi_asin_f64[] = {
    0x1.5555555555578p-3, 0x1.333333332df3ep-4, 0x1.6db6db72293aap-5, 0x1.f1c71a8c67b1fp-6,
    0x1.6e8bdfd1680f3p-6, 0x1.1c49df68fa0aep-6, 0x1.ca212473a0d9ep-7, 0x1.7578843f87558p-7,
    0x1.6185953edfb4dp-7, 0x1.e1a5655b7e7b2p-9, 0x1.64ec74967f081p-6, -0x1.59d94e8331a08p-6,
    0x1.0bdba2f6116fbp-5,
};
/* (atan x - x) / x^3 in x^2, |x| <= 1. Degree 7, bound 2^-25.9 */
static const double nxi_atan_f32[] = {
    -0x1.5554e60000000p-2, 0x1.997aee0000000p-3, -0x1.231bf20000000p-3, 0x1.b56d0a0000000p-4,
    -0x1.3688e80000000p-4, 0x1.64deb60000000p-5, -0x1.0fc3300000000p-6, 0x1.8613aa0000000p-9,
};
/* the same, |x| <= 1/2. Degree 13, bound 2^-65.6 */
static const double nxi_atan_f64[] = {
    -0x1.5555555555555p-2, 0x1.99999999998bdp-3, -0x1.249249248bcb4p-3, 0x1.c71c71c3f4e9ep-4,
    -0x1.745d16cfeb7e3p-4, 0x1.3b13a5f988da9p-4, -0x1.111053adaca24p-4, 0x1.e1d030890b9cfp-5,
    -0x1.ae8f3f52b00a1p-5, 0x1.825066ec780e3p-5, -0x1.52bf4e62a51fap-5, 0x1.0da92507b2708p-5,
    -0x1.4c70e0ba0a205p-6, 0x1.c0d4b86936482p-8,
};
/* (sinh r - r) / r^3 in r^2, |r| <= ln2/2. Degree 2, bound 2^-34.3 */
static const double nxi_sinh_f32[] = {
    0x1.5555560000000p-3,
    0x1.110fc60000000p-7,
    0x1.a2cdac0000000p-13,
};
/* the same. Degree 5, bound 2^-64.6 */
static const double nxi_sinh_f64[] = {
    0x1.5555555555555p-3,  0x1.11111111113a1p-7,  0x1.a01a019e8768cp-13,
    0x1.71de40fc93ec4p-19, 0x1.ae4af021850d7p-26, 0x1.855136fec4999p-33,
};
/* (cosh r - 1) / r^2 in r^2, |r| <= ln2/2. Degree 2, bound 2^-33.1 */
static const double nxi_cosh_f32[] = {
    0x1.0000000000000p-1,
    0x1.5554e20000000p-5,
    0x1.6d53be0000000p-10,
};
/* the same. Degree 5, bound 2^-69.9 */
static const double nxi_cosh_f64[] = {
    0x1.0000000000000p-1,  0x1.5555555555558p-5,  0x1.6c16c16c14fe4p-10,
    0x1.a01a01ad8cda8p-16, 0x1.27e4cbe87950ep-22, 0x1.1f8c290b0dc55p-29,
};
/* ((e^2r - 1) / 2 - r) / r^2, |r| <= ln2/4. Degree 4, bound 2^-26.1 */
static const double nxi_expm1_2_f32[] = {
    0x1.0000000000000p+0, 0x1.5554ae0000000p-1, 0x1.5554e20000000p-2,
    0x1.1229040000000p-3, 0x1.6d53be0000000p-5,
};
/* the same. Degree 9, bound 2^-55.5 */
static const double nxi_expm1_2_f64[] = {
    0x1.0000000000005p+0,  0x1.555555555555cp-1,  0x1.55555555520c5p-2, 0x1.111111110e806p-3,
    0x1.6c16c17f4fd95p-5,  0x1.a01a01b58b48dp-7,  0x1.a019a6224adafp-9, 0x1.71ddea74ce0d1p-11,
    0x1.28a320e813c27p-13, 0x1.af764cd9ec513p-16,
};
/* (atanh x - x) / x^3 in x^2, |x| <= 1/3. Degree 4, bound 2^-32.9 */
static const double nxi_atanh_f32[] = {
    0x1.5555580000000p-2, 0x1.9996d60000000p-3, 0x1.2505660000000p-3,
    0x1.b722f00000000p-4, 0x1.f0af1e0000000p-4,
};
/* the same. Degree 9, bound 2^-59.3 */
static const double nxi_atanh_f64[] = {
    0x1.5555555555534p-2, 0x1.99999999a09b4p-3, 0x1.249249207aa9ep-3, 0x1.c71c7424aff68p-4,
    0x1.745cb2e79638ep-4, 0x1.3b1df21a25992p-4, 0x1.1066a36dc55acp-4, 0x1.efe9c70be1f95p-5,
    0x1.556644185ac07p-5, 0x1.5cbceb9bc00bap-4,
};
/* (asinh x - x) / x^3 in x^2, |x| <= 1/2. Degree 11, bound 2^-60.4 */
static const double nxi_asinh_f64[] = {
    -0x1.5555555555541p-3, 0x1.3333333330777p-4, -0x1.6db6db6ba7fa0p-5, 0x1.f1c71baa4487ap-6,
    -0x1.6e8b8cb478f0ep-6, 0x1.1c4d307588855p-6, -0x1.c972fa54c1dcdp-7, 0x1.79424b60b00c5p-7,
    -0x1.386bbdcd0468ep-7, 0x1.e94be77fd1db2p-8, -0x1.372d84d34509dp-8, 0x1.c27f80ca8ff3ap-10,
};
/* (2 - 2 sqrt(erfc t)) / t - 0x1.20dd76p+0, 0 <= t <= 3.9. Degree 13, bound 2^-28.4 */
static const double nxi_erf_f32[] = {
    -0x1.ddf9a60000000p-25, 0x1.45f2f40000000p-2,  -0x1.9280e00000000p-3,  -0x1.5e88240000000p-4,
    0x1.1117760000000p-5,   0x1.e683660000000p-7,  -0x1.4e928e0000000p-8,  -0x1.2808280000000p-10,
    -0x1.ae89e80000000p-13, 0x1.791bec0000000p-11, -0x1.4b53500000000p-12, 0x1.11ce940000000p-14,
    -0x1.cce49e0000000p-18, 0x1.40961e0000000p-22,
};
/* (4 - 4 erfc(t)^(1/4) - t 2/sqrt(pi)) / t^2, 0 <= t <= 6. Degree 25, bound 2^-58.8 */
static const double nxi_erf_f64[] = {
    0x1.e8ec8a4aeacbap-2,   -0x1.faaa98f05a097p-5,  -0x1.312cfb3052a8ap-4,  0x1.4057e7183fb32p-8,
    0x1.fe31ff1bbb8ebp-8,   -0x1.c691e7134e8f1p-11, -0x1.fe6b79418fca7p-12, 0x1.ee158d0e42a3cp-14,
    -0x1.2cef2569846dfp-19, -0x1.17403afcf2622p-18, 0x1.9c9c5dafb2dfap-19,  -0x1.1ca6235aaf86bp-20,
    -0x1.9ccecf8c85319p-23, 0x1.9d9279ad9e908p-22,  -0x1.e1defcd6c3292p-23, 0x1.7946e3f439864p-24,
    -0x1.c5035485faa92p-26, 0x1.b191139b321b9p-28,  -0x1.4dd14273ca6c8p-30, 0x1.9c130b3e2aa67p-33,
    -0x1.92dc2c70b837ap-36, 0x1.313bca4d1d0e8p-39,  -0x1.59e204ef21a33p-43, 0x1.13e2d43ee54ebp-47,
    -0x1.143d5e28e6476p-52, 0x1.0512202a35a68p-58,
};
/* (x + 5/4) e^x^2 erfc x in 1 / (x + 5/4) - 0x1.ff8p-3, x <= 10.07. Degree 11, bound 2^-26.2 */
static const double nxi_erfc_f32[] = {
    0x1.8c805c0000000p-1,  0x1.e5a0ea0000000p-1,  0x1.0024a20000000p-2,  -0x1.c0cefc0000000p-1,
    -0x1.3405860000000p-2, 0x1.9da0380000000p+0,  -0x1.a637e20000000p-2, -0x1.93ecfc0000000p+1,
    0x1.2b720e0000000p+2,  -0x1.36cbf80000000p+0, -0x1.49c2f60000000p+1, 0x1.d160600000000p+0,
};
/* log2(1+f) / f, for pow f32 in f64. Degree 13, bound 2^-37.9 */
static const double nxi_log2_wide[] = {
    0x1.71547652b6087p+0, -0x1.71547651967dcp-1, 0x1.ec709ddd0b012p-2, -0x1.715478bf87d55p-2,
    0x1.2776b9aac8937p-2, -0x1.ec6f157fa409ap-3, 0x1.a61a7b5b88eb8p-3, -0x1.718abdb0aac31p-3,
    0x1.4834f2d9f8e95p-3, -0x1.23cd99f9f5dbdp-3, 0x1.09fa417cdb042p-3, -0x1.133c44a174cefp-3,
    0x1.128581673078dp-3, -0x1.25a28704621a0p-4,
};
/* (2^r - 1) / r, |r| <= 1/2. Degree 6, bound 2^-34.2 */
static const double nxi_exp2_wide[] = {
    0x1.62e42fef7d8dbp-1,  0x1.ebfbe07d482d2p-3,  0x1.c6b08defaf856p-5,  0x1.3b29eeb635c30p-7,
    0x1.5d8726eed9064p-10, 0x1.44602ecae4524p-13, 0x1.00f00811fad6fp-16,
};
/* (2^r - 1) / r, |r| <= 1/2. Degree 6, bound 2^-32.3 */
static const double nxi_exp2_f32[] = {
    0x1.62e4300000000p-1,  0x1.ebfbe00000000p-3,  0x1.c6b0740000000p-5,  0x1.3b2a600000000p-7,
    0x1.5d9c760000000p-10, 0x1.440a680000000p-13, 0x1.ed161e0000000p-17,
};
/* the same. Degree 11, bound 2^-59.1 */
static const double nxi_exp2_f64[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a1eap-5,  0x1.3b2ab6fba4d3cp-7,
    0x1.5d87fe786e794p-10, 0x1.430912f8caebep-13, 0x1.ffcbfd681af57p-17, 0x1.62c020bd1ad9bp-20,
    0x1.b522f075a63a2p-24, 0x1.e4d4959b13202p-28, 0x1.ecd3794eb373bp-32, 0x1.bd48c5b6911fap-36,
};
/* (1+f)^(-1/3), sqrt(1/2) <= 1+f <= sqrt 2. Degree 4, bound 2^-14.7 */
static const double nxi_cbrt_f32[] = {
    0x1.fffce80000000p-1,  -0x1.54e4520000000p-2, 0x1.cb7bb40000000p-3,
    -0x1.82d9ea0000000p-3, 0x1.06f3a40000000p-3,
};
/* the same. Degree 5, bound 2^-17.4 */
static const double nxi_cbrt_f64[] = {
    0x1.00004058692cdp+0,  -0x1.55426face7bcbp-2, 0x1.c5da181b2cd9dp-3,
    -0x1.6815beddf51d8p-3, 0x1.4874cee1bb291p-3,  -0x1.ba44f4a99c4c4p-4,
};
/* (log2((1+s)/(1-s)) / s - (1 + s^2/3) 2/ln2) / s^4, |s| <= 0.172. Degree 7, bound 2^-71.6 */
static const double nxi_log2_ratio_f64[] = {
    0x1.2776c50ef9bfbp-1, 0x1.a61762a7af1fdp-2, 0x1.484b13d677a0cp-2, 0x1.0c9a8551422dap-2,
    0x1.c68edecaa9969p-3, 0x1.8a0b279fee975p-3, 0x1.58e223655a998p-3, 0x1.62bdc474219e4p-3,
};

#endif
