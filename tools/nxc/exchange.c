/* SPDX-License-Identifier: ISC */
/* What a program in StableHLO exchanges while it runs, as files of arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nx/nx.h"
#include "nxc.h"

enum { INFEED, OUTFEED, RECEIVE, SEND };

void nxc_rewind(nxc_exchange *e) { memset(e->used, 0, sizeof e->used); }

static nxc_pairs *files_of(nxc_exchange *e, int which) {
  nxc_pairs *const all[] = {&e->infeed, &e->outfeed, &e->receive, &e->send};
  return all[which];
}

/* The next file of the channel. */
static const char *next_file(const nx_stablehlo_transfer *t, int which) {
  static const char *const options[] = {"infeed", "outfeed", "recv", "send"};
  nxc_exchange *e = t->user;
  nxc_pairs *files = files_of(e, which);
  char channel[24] = "", said[160];
  bool named = which >= RECEIVE;
  if (named) snprintf(channel, sizeof channel, "%lld", (long long)t->channel);
  for (size_t i = 0; i < files->n; i++) {
    const nxc_pair *p = &files->items[i];
    bool fits = p->name_length == strlen(channel) && memcmp(p->name, channel, p->name_length) == 0;
    if (e->used[which][i] || !fits) continue;
    e->used[which][i] = true;
    return p->value;
  }
  snprintf(said, sizeof said, "the program %s more arrays than files are given: --%s %s%sFILE.npy",
           which == INFEED || which == RECEIVE ? "reads" : "writes", options[which], channel,
           named ? "=" : "");
  nx_custom_fail(t->call, NX_INVALID_ARGUMENT, said);
  return NULL;
}

static bool has_type(const nx_tensor *x, const nx_array *a) {
  bool same = nx_dtype_of(x) == a->dtype && nx_rank(x) == a->rank;
  for (int32_t i = 0; same && i < a->rank; i++) same = nx_shape(x)[i] == a->shape[i];
  return same;
}

static nx_status read_one(const nx_stablehlo_transfer *t, const nx_array *a, const char *path) {
  nxc_exchange *e = t->user;
  nx_tensor *x = NULL;
  char said[240];
  nx_status s = nx_load_npy(e->context, path, &x);
  if (s != NX_OK) return s;
  size_t bytes = (size_t)a->elements * nx_dtype_bits(a->dtype) / 8;
  if (has_type(x, a)) {
    s = nx_read(x, a->data, bytes, NULL);
  } else {
    snprintf(said, sizeof said, "%.160s holds another type than the program reads, %s of rank %d",
             path, nx_dtype_name(a->dtype), a->rank);
    s = nx_custom_fail(t->call, NX_INVALID_ARGUMENT, said);
  }
  nx_tensor_release(x);
  return s;
}

static nx_status write_one(const nx_stablehlo_transfer *t, const nx_array *a, const char *path) {
  nxc_exchange *e = t->user;
  size_t bytes = (size_t)a->elements * nx_dtype_bits(a->dtype) / 8;
  nx_tensor *x = nx_from_data(e->context, 0, a->dtype, a->shape, a->rank, a->data, bytes);
  nx_status s = x != NULL ? nx_save_npy(x, path, NULL) : NX_OUT_OF_MEMORY;
  nx_tensor_release(x);
  return s;
}

static nx_status pass(const nx_stablehlo_transfer *t, int which) {
  nx_status s = NX_OK;
  for (size_t i = 0; s == NX_OK && i < t->n; i++) {
    const char *path = next_file(t, which);
    bool reads = which == INFEED || which == RECEIVE;
    if (path == NULL) return NX_INVALID_ARGUMENT;
    s = reads ? read_one(t, &t->arrays[i], path) : write_one(t, &t->arrays[i], path);
  }
  return s;
}

static nx_status infeed(const nx_stablehlo_transfer *t) { return pass(t, INFEED); }
static nx_status outfeed(const nx_stablehlo_transfer *t) { return pass(t, OUTFEED); }
static nx_status receive(const nx_stablehlo_transfer *t) { return pass(t, RECEIVE); }
static nx_status send(const nx_stablehlo_transfer *t) { return pass(t, SEND); }

nx_stablehlo_host nxc_host(nxc_exchange *e) {
  return (nx_stablehlo_host){.size = sizeof(nx_stablehlo_host),
                             .user = e,
                             .infeed = infeed,
                             .outfeed = outfeed,
                             .send = send,
                             .receive = receive};
}
