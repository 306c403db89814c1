/* SPDX-License-Identifier: ISC */
#include "fake_stream.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t offset = NXT_FAKE_OFFSET;

enum { MOST_ARGUMENTS = 700 };
static nxt_fake fake;
nxt_fake *nxt_fake_cuda(void) { return &fake; }

static _Thread_local int depth, current[16]; /* GPUs whose contexts were entered */
bool nxt_fake_inside(void) { return depth > 0; }
int nxt_fake_device(void) { return depth > 0 ? current[depth - 1] : -1; }

/* Calls that take memory of the GPU. */
static bool needs_memory(const char *name) {
  static const char *const all[] = {"cuMemAlloc",    "cuMemHostAlloc",    "cuMemHostRegister",
                                    "cuModuleLoad",  "cuLaunchKernel",    "cuStreamCreate",
                                    "cuEventCreate", "cuGraphInstantiate"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strncmp(name, all[i], strlen(all[i])) == 0) return true;
  return false;
}
bool nxt_fake_crowds(void) {
  if (fake.crowd == 0) return false;
  fake.crowd = fake.crowd * 6364136223846793005u + 1442695040888963407u;
  if ((fake.crowd >> 33) % 5 != 0) return false;
  fake.crowded++;
  return true;
}

int nxt_fake_count(const char *name) {
  if (fake.crowd != 0 && needs_memory(name) && nxt_fake_crowds()) return 2;
  if (fake.only[0] != 0 && strstr(name, fake.only) == NULL) return 0;
  if (++fake.calls != fake.fail_at) return 0;
  snprintf(fake.failed, sizeof fake.failed, "%s", name);
  if (fake.fail_breaks && nxt_fake_device() >= 0) fake.broken |= 1u << nxt_fake_device();
  return fake.fail_with;
}

char *nxt_fake_host(uint64_t at) { return (char *)(uintptr_t)(at - offset); }

/* ---- the driver */

EXPORT int cuInit(unsigned flags) {
  (void)flags;
  CALL;
  const char *delay = getenv("NXT_DELAY");
  if (delay != NULL) fake.delay = strtoull(delay, NULL, 10);
  return 0;
}
int nxt_fake_version(void) {
  const char *text = getenv("NXT_VERSION");
  return text != NULL ? atoi(text) : 13000;
}
EXPORT int cuDriverGetVersion(int *version) {
  CALL;
  *version = nxt_fake_version();
  return 0;
}
EXPORT int cuGetErrorName(int error, const char **name) {
  static char text[40];
  snprintf(text, sizeof text, "CUDA_ERROR_%d", error);
  *name = text;
  return 0;
}
EXPORT int cuGetErrorString(int error, const char **text) {
  (void)error;
  *text = "made to fail";
  return 0;
}
EXPORT int cuDeviceGetCount(int *n) {
  CALL;
  *n = 2;
  return 0;
}
EXPORT int cuDeviceGet(int *device, int number) {
  CALL;
  *device = number;
  return number < 2 ? 0 : 101;
}
EXPORT int cuDeviceGetName(char *name, int size, int device) {
  CALL;
  snprintf(name, (size_t)size, "Fake %d", device);
  return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  CALL;
  *bytes = (size_t)1 << 33;
  return 0;
}
int nxt_fake_kind(void) {
  const char *kind = getenv("NXT_KIND");
  return kind != NULL ? atoi(kind) : 90;
}
static int most_shared(void) { return fake.most_shared != 0 ? (int)fake.most_shared : 227 << 10; }
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  int number = nxt_fake_kind();
  (void)device;
  CALL;
  *value = attribute == 75   ? number / 10
           : attribute == 76 ? number % 10
           : attribute == 97 ? most_shared()
                             : 16;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  CALL;
  __atomic_fetch_add(&fake.contexts, 1, __ATOMIC_RELAXED); /* tests wait for it */
  *context = (void *)(uintptr_t)(device + 1);
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  CALL;
  __atomic_fetch_sub(&fake.contexts, 1, __ATOMIC_ACQ_REL);
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  CALL;
  if (depth == 16) return 1;
  current[depth++] = (int)(uintptr_t)context - 1;
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  *context = NULL;
  depth--;
  return 0;
}
/* ---- modules: an image is a mark, the length of a text, the text */

static const char mark[8] = "NXFAKE1";

typedef void enter_kernel(void **given, unsigned blocks, unsigned threads, unsigned shared,
                          unsigned long long by, unsigned long long seed);
enum { SHARED_USUAL = 48 << 10, CODE_BYTES = 64 << 10 };
typedef struct function {
  enter_kernel *enter;
  bool loaded; /* its code is on the GPU */
  int shared;  /* most bytes of a launch */
  unsigned most_threads;
  unsigned n_arguments, sizes[MOST_ARGUMENTS];
  char name[72];
  struct function *next;
} function;

typedef struct module {
  uint64_t hash;
  void *library;
  struct module *next;
  function *functions; /* found so far */
} module;
static module *modules; /* compiled once, kept for ever */

static const uint64_t hash_of_nothing = 14695981039346656037u;
static uint64_t hash_more(uint64_t h, const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)bytes[i]) * 1099511628211u;
  return h;
}

/* Of the compiler, its options and its header: with the source, all that code depends on. */
static uint64_t hash_of_host(void) {
  static uint64_t h;
  char bytes[4096];
  if (h != 0) return h;
  uint64_t all = hash_more(hash_of_nothing, NXT_HOST_KEY, sizeof NXT_HOST_KEY);
  FILE *f = fopen(NXT_HOST_HEADER, "r");
  if (f != NULL) {
    size_t n;
    do {
      n = fread(bytes, 1, sizeof bytes, f);
      all = hash_more(all, bytes, n);
    } while (n == sizeof bytes);
    fclose(f);
  }
  return h = all;
}

/* The names of the kernels are what stands before "(" in lines of extern "C" __global__. */
static void write_entries(FILE *f, const char *text) {
  for (const char *at = text; (at = strstr(at, "extern \"C\" __global__")) != NULL; at++) {
    const char *bounds = strstr(at, "__launch_bounds__("),
               *name = bounds ? strchr(bounds, ')') : NULL;
    if (name == NULL) return;
    name += 2;
    int length = (int)strcspn(name, "(");
    bounds += sizeof "__launch_bounds__(" - 1;
    fprintf(f,
            "extern \"C\" void enter_%.*s(void **given, unsigned blocks, unsigned threads, "
            "unsigned shared, unsigned long long offset, unsigned long long seed)"
            " { nx_host_launch<%.*s>(given, blocks, threads, offset, seed, shared); }\n"
            "extern \"C\" unsigned sizes_%.*s(unsigned *out) { return nx_host_sizes<%.*s>(out); }\n"
            "extern \"C\" unsigned bounds_%.*s() { return (%.*s); }\n",
            length, name, length, name, length, name, length, name, length, name,
            (int)strcspn(bounds, ",)"), bounds);
  }
}

/* A handle is where its value is. */
static const char sets_condition[] =
    "extern \"C\" __attribute__((visibility(\"hidden\"))) inline void cudaGraphSetConditional("
    "unsigned long long handle, unsigned value) { *(unsigned *)handle = value; }";

/* Whether arithmetic stands in the expression, outside of brackets. */
static bool computes(const char *at, const char *end) {
  int deep = 0;
  for (; at < end; at++) {
    if (*at == '(' || *at == '[') deep++;
    if (*at == ')' || *at == ']') deep--;
    if (deep == 0 && at[0] == ' ' && at[1] != 0 && strchr("+-*/", at[1]) && at[2] == ' ')
      return true;
  }
  return false;
}

/* The text of kernels, in which what arithmetic on f32 gives is given to nx_host_canonical: the
 * compiler's text has a statement for each operation. */
static void write_canonical(FILE *f, const char *text) {
  static const char begin[] = "const float v";
  for (const char *at; (at = strstr(text, begin)) != NULL;) {
    const char *value = at + strcspn(at, "=;"), *end = value + strcspn(value, ";\n");
    if (value[0] != '=' || *end != ';' || !computes(value + 1, end)) {
      fprintf(f, "%.*s", (int)(value - text), text);
      text = value;
      continue;
    }
    fprintf(f, "%.*s= nx_host_canonical(%.*s)", (int)(value - text), text, (int)(end - value - 2),
            value + 2);
    text = end;
  }
  fputs(text, f);
}

/* Inline assembly that is not to be moved says nothing of memory. */
static bool has_volatile(const char *source) {
  for (const char *at = source; (at = strstr(at, "volatile")) != NULL; at++)
    if (at - source < 4 || memcmp(at - 4, "asm ", 4) != 0) return true;
  return false;
}

/* Whether blocks of the kernel may tell each other something: then their stores are seen late
 * (cuda_memory.h). */
static bool is_relaxed(const char *source) {
  return strstr(source, "__threadfence") != NULL || has_volatile(source) ||
         strstr(source, "__nanosleep") != NULL || strstr(source, "atomic") != NULL;
}

/* The text as C++, of the heap; NULL without memory. */
static char *source_of(const char *text) {
  char *source = NULL;
  size_t size;
  FILE *f = open_memstream(&source, &size);
  if (f == NULL) return NULL;
  fprintf(f, "#include <cuda_%s.h>\n#undef __CUDA_ARCH__\n#define __CUDA_ARCH__ %d\n%s\n",
          is_relaxed(text) ? "relaxed" : "host", 10 * nxt_fake_kind(),
          strstr(text, "cudaGraphSetConditional") ? sets_condition : "");
  write_canonical(f, text);
  write_entries(f, text);
  if (fclose(f) == 0) return source;
  free(source);
  return NULL;
}

static bool write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  if (f == NULL) return false;
  fputs(text, f);
  return fclose(f) == 0;
}

/* The libraries that code uses are there already: to leave them out saves the linker a third of the
 * time. -Bsymbolic: a kernel that has the name of a function of the program (nx_elements) stays the
 * one that is called. */
static void *build(const char *source, const char *path, const char *object) {
  char command[3000];
  if (!write_text(path, source)) return NULL;
  snprintf(command, sizeof command, NXT_HOST_COMPILER "%s -nostdlib -Wl,-Bsymbolic %s -lgcc -o %s",
           is_relaxed(source) ? " " NXT_HOST_RELAXED : "", path, object);
  bool built = system(command) == 0;
  void *library = built ? dlopen(object, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (built && library == NULL) fprintf(stderr, "%s\n", dlerror());
  unlink(path);
  return library;
}

static void *build_aside(const char *source) {
  char path[128], object[128], directory[] = "/tmp/nx-fake-XXXXXX";
  if (mkdtemp(directory) == NULL) return NULL;
  snprintf(path, sizeof path, "%s/k.cc", directory);
  snprintf(object, sizeof object, "%s/k.so", directory);
  void *library = build(source, path, object);
  unlink(object);
  rmdir(directory);
  return library;
}

/* What the directory has of the source, or has from now on: the text, and what was made of it.
 * Other processes may do the same. */
static void *build_in(const char *directory, const char *text, const char *source) {
  char object[600], own[640], path[680];
  uint64_t hash = hash_more(hash_of_host(), source, strlen(source));
  snprintf(object, sizeof object, "%s/%016llx.so", directory, (unsigned long long)hash);
  void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (library != NULL) return library;
  snprintf(own, sizeof own, "%s.%d", object, (int)getpid());
  snprintf(path, sizeof path, "%s.cc", own);
  library = build(source, path, own);
  if (library == NULL || rename(own, object) != 0) return library;
  snprintf(path, sizeof path, "%s/%016llx.cu", directory, (unsigned long long)hash);
  write_text(path, text);
  return library;
}

static void *compile(const char *text) {
  const char *wish = getenv("NXT_FAKE_KEEP"), *directory = wish != NULL ? wish : NXT_KERNELS;
  char *source = source_of(text);
  if (source == NULL || dlopen(NXT_HOST_LIBRARY, RTLD_NOW | RTLD_GLOBAL) == NULL) {
    free(source);
    return NULL;
  }
  if (wish == NULL) mkdir(directory, 0777);
  bool kept = access(directory, W_OK) == 0;
  void *library = kept ? build_in(directory, text, source) : build_aside(source);
  free(source);
  return library;
}

EXPORT int cuModuleLoadData(void **out, const void *image) {
  uint64_t size;
  INSIDE;
  if (memcmp(image, mark, sizeof mark) != 0) return 200;
  memcpy(&size, (const char *)image + 8, sizeof size);
  const char *text = (const char *)image + 16;
  uint64_t hash = hash_more(hash_of_nothing, text, size);
  module *m = modules;
  while (m != NULL && m->hash != hash) m = m->next;
  if (fake.seen != NULL) {
    static module nothing;
    m = &nothing;
  }
  if (m == NULL) {
    char *own = strndup(text, size);
    void *library = own == NULL ? NULL : compile(own);
    free(own);
    m = library != NULL ? malloc(sizeof *m) : NULL;
    if (m == NULL) return 218;
    *m = (module){hash, library, modules, NULL};
    modules = m;
  }
  fake.modules++;
  *out = m;
  return 0;
}
EXPORT int cuModuleUnload(void *m) {
  (void)m;
  SETTLED;
  fake.modules--;
  return 0;
}
EXPORT int cuModuleGetFunction(void **out, void *given, const char *name) {
  module *m = given;
  char symbol[128];
  unsigned (*sizes)(unsigned *), (*bounds)(void);
  INSIDE;
  if (fake.seen != NULL) {
    static function nothing;
    *out = &nothing;
    return 0;
  }
  for (function *f = m->functions; f != NULL; f = f->next)
    if (strcmp(f->name, name) == 0) {
      *out = f;
      return 0;
    }
  function *f = calloc(1, sizeof *f);
  if (f == NULL) return 2;
  snprintf(f->name, sizeof f->name, "%s", name);
  snprintf(symbol, sizeof symbol, "enter_%s", name);
  *(void **)&f->enter = dlsym(m->library, symbol);
  snprintf(symbol, sizeof symbol, "sizes_%s", name);
  *(void **)&sizes = dlsym(m->library, symbol);
  snprintf(symbol, sizeof symbol, "bounds_%s", name);
  *(void **)&bounds = dlsym(m->library, symbol);
  if (f->enter == NULL || sizes == NULL || bounds == NULL) {
    free(f);
    return 500;
  }
  f->n_arguments = sizes(f->sizes);
  f->shared = SHARED_USUAL;
  f->most_threads = bounds();
  f->next = m->functions;
  *out = m->functions = f;
  return 0;
}
/* Blocks of a kernel may have more than 48 KiB of shared memory if that was asked for. */
EXPORT int cuFuncSetAttribute(void *given, int attribute, int value) {
  function *f = given;
  INSIDE;
  if (attribute != 8 || value > most_shared() || value < 0) return 1;
  if (fake.seen == NULL) f->shared = value;
  return 0;
}

/* A function is loaded when it is launched first, which takes memory and may wait for all work. */
static int load_function(function *f) {
  if (f->loaded) return 0;
  if (fake.most_memory && fake.memory + CODE_BYTES > fake.most_memory) return 2;
  while (nxt_fake_step());
  f->loaded = true;
  fake.loads++;
  return 0;
}
typedef struct launch {
  const function *function;
  unsigned blocks, threads, shared;
  int device;
  uint64_t values[MOST_ARGUMENTS]; /* one after the other, each as many words as it needs */
} launch;

static unsigned words_of(const function *f, unsigned argument) {
  return (f->sizes[argument] + 7) / 8;
}

static void run_kernel(void *what) {
  launch *l = what;
  void *arguments[MOST_ARGUMENTS];
  if (!nxt_fake_runs(l->device)) return;
  for (unsigned i = 0, at = 0; i < l->function->n_arguments; at += words_of(l->function, i++))
    arguments[i] = &l->values[at];
  l->function->enter(arguments, l->blocks, l->threads, l->shared, offset,
                     (uint64_t)fake.launches * 2 + 1);
}

EXPORT int cuLaunchKernel(void *given, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **arguments, void **extra) {
  launch l;
  function *f = given;
  (void)extra;
  if (fake.idle) return 0;
  INSIDE;
  if (grid_x == 0 || grid_x > INT32_MAX || grid_y != 1 || grid_z != 1 || block_y != 1 ||
      block_z != 1 || block_x == 0 || block_x > 1024 || (int64_t)shared > f->shared)
    return 1;
  if (block_x > f->most_threads) return 701;
  int result = load_function(f);
  if (result != 0) return result;
  unsigned most = fake.most_blocks != 0 ? (unsigned)fake.most_blocks : 16;
  l.function = f;
  l.blocks = grid_x < most ? grid_x : most; /* blocks take tasks in turn */
  l.threads = block_x;
  l.shared = shared;
  l.device = nxt_fake_device();
  unsigned words = 0;
  for (unsigned i = 0; i < f->n_arguments; words += words_of(f, i++)) {
    if (words + words_of(f, i) > MOST_ARGUMENTS) return 1;
    memcpy(&l.values[words], arguments[i], f->sizes[i]);
  }
  return nxt_fake_start(stream, run_kernel, &l,
                        offsetof(launch, values) + words * sizeof *l.values);
}

/* ---- the compiler */

typedef struct program {
  char *text;
  uint64_t size;
} program;

EXPORT int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
EXPORT int nvrtcGetNumSupportedArchs(int *n) {
  *n = 4;
  return 0;
}
EXPORT int nvrtcGetSupportedArchs(int *numbers) {
  memcpy(numbers, (const int[]){75, 80, 90, 100}, 4 * sizeof *numbers);
  return 0;
}
EXPORT const char *nvrtcGetErrorString(int result) { return result ? "made to fail" : "success"; }
EXPORT int nvrtcCreateProgram(void **out, const char *source, const char *name, int n_headers,
                              const char *const *headers, const char *const *names) {
  (void)name;
  (void)n_headers;
  (void)headers;
  (void)names;
  CALL;
  program *p = malloc(sizeof *p);
  if (p == NULL) return 1;
  if (fake.seen != NULL) fake.seen(source);
  *p = (program){strdup(source), strlen(source)};
  *out = p;
  return 0;
}
EXPORT int nvrtcDestroyProgram(void **given) {
  program *p = *given;
  free(p->text);
  free(p);
  *given = NULL;
  return 0;
}
/* Waits until as many are compiled at once as the test asks for. */
static void meet_others(void) {
  static _Atomic int64_t inside;
  if (fake.meet == 0) return;
  const int64_t now = atomic_fetch_add(&inside, 1) + 1;
  if (now > fake.met) fake.met = now;
  for (int i = 0; i < 2000 && fake.met < fake.meet; i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  atomic_fetch_sub(&inside, 1);
}
EXPORT int nvrtcCompileProgram(void *p, int n_options, const char *const *options) {
  (void)p;
  meet_others();
  CALL;
  for (int i = 0; i < n_options; i++)
    if (strncmp(options[i], "-", 1) != 0) return 5;
  return fake.refuses;
}
EXPORT int nvrtcGetProgramLogSize(void *p, size_t *size) {
  (void)p;
  *size = 26;
  return 0;
}
EXPORT int nvrtcGetProgramLog(void *p, char *log) {
  (void)p;
  memcpy(log, "kernel(1): error: a fake\n", 26);
  return 0;
}
EXPORT int nvrtcGetCUBINSize(void *given, size_t *size) {
  CALL;
  *size = 16 + ((program *)given)->size;
  return 0;
}
EXPORT int nvrtcGetCUBIN(void *given, char *code) {
  const program *p = given;
  CALL;
  memcpy(code, mark, 8);
  memcpy(code + 8, &p->size, 8);
  memcpy(code + 16, p->text, p->size);
  return 0;
}
EXPORT int nvrtcGetPTXSize(void *given, size_t *size) {
  *size = ((program *)given)->size;
  return 0;
}
EXPORT int nvrtcGetPTX(void *given, char *code) {
  memcpy(code, ((program *)given)->text, ((program *)given)->size);
  return 0;
}
