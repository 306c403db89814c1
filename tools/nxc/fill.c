/* SPDX-License-Identifier: ISC */
/* Makes inputs; see fill.h. The numbers are those of a linear congruential generator with Knuth's
 * constants for 64 bits, of which the high bits are used. */
#include "fill.h"

#include "ir/alloc.h"
#include "ir/dtype.h"
#include "nxc.h"

static uint64_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

/* Numbers for that type, as f32, which has 24 bits. */
static nx_tensor *numbers(nx_context *c, nx_device device, const nx_port_info *type,
                          bool integers) {
  int64_t elements = 1;
  uint64_t state = 1;
  for (int32_t a = 0; a < type->rank; a++) elements *= type->shape[a];
  const size_t bytes = (size_t)elements * sizeof(float);
  float *data = nxi_malloc(bytes + 1);
  if (data == NULL) {
    nxc_complain(type->name, "memory is exhausted");
    return NULL;
  }
  for (int64_t i = 0; i < elements; i++)
    data[i] = integers ? (float)(next(&state) >> 30) : (float)(next(&state) >> 7) * 0x1p-24F;
  nx_tensor *t = nx_from_data(c, device, NX_F32, type->shape, type->rank, data, bytes);
  nxi_free(data);
  return t;
}

nx_tensor *nxc_filled(nx_context *context, nx_device device, const nx_port_info *type) {
  bool floats =
      nxi_is_float(type->dtype) || nxi_is_complex(type->dtype) || nxi_is_stored(type->dtype);
  nx_tensor *plain = numbers(context, device, type, !floats);
  if (plain == NULL) return NULL;
  nx_tensor *t = nx_cast(plain, type->dtype);
  nx_tensor_release(plain);
  if (t != NULL && nx_realize(context, &t, 1, NULL) == NX_OK) return t;
  nx_tensor_release(t);
  nxc_public_failure(type->name);
  return NULL;
}
