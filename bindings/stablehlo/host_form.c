/* SPDX-License-Identifier: ISC */
/* Elements of half a byte, which arrays of the host have not: a byte each. */
#include "host_form.h"

nx_dtype nxh_host_type(nx_dtype t) {
  return t == NX_I4 ? NX_I8 : t == NX_U4 || t == NX_F4E2M1 ? NX_U8 : t;
}

nx_tensor *nxh_in_host_form(nx_tensor *x) {
  nx_dtype t = nx_dtype_of(x), host = nxh_host_type(t);
  if (t == NX_F4E2M1) x = nx_bitcast(x, NX_U4);
  return host == t || x == NULL ? x : nx_cast(x, host);
}

nx_tensor *nxh_in_program_form(nx_tensor *x, nx_dtype wanted) {
  if (nx_dtype_of(x) == wanted) return x;
  if (wanted != NX_F4E2M1) return nx_cast(x, wanted);
  x = nx_cast(x, NX_U4);
  return x != NULL ? nx_bitcast(x, wanted) : NULL;
}
