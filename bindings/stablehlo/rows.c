/* SPDX-License-Identifier: ISC */
/* One row an operation: by what it is recorded, in alphabetical order. */
#include "record.h"

#include <string.h>

#define UNARY(name, f)              \
  {                                 \
    name, nxh_unary, { .unary = f } \
  }
#define BINARY(name, f)               \
  {                                   \
    name, nxh_binary, { .binary = f } \
  }
#define LOGIC(name, f)               \
  {                                  \
    name, nxh_logic, { .binary = f } \
  }
#define OTHER(name, f) {name, f, {.number = 0}}

static const nxh_row rows[] = {
    OTHER("builtin.unrealized_conversion_cast", nxh_constrain),
    UNARY("chlo.acos", nx_acos),
    UNARY("chlo.acosh", nx_acosh),
    UNARY("chlo.asin", nx_asin),
    UNARY("chlo.asinh", nx_asinh),
    UNARY("chlo.atan", nx_atan),
    UNARY("chlo.atanh", nx_atanh),
    UNARY("chlo.bessel_i1e", nx_i1e),
    OTHER("chlo.broadcast_add", nxh_implicit),
    OTHER("chlo.broadcast_and", nxh_implicit),
    OTHER("chlo.broadcast_atan2", nxh_implicit),
    OTHER("chlo.broadcast_compare", nxh_implicit),
    OTHER("chlo.broadcast_complex", nxh_implicit),
    OTHER("chlo.broadcast_divide", nxh_implicit),
    OTHER("chlo.broadcast_maximum", nxh_implicit),
    OTHER("chlo.broadcast_minimum", nxh_implicit),
    OTHER("chlo.broadcast_multiply", nxh_implicit),
    OTHER("chlo.broadcast_next_after", nxh_implicit),
    OTHER("chlo.broadcast_or", nxh_implicit),
    OTHER("chlo.broadcast_polygamma", nxh_implicit),
    OTHER("chlo.broadcast_power", nxh_implicit),
    OTHER("chlo.broadcast_remainder", nxh_implicit),
    OTHER("chlo.broadcast_select", nxh_implicit),
    OTHER("chlo.broadcast_shift_left", nxh_implicit),
    OTHER("chlo.broadcast_shift_right_arithmetic", nxh_implicit),
    OTHER("chlo.broadcast_shift_right_logical", nxh_implicit),
    OTHER("chlo.broadcast_subtract", nxh_implicit),
    OTHER("chlo.broadcast_xor", nxh_implicit),
    OTHER("chlo.broadcast_zeta", nxh_implicit),
    UNARY("chlo.conj", nx_conj),
    OTHER("chlo.constant_like", nxh_constant_like),
    UNARY("chlo.cosh", nx_cosh),
    UNARY("chlo.digamma", nx_digamma),
    UNARY("chlo.erf", nx_erf),
    UNARY("chlo.erf_inv", nx_erfinv),
    UNARY("chlo.erfc", nx_erfc),
    UNARY("chlo.is_inf", nx_isinf),
    {"chlo.is_neg_inf", nxh_infinite, {.number = -1}},
    {"chlo.is_pos_inf", nxh_infinite, {.number = 1}},
    UNARY("chlo.lgamma", nx_lgamma),
    OTHER("chlo.mulhi", nxh_mulhi),
    BINARY("chlo.next_after", nx_nextafter),
    BINARY("chlo.polygamma", nx_polygamma),
    OTHER("chlo.ragged_dot", nxh_ragged_dot),
    OTHER("chlo.scan", nxh_scan),
    UNARY("chlo.sinh", nx_sinh),
    UNARY("chlo.square", nx_square),
    UNARY("chlo.tan", nx_tan),
    OTHER("chlo.top_k", nxh_top_k),
    BINARY("chlo.zeta", nx_zeta),
    OTHER("func.call", nxh_call),
    OTHER("sdy.manual_computation", nxh_manual),
    OTHER("sdy.sharding_constraint", nxh_constrain),
    OTHER("sdy.sharding_group", nxh_nothing),
    OTHER("stablehlo.abs", nxh_abs),
    LOGIC("stablehlo.add", nx_add),
    OTHER("stablehlo.after_all", nxh_nothing),
    OTHER("stablehlo.all_gather", nxh_all_gather),
    OTHER("stablehlo.all_reduce", nxh_all_reduce),
    OTHER("stablehlo.all_to_all", nxh_all_to_all),
    LOGIC("stablehlo.and", nx_and),
    {"stablehlo.atan2", nxh_atan2, {.binary = nx_atan2}},
    {"stablehlo.batch_norm_grad", nxh_batch_norm, {.number = 2}},
    {"stablehlo.batch_norm_inference", nxh_batch_norm, {.number = 0}},
    {"stablehlo.batch_norm_training", nxh_batch_norm, {.number = 1}},
    OTHER("stablehlo.bitcast_convert", nxh_bitcast),
    OTHER("stablehlo.broadcast", nxh_broadcast),
    OTHER("stablehlo.broadcast_in_dim", nxh_broadcast),
    OTHER("stablehlo.case", nxh_case),
    {"stablehlo.cbrt", nxh_cbrt, {.unary = nx_cbrt}},
    UNARY("stablehlo.ceil", nx_ceil),
    OTHER("stablehlo.cholesky", nxh_cholesky),
    OTHER("stablehlo.clamp", nxh_clamp),
    OTHER("stablehlo.collective_broadcast", nxh_collective_broadcast),
    OTHER("stablehlo.collective_permute", nxh_collective_permute),
    OTHER("stablehlo.collective_reduce", nxh_collective_reduce),
    OTHER("stablehlo.compare", nxh_compare),
    BINARY("stablehlo.complex", nx_complex),
    OTHER("stablehlo.composite", nxh_composite),
    OTHER("stablehlo.concatenate", nxh_concatenate),
    OTHER("stablehlo.constant", nxh_fill),
    OTHER("stablehlo.convert", nxh_convert),
    OTHER("stablehlo.convolution", nxh_convolution),
    UNARY("stablehlo.cosine", nx_cos),
    UNARY("stablehlo.count_leading_zeros", nx_clz),
    OTHER("stablehlo.create_token", nxh_nothing),
    OTHER("stablehlo.cross-replica-sum", nxh_all_reduce),
    OTHER("stablehlo.custom_call", nxh_custom_call),
    {"stablehlo.divide", nxh_divide, {.binary = nx_div}},
    OTHER("stablehlo.dot", nxh_dot),
    OTHER("stablehlo.dot_general", nxh_dot),
    OTHER("stablehlo.dynamic_broadcast_in_dim", nxh_dynamic_broadcast),
    OTHER("stablehlo.dynamic_conv", nxh_dynamic_conv),
    OTHER("stablehlo.dynamic_gather", nxh_dynamic_gather),
    OTHER("stablehlo.dynamic_iota", nxh_dynamic_iota),
    OTHER("stablehlo.dynamic_pad", nxh_dynamic_pad),
    OTHER("stablehlo.dynamic_reshape", nxh_dynamic_reshape),
    OTHER("stablehlo.dynamic_slice", nxh_dynamic_slice),
    OTHER("stablehlo.dynamic_update_slice", nxh_dynamic_update),
    OTHER("stablehlo.einsum", nxh_einsum),
    UNARY("stablehlo.exponential", nx_exp),
    UNARY("stablehlo.exponential_minus_one", nx_expm1),
    OTHER("stablehlo.fft", nxh_fft),
    UNARY("stablehlo.floor", nx_floor),
    OTHER("stablehlo.gather", nxh_gather),
    OTHER("stablehlo.get_dimension_size", nxh_extent),
    OTHER("stablehlo.if", nxh_if),
    UNARY("stablehlo.imag", nx_imag),
    {"stablehlo.infeed", nxh_exchange, {.number = NXH_INFEED}},
    OTHER("stablehlo.iota", nxh_iota),
    UNARY("stablehlo.is_finite", nx_isfinite),
    UNARY("stablehlo.log", nx_log),
    UNARY("stablehlo.log_plus_one", nx_log1p),
    UNARY("stablehlo.logistic", nx_logistic),
    OTHER("stablehlo.map", nxh_map),
    LOGIC("stablehlo.maximum", nx_max),
    LOGIC("stablehlo.minimum", nx_min),
    LOGIC("stablehlo.multiply", nx_mul),
    UNARY("stablehlo.negate", nx_neg),
    UNARY("stablehlo.not", nx_not),
    OTHER("stablehlo.optimization_barrier", nxh_identity),
    BINARY("stablehlo.or", nx_or),
    {"stablehlo.outfeed", nxh_exchange, {.number = NXH_OUTFEED}},
    OTHER("stablehlo.pad", nxh_pad),
    {"stablehlo.partition_id", nxh_own_number, {.number = 1}},
    UNARY("stablehlo.popcnt", nx_popcount),
    BINARY("stablehlo.power", nx_pow),
    UNARY("stablehlo.real", nx_real),
    OTHER("stablehlo.real_dynamic_slice", nxh_real_dynamic_slice),
    {"stablehlo.recv", nxh_exchange, {.number = NXH_RECV}},
    OTHER("stablehlo.reduce", nxh_reduce),
    OTHER("stablehlo.reduce_precision", nxh_precision),
    OTHER("stablehlo.reduce_scatter", nxh_reduce_scatter),
    OTHER("stablehlo.reduce_window", nxh_reduce_window),
    {"stablehlo.remainder", nxh_remainder, {.binary = nx_mod}},
    {"stablehlo.replica_id", nxh_own_number, {.number = 0}},
    OTHER("stablehlo.reshape", nxh_reshape),
    OTHER("stablehlo.reverse", nxh_reverse),
    OTHER("stablehlo.rng", nxh_rng),
    OTHER("stablehlo.rng_bit_generator", nxh_rng_bits),
    UNARY("stablehlo.round_nearest_afz", nx_round),
    UNARY("stablehlo.round_nearest_even", nx_rint),
    UNARY("stablehlo.rsqrt", nx_rsqrt),
    OTHER("stablehlo.scatter", nxh_scatter),
    OTHER("stablehlo.select", nxh_select),
    OTHER("stablehlo.select_and_scatter", nxh_select_and_scatter),
    {"stablehlo.send", nxh_exchange, {.number = NXH_SEND}},
    OTHER("stablehlo.set_dimension_size", nxh_set_extent),
    BINARY("stablehlo.shift_left", nx_shl),
    BINARY("stablehlo.shift_right_arithmetic", nx_shr_arithmetic),
    BINARY("stablehlo.shift_right_logical", nx_shr_logical),
    {"stablehlo.sign", nxh_sign, {.unary = nx_sign}},
    UNARY("stablehlo.sine", nx_sin),
    OTHER("stablehlo.slice", nxh_slice),
    OTHER("stablehlo.sort", nxh_sort),
    UNARY("stablehlo.sqrt", nx_sqrt),
    BINARY("stablehlo.subtract", nx_sub),
    UNARY("stablehlo.tan", nx_tan),
    UNARY("stablehlo.tanh", nx_tanh),
    OTHER("stablehlo.torch_index_select", nxh_index_select),
    OTHER("stablehlo.transpose", nxh_transpose),
    OTHER("stablehlo.triangular_solve", nxh_triangular_solve),
    OTHER("stablehlo.unary_einsum", nxh_unary_einsum),
    OTHER("stablehlo.uniform_dequantize", nxh_requantize),
    OTHER("stablehlo.uniform_quantize", nxh_requantize),
    OTHER("stablehlo.while", nxh_while),
    BINARY("stablehlo.xor", nx_xor),
};
enum { ROWS = sizeof rows / sizeof *rows };

static int order(nxh_word a, const char *b) {
  size_t n = strlen(b), both = a.length < n ? a.length : n;
  int c = memcmp(a.at, b, both);
  return c != 0 ? c : (a.length > n) - (a.length < n);
}

const nxh_row *nxh_find_row(nxh_word name) {
  size_t low = 0, high = ROWS;
  while (low < high) {
    size_t middle = (low + high) / 2;
    int c = order(name, rows[middle].name);
    if (c == 0) return &rows[middle];
    if (c < 0) high = middle;
    else low = middle + 1;
  }
  return NULL;
}

const nxh_row *nxh_row_of(const nxh_op *op) {
  const nxh_row *row = nxh_find_row(op->name);
  if (row == NULL || row->record != nxh_custom_call) return row;
  const nxh_word target = nxh_name(op, "call_target_name");
  static const char chlo[] = "chlo.";
  if (target.length < sizeof chlo || memcmp(target.at, chlo, sizeof chlo - 1) != 0) return row;
  const nxh_row *named = nxh_find_row(target);
  const bool function =
      named != NULL &&
      (named->record == nxh_unary || named->record == nxh_binary || named->record == nxh_mulhi);
  return function ? named : row;
}
