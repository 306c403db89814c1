/* SPDX-License-Identifier: ISC */
/* Scans by an operation of the library. The largest and the least complex number so far are no scan
 * of the graph: they are recorded as the scan of a combiner is (scan_by.c), and since every order
 * gives the same bits, so does that one. */
#include "body.h"

static bool is_recorded(nx_tensor *x, nx_scan_op op) {
  return !nxi_is_complex(x->storage->dtype) || op == NX_SCAN_SUM || op == NX_SCAN_PROD;
}

static nx_tensor *scan_complex(nx_tensor *x, nx_scan_op op, int32_t axis) {
  nxi_row r = {{x}};
  nxi_body b;
  nx_tensor *out = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (x->rank == NXG_MAX_RANK) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "associative_scan",
             "associative_scan: complex numbers of rank %d, and one axis on the way", NXG_MAX_RANK);
    return nxi_fail_null(&d);
  }
  if (!nxi_body_begin_plain(&b, NXI_COMPOSITE_associative_scan, x,
                            op == NX_SCAN_MAX ? nx_max : nx_min))
    return NULL;
  /* a NaN in either part becomes one in both, also in what is combined with nothing */
  bool good =
      x->elements == 0 || ((r.at[0] = b.plain(x, x)) != NULL && nxi_scan_axis(&b, &r, axis));
  nxi_body_end(&b, good, r.at, &out, 1);
  return out;
}

nx_tensor *nx_associative_scan(nx_tensor *x, nx_scan_op op, int32_t axis) {
  nxi_diag d;
  int64_t attrs[2] = {0, 0};
  if (!nxi_have_tensor("associative_scan", 0, x)) return NULL;
  nxi_diag_clear(&d);
  if ((uint32_t)op > NX_SCAN_MIN)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "associative_scan", "associative_scan: there is no scan %d",
             (int)op);
  if (d.status || !nxi_one_axis("associative_scan", x, axis, &attrs[0], &d))
    return nxi_fail_null(&d);
  if (!is_recorded(x, op)) return scan_complex(x, op, (int32_t)attrs[0]);
  nxi_operand o = nxi_operand_of(x);
  uint16_t outer = nxi_called_begin(NXI_COMPOSITE_associative_scan);
  nx_tensor *result = nxi_record_inferred((nxg_op)(NXG_scan_sum + op), &o, 1, attrs, 2, &d);
  nxi_called_end(outer);
  return result;
}
