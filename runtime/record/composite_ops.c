/* SPDX-License-Identifier: ISC */
/* Under which name operations fail: that of what the caller called, also where it is recorded as
 * others. While such an operation records, its thread knows its number (error.c), nodes that are
 * made keep it for when they fail, and what is reported is said in its name. */
#include <stdio.h>
#include <string.h>

#include "error.h"

const char *nxi_op_name(uint32_t op) {
  if (op < NXG_OP_COUNT) return nxg_ops[op].name;
  switch (op) {
    case NXI_OP_EMPTY: return "empty";
    case NXI_OP_PLACEHOLDER: return "placeholder";
    case NXI_OP_TRANSFER: return "to_device";
#define COMPOSITE_OP(name, how) \
  case NXI_COMPOSITE_##name: return #name;
#include "composite_ops.def"
#undef COMPOSITE_OP
    default: return "function"; /* a result of a call, or what a captured one reads */
  }
}

static bool has_parts(uint16_t op) {
  enum { SAME, PARTS };
  switch (op) {
    case NXG_copy: return SAME; /* of a view, or of what the host may write */
#define COMPOSITE_OP(name, how) \
  case NXI_COMPOSITE_##name: return how;
#include "composite_ops.def"
#undef COMPOSITE_OP
    default: return PARTS;
  }
}

void nxi_called_diag(nxi_diag *d, uint16_t op) {
  const char *name = nxi_op_name(op), *rest = d->message;
  char sentence[sizeof d->message];
  size_t n = strlen(d->op);
  if (!op || !n || !strcmp(d->op, name)) return;
  bool parts = has_parts(op) && d->status != NX_OUT_OF_MEMORY; /* that it lacks itself */
  if (!strncmp(rest, d->op, n) && rest[n] == ':' && rest[n + 1] == ' ') rest += n + 2;
  snprintf(sentence, sizeof sentence, "%.31s: %s%s%s%.400s", name, parts ? "in its " : "",
           parts ? d->op : "", parts ? ": " : "", rest);
  memcpy(d->message, sentence, sizeof sentence);
  snprintf(d->op, sizeof d->op, "%s", name);
  if (has_parts(op)) d->operand = -1; /* it is none of the caller's */
}
