/* SPDX-License-Identifier: ISC */
/* What a program exchanges while it runs: infeed, outfeed, and send and recv of the host, as custom
 * operations that call the caller's functions, in the order of the token that all effects of the
 * process have. What goes to another process is a collective (ops_collective.c). */
#include "record.h"

#include <stdatomic.h>
#include <string.h>

#include "host_form.h"
#include "runtime/record/error.h"

enum { MOST = 15 }; /* as custom operations have operands and results */

/* The caller's functions, of one function of a module and all operations in it. */
struct nxh_host {
  atomic_uint refs;
  nx_stablehlo_host given;
};

struct nxh_host *nxh_host_open(nxh_recorder *r, const nx_stablehlo_host *given) {
  nx_stablehlo_host taken = {.size = sizeof taken};
  if (nxi_take(&taken, given, sizeof taken, "nx_stablehlo_host", "stablehlo", r->d) != NX_OK)
    return NULL;
  struct nxh_host *h = nxi_calloc(1, sizeof *h);
  if (h == NULL) return nxi_oom(r->d), NULL;
  atomic_init(&h->refs, 1);
  h->given = taken;
  return h;
}

void nxh_host_release(struct nxh_host *h, bool failed) {
  if (h == NULL) return;
  if (failed) h->given.release = NULL; /* nobody has what was recorded */
  if (atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1) return;
  if (h->given.release != NULL) h->given.release(h->given.user);
  nxi_free(h);
}

/* ---- calls */

typedef struct site {
  struct nxh_host *host;
  nx_status (*call)(const nx_stablehlo_transfer *);
  int64_t channel;
  int32_t replica, partition;
  bool receives;
  char config[]; /* NUL-terminated */
} site;

static nx_status run(const nx_custom_call *k) {
  const site *s = k->user;
  nx_stablehlo_transfer t = {.size = sizeof t,
                             .user = s->host->given.user,
                             .channel = s->channel,
                             .config = s->config,
                             .replica = s->replica,
                             .partition = s->partition,
                             .n = s->receives ? k->n_results : k->n_operands,
                             .arrays = s->receives ? k->results : k->operands,
                             .call = k};
  return s->call(&t);
}

static void leave(void *user) {
  site *s = user;
  nxh_host_release(s->host, false);
  nxi_free(s);
}

/* ---- recording */

bool nxh_is_exchange(const nxh_op *op) {
  return nxh_word_is(op->name, "stablehlo.infeed") || nxh_word_is(op->name, "stablehlo.outfeed") ||
         nxh_word_is(op->name, "stablehlo.send") || nxh_word_is(op->name, "stablehlo.recv");
}

bool nxh_exchanges(const nxh_module *m) { return nxh_any_op(m, nxh_is_exchange); }

/* Operands or results of an exchange while it is recorded. */
typedef struct payload {
  uint32_t n, places[MOST]; /* which operands or results are tensors */
  nx_tensor *x[MOST];
  nx_type types[MOST]; /* as the host has them */
} payload;

static bool add(nxh_recorder *r, payload *p, uint32_t place) {
  if (p->n == MOST) return nxh_fail(r, NX_INVALID_ARGUMENT, "more than %d arrays", MOST);
  p->places[p->n++] = place;
  return true;
}

/* Tokens may stand anywhere; what is not exchanged has nothing else. */
static bool take_places(nxh_recorder *r, const nxh_op *op, bool receives, payload *p) {
  uint32_t others = 0;
  p->n = 0;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    if (nxh_operand_type(r, op, i)->kind == NXH_TOKEN) continue;
    if (receives) others++;
    else if (!add(r, p, i)) return false;
  }
  for (uint32_t i = 0; i < op->n_results; i++) {
    if (nxh_result_type(r, op, i)->kind == NXH_TOKEN) continue;
    if (!receives) others++;
    else if (nxh_result_type(r, op, i)->kind != NXH_TENSOR)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is no tensor", i);
    else if (!nxh_closed(r, op, i) || !add(r, p, i)) return false;
  }
  return others == 0 || nxh_fail(r, NX_INVALID_ARGUMENT, "%u %s that are no tokens", others,
                                 receives ? "operands" : "results");
}

static bool take_payload(nxh_recorder *r, const nxh_op *op, bool receives, payload *p) {
  if (!take_places(r, op, receives, p)) return false;
  for (uint32_t i = 0; i < p->n; i++) {
    if (receives) {
      const nxh_type *t = nxh_result_type(r, op, p->places[i]);
      p->types[i] = (nx_type){nxh_host_type(t->dtype), t->rank, t->shape};
      continue;
    }
    nx_tensor *x = nxh_in(r, op, p->places[i]);
    if (x == NULL || (x = p->x[i] = nxh_in_host_form(x)) == NULL) return false;
    p->types[i] = (nx_type){nx_dtype_of(x), nx_rank(x), nx_shape(x)};
  }
  return true;
}

/* What the host has for it: *call, or a failure. */
static bool take_call(nxh_recorder *r, int64_t kind,
                      nx_status (**call)(const nx_stablehlo_transfer *)) {
  static const char *const fields[] = {"infeed", "outfeed", "send", "receive"};
  const nx_stablehlo_host *h = r->host != NULL ? &r->host->given : NULL;
  *call = h == NULL             ? NULL
          : kind == NXH_INFEED  ? h->infeed
          : kind == NXH_OUTFEED ? h->outfeed
          : kind == NXH_SEND    ? h->send
                                : h->receive;
  bool feeds = kind == NXH_INFEED || kind == NXH_OUTFEED;
  return *call != NULL ||
         nxh_fail(r, NX_INVALID_ARGUMENT,
                  "the program exchanges with its host, and there is no function for it: "
                  "nx_stablehlo_options.host, field %s%s",
                  fields[kind], feeds ? " (PJRT has no call for its other side)" : "");
}

static site *make_site(nxh_recorder *r, const nxh_op *op, int64_t kind) {
  nx_status (*call)(const nx_stablehlo_transfer *);
  int64_t channel = 0;
  bool on_channel = kind == NXH_SEND || kind == NXH_RECV;
  if (!take_call(r, kind, &call)) return NULL;
  if (on_channel && !nxh_channel(op, &channel))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "there is no channel"), NULL;
  nxh_word config = {"", 0};
  if (!on_channel) config = nxh_name(op, kind == NXH_INFEED ? "infeed_config" : "outfeed_config");
  site *s = nxi_calloc(1, sizeof *s + config.length + 1);
  if (s == NULL) return nxi_oom(r->d), NULL;
  memcpy(s->config, config.at, config.length);
  s->call = call;
  s->channel = channel;
  s->replica = r->replica;
  s->partition = r->partition;
  s->receives = kind == NXH_INFEED || kind == NXH_RECV;
  s->host = r->host;
  atomic_fetch_add_explicit(&r->host->refs, 1, memory_order_relaxed);
  return s;
}

static bool record(nxh_recorder *r, site *s, payload *p) {
  nx_custom *f = NULL;
  uint32_t in = s->receives ? 0 : p->n, out = s->receives ? p->n : 0;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "exchange",
                         .run = run,
                         .user = s,
                         .release = leave,
                         .flags = NX_ORDERED,
                         .n_operands = in,
                         .n_results = out,
                         .operands = p->types,
                         .results = p->types};
  if (nx_custom_create(r->c, &desc, &f) != NX_OK) return leave(s), false;
  bool ok = nx_custom_record(f, p->x, in, r->token, p->x, out) == NX_OK;
  nx_custom_release(f);
  return ok;
}

bool nxh_exchange(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  int64_t kind = row->of.number;
  payload p;
  bool on_channel = kind == NXH_SEND || kind == NXH_RECV;
  if (on_channel && !nxh_flag(op, "is_host_transfer")) return nxh_between(r, op, kind == NXH_RECV);
  site *s = make_site(r, op, kind);
  if (s == NULL) return false;
  bool receives = s->receives;
  if (!take_payload(r, op, receives, &p)) return leave(s), false;
  if (!record(r, s, &p)) return false;
  for (uint32_t i = 0; receives && i < p.n; i++) {
    const nxh_type *t = nxh_type_of(r->m, op->first_result + p.places[i]);
    nx_tensor *x = nxh_in_program_form(p.x[i], t->dtype);
    if (x == NULL || !nxh_set(r, op, p.places[i], nxh_cleaned(r, x, t->form))) return false;
  }
  return true;
}
