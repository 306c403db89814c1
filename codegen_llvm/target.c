/* SPDX-License-Identifier: ISC */
/* The machines that LLVM compiles for: the host as LLVM detects it, the features that each `isa`
 * leaves, and a pool of target machines. Making one takes as long as compiling a small kernel; a
 * machine is used by one thread at a time. */
#include <llvm-c/Target.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "guard.h"
#include "ir/platform/thread.h"
#include "machine.h"

enum { MAX_FEATURES = 4096, MAX_ENVIRONMENT = MAX_FEATURES + 256, MAX_POOL = 8 };
enum { SETUP_MEMORY = 1 << 20 }; /* bytes; LLVM needs a tenth of that */

static const char *const isa_names[NXL_ISAS] = {"generic", "avx2", "avx512", "neon"};

static struct {
  char triple[64], cpu[64];
  char features[NXL_ISAS][MAX_FEATURES];
  char cpus[NXL_ISAS][64];
} host;
static char environment[NXL_ISAS][MAX_ENVIRONMENT], whole_environment[MAX_ENVIRONMENT];
static nxi_mutex start_lock = NXI_MUTEX_INITIALIZER;
static _Atomic bool started, all_started;
static LLVMTargetRef host_target;
static _Atomic(const char *) no_target;

static nxi_mutex pool_lock = NXI_MUTEX_INITIALIZER;
static struct {
  nxl_isa isa;
  bool hasty;
  LLVMTargetMachineRef handle;
} pool[MAX_POOL];
static uint32_t n_pool;

/* ---- the host */

static bool names(const char *features, const char *name) {
  size_t n = strlen(name);
  for (const char *p = features; (p = strstr(p, name)) != NULL; p += n)
    if (p > features && p[-1] == '+' && (p[n] == ',' || p[n] == '\0')) return true;
  return false;
}

static bool is_avx512(const char *name) {
  return strncmp(name, "avx512", 6) == 0 || strncmp(name, "avx10", 5) == 0 ||
         strncmp(name, "evex512", 7) == 0;
}

/* Copies the feature list, with all features that need AVX-512 disabled. */
static void without_avx512(const char *features, char *out) {
  snprintf(out, MAX_FEATURES, "%s", features);
  for (char *p = out; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
    if (*p == '+' && is_avx512(p + 1)) *p = '-';
}

static void set_isa(nxl_isa isa, const char *cpu, const char *features) {
  snprintf(host.cpus[isa], sizeof host.cpus[isa], "%s", cpu);
  if (features != host.features[isa]) snprintf(host.features[isa], MAX_FEATURES, "%s", features);
  snprintf(environment[isa], MAX_ENVIRONMENT, "LLVM %s; %s; %s; %s", NX_LLVM_VERSION,
           isa_names[isa], host.cpus[isa], host.features[isa]);
}

/* Features that processors of an isa have in general: AVX2 those of x86-64-v3, AVX-512 those that
 * all have since 2019 (Ice Lake, Zen 4). Without them those of this machine would be taken. */
static const struct {
  const char *cpu, *features;
} in_general[NXL_ISAS] = {
    [NXL_AVX2] = {"x86-64-v3", "+avx2,+fma,+f16c"},
    [NXL_AVX512] = {"x86-64-v4", "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx512vnni,"
                                 "+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512bitalg,"
                                 "+avx512vpopcntdq"},
};

/* Sets the features of each isa on an x86-64 host. An isa that the host lacks gets its basic
 * features; code for it can be printed but not run. */
static void describe_x86(const char *features) {
  bool avx512 = names(features, "avx512f") && names(features, "avx512vl") &&
                names(features, "avx512bw") && names(features, "avx512dq");
  bool avx2 = names(features, "avx2") && names(features, "fma") && names(features, "f16c");
  set_isa(NXL_AVX512, avx512 ? host.cpu : in_general[NXL_AVX512].cpu, avx512 ? features : "");
  without_avx512(features, host.features[NXL_AVX2]);
  set_isa(NXL_AVX2, avx2 ? host.cpu : in_general[NXL_AVX2].cpu,
          avx2 ? host.features[NXL_AVX2] : "");
  set_isa(NXL_GENERIC, "x86-64-v2", "");
  set_isa(NXL_NEON, "generic", "");
}

static LLVMTargetRef find_target(const char *triple, nxi_diag *d) {
  LLVMTargetRef target = NULL;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(triple, &target, &message)) {
    nxi_fail(d, NX_COMPILE_FAILED, "", "%s", message ? message : "unknown target");
    LLVMDisposeMessage(message);
    return NULL;
  }
  return target;
}

/* May be repeated if memory ran out in the middle of it. Only the host's target is registered,
 * since registering all of LLVM's targets takes longer than the rest of this function. The target
 * is looked up here, once, so that no thread reads the list of targets while others are added. */
static nx_status setup(void *arg, nxi_diag *d) {
  (void)arg;
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName(),
       *features = LLVMGetHostCPUFeatures();
  if (!triple || !cpu || !features) {
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return nxi_oom(d);
  }
  host_target = find_target(triple, NULL);
  snprintf(host.triple, sizeof host.triple, "%s", triple);
  snprintf(host.cpu, sizeof host.cpu, "%s", cpu);
  snprintf(whole_environment, sizeof whole_environment, "LLVM %s; %s; %s; %s", NX_LLVM_VERSION,
           triple, cpu, features);
#if defined(__x86_64__) && defined(__ELF__)
  describe_x86(features);
#elif defined(__aarch64__) && defined(__ELF__)
  set_isa(NXL_NEON, host.cpu, features);
  set_isa(NXL_GENERIC, "generic", "");
  set_isa(NXL_AVX2, in_general[NXL_AVX2].cpu, "");
  set_isa(NXL_AVX512, in_general[NXL_AVX512].cpu, "");
#endif
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
  if (!host_target) atomic_store(&no_target, "LLVM has no target for this machine");
  return NX_OK;
}

static nx_status setup_all(void *arg, nxi_diag *d) {
  (void)arg, (void)d;
#if !NX_LLVM_PART /* which has the host's target alone */
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
#endif
  return NX_OK;
}

static nx_status start_once(_Atomic bool *done, nxl_work *work, nxi_diag *d) {
  if (atomic_load_explicit(done, memory_order_acquire)) return NX_OK;
  nxi_mutex_lock(&start_lock);
  nx_status s = *done ? NX_OK : nxl_guarded(work, NULL, SETUP_MEMORY, d);
  if (s == NX_OK) atomic_store_explicit(done, true, memory_order_release);
  nxi_mutex_unlock(&start_lock);
  return s;
}

nx_status nxl_start_host(nxi_diag *d) { return start_once(&started, setup, d); }

/* The triple of t, or a triple of the other architecture if t's isa belongs to that. "": the
 * host's. */
static const char *foreign_triple(const nxl_target *t) {
  if (t->triple[0]) return t->triple;
#if defined(__x86_64__)
  return strcmp(t->isa, "neon") == 0 ? "aarch64-linux-gnu" : "";
#elif defined(__aarch64__)
  return strncmp(t->isa, "avx", 3) == 0 ? "x86_64-linux-gnu" : "";
#else
  return "";
#endif
}

nx_status nxl_start_for(const nxl_target *t, nxi_diag *d) {
  nx_status s = nxl_start_host(d);
  return s || !foreign_triple(t)[0] ? s : start_once(&all_started, setup_all, d);
}

const char *nxl_useless(void) {
  const char *why = nxl_abandoned();
  return why ? why : atomic_load_explicit(&no_target, memory_order_relaxed);
}

static bool find_isa(const char *name, nxl_isa *isa) {
  for (int i = 0; i < NXL_ISAS; i++)
    if (strcmp(isa_names[i], name) == 0) {
      *isa = (nxl_isa)i;
      return true;
    }
  return false;
}

const char *nxl_describe(const char *isa) {
  nxl_isa number;
  if (!isa[0]) return whole_environment;
  return find_isa(isa, &number) ? environment[number] : "";
}

/* ---- machines */

static LLVMTargetMachineRef make_machine(const nxl_machine *m, bool named, nxi_diag *d) {
  LLVMTargetRef target = named ? find_target(m->triple, d) : host_target;
  if (!target) return NULL;
  LLVMCodeGenOptLevel level = m->hasty ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
  LLVMTargetMachineRef handle = LLVMCreateTargetMachine(target, m->triple, m->cpu, m->features,
                                                        level, LLVMRelocPIC, LLVMCodeModelSmall);
  if (!handle) nxi_fail(d, NX_COMPILE_FAILED, "", "LLVM has no machine for %s", m->triple);
  return handle;
}

static LLVMTargetMachineRef take_pooled(nxl_isa isa, bool hasty) {
  LLVMTargetMachineRef found = NULL;
  nxi_mutex_lock(&pool_lock);
  for (uint32_t i = 0; i < n_pool && !found; i++)
    if (pool[i].isa == isa && pool[i].hasty == hasty) {
      found = pool[i].handle;
      pool[i] = pool[--n_pool];
    }
  nxi_mutex_unlock(&pool_lock);
  return found;
}

nx_status nxl_take_machine(const nxl_target *t, bool hasty, nxl_machine *m, nxi_diag *d) {
  memset(m, 0, sizeof *m);
  m->hasty = hasty;
  if (!find_isa(t->isa, &m->isa))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "", "\"%s\" is no instruction set", t->isa);
  m->pooled = !t->triple[0] && !t->cpu[0] && !t->features[0] && !t->any;
  const char *triple = foreign_triple(t);
  snprintf(m->triple, sizeof m->triple, "%s", triple[0] ? triple : host.triple);
  /* the host's CPU model has no meaning for another architecture */
  bool foreign = t->triple[0] && strncmp(t->triple, host.triple, 5) != 0;
  snprintf(m->cpu, sizeof m->cpu, "%s",
           t->cpu[0] ? t->cpu
           : foreign ? "generic"
                     : host.cpus[m->isa]);
  m->features = t->features[0] ? t->features : foreign ? "" : host.features[m->isa];
  if (t->any && in_general[m->isa].cpu) {
    snprintf(m->cpu, sizeof m->cpu, "%s", in_general[m->isa].cpu);
    m->features = in_general[m->isa].features;
  }
  if (m->pooled) m->handle = take_pooled(m->isa, hasty);
  if (!m->handle) m->handle = make_machine(m, triple[0], d);
  return m->handle ? NX_OK : NX_COMPILE_FAILED;
}

bool nxl_machine_has(const nxl_machine *m, const char *feature) {
  return names(m->features, feature);
}

void nxl_return_machine(nxl_machine *m) {
  bool kept = false;
  nxi_mutex_lock(&pool_lock);
  if (m->pooled && n_pool < MAX_POOL) {
    pool[n_pool].isa = m->isa;
    pool[n_pool].hasty = m->hasty;
    pool[n_pool++].handle = m->handle;
    kept = true;
  }
  nxi_mutex_unlock(&pool_lock);
  if (!kept) LLVMDisposeTargetMachine(m->handle);
}
