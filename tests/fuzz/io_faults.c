/* SPDX-License-Identifier: ISC */
/* Makes every system call of every reader and writer of files fail once, in every way: a full disk,
 * a broken disk, a signal, half of the requested bytes, no free descriptor. Afterwards the
 * operation has either reported that, with the path and the meaning of errno, or succeeded. The old
 * or the new file is there, complete; no other file is left, and no descriptor is open; and the
 * operation works when it is tried again.
 *
 *   io_faults FOLDER        FOLDER is made, and emptied */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faulty.h"
#include "ir/alloc.h"
#include "nx/nx.h"
#include "runtime/cache/disk.h"

static char folder[3000], path[PATH_MAX], dumps[PATH_MAX];
static nx_context *ctx;
static const char *doing = "preparing", *call = "none"; /* what a failed check tells */
static int fault_now;
static long number;

static _Noreturn void wrong(const char *format, ...) {
  va_list arguments;
  const char *ignored;
  nxt_faults_disarm(&ignored);
  va_start(arguments, format);
  fprintf(stderr, "%s, call %ld (%s), %s: ", doing, number, call,
          fault_now == NXT_SHORT ? "half of it" : strerror(fault_now));
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/* ---- the state of the folder */

static int count_in(const char *of) {
  int n = 0;
  DIR *d = opendir(of);
  for (struct dirent *e; d && (e = readdir(d));)
    n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
  if (d) closedir(d);
  return n;
}
static int open_files(void) { return count_in("/proc/self/fd"); }

static size_t contents(char *to, size_t most) {
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(to, 1, most, f) : 0;
  if (f) fclose(f);
  return n;
}

static void empty_folder(const char *of) {
  char name[PATH_MAX + 300];
  DIR *d = opendir(of);
  for (struct dirent *e; d && (e = readdir(d));) {
    snprintf(name, sizeof name, "%s/%s", of, e->d_name);
    if (e->d_name[0] != '.' || e->d_name[1] == 't') unlink(name);
  }
  if (d) closedir(d);
}

/* ---- the jobs */

typedef struct job {
  const char *name;
  nx_status (*run)(void); /* NX_OK: done, and its own checks succeeded */
  bool replaces;          /* the file `path`, of which there is an old version */
  bool silent;            /* a failure is not reported */
  const char *told;       /* part of the message, if that does not contain the path */
} job;

static nx_tensor *values(float first) {
  static const int64_t n = 1000;
  return nx_arange(ctx, 0, NX_F32, &(nx_scalar){NX_SCALAR_F64, {.f = {first, 0}}},
                   &(nx_scalar){NX_SCALAR_F64, {.f = {1, 0}}}, n);
}

static nx_status save_npy(void) {
  nx_tensor *t = values(1);
  nx_status status = nx_save_npy(t, path, NULL);
  nx_tensor_release(t);
  return status;
}

static nx_status save_safetensors(void) {
  nx_tensor *t = values(1);
  nx_status status = nx_save_safetensors(ctx, path, &(nx_named_tensor){"t", t}, 1, NULL, 0, NULL);
  nx_tensor_release(t);
  return status;
}

static void check_values(nx_tensor *t) {
  static float is[1000];
  if (nx_read(t, is, sizeof is, NULL)) wrong("what was loaded cannot be read");
  for (int i = 0; i < 1000; i++)
    if (is[i] != (float)(i + 1)) wrong("element %d is %g", i, (double)is[i]);
  nx_tensor_release(t);
}

static nx_status load_npy(void) {
  nx_tensor *t;
  nx_status status = nx_load_npy(ctx, path, &t);
  if (!status) check_values(t);
  return status;
}

static nx_status load_archive(void) {
  nx_archive *a;
  nx_tensor *t;
  nx_status status = nx_archive_open(path, &a);
  if (status) return status;
  status = nx_archive_load(a, ctx, "t", NULL, &t);
  if (!status) check_values(t);
  nx_archive_close(a);
  return status;
}

static nx_status import_as(uint32_t mode, uint32_t flags, int64_t n) {
  nx_import_file_desc d = {.size = sizeof d,
                           .path = path,
                           .mode = mode,
                           .flags = flags,
                           .dtype = NX_U8,
                           .rank = 1,
                           .shape = &n};
  nx_tensor *t;
  nx_status status = nx_import_file(ctx, &d, &t);
  if (status) return status;
  unsigned char *bytes = malloc((size_t)n);
  if (!bytes || nx_read(t, bytes, (size_t)n, NULL)) wrong("what was imported cannot be read");
  free(bytes);
  nx_tensor_release(t);
  return NX_OK;
}
static nx_status import_private(void) { return import_as(NX_FILE_PRIVATE, 0, 100); }
static nx_status import_misaligned(void) {
  nx_import_file_desc d = {.size = sizeof d,
                           .path = path,
                           .dtype = NX_F32,
                           .rank = 1,
                           .shape = (const int64_t[]){10},
                           .offset = 1};
  nx_tensor *t = NULL;
  nx_status status = nx_import_file(ctx, &d, &t);
  nx_tensor_release(t);
  return status;
}
/* Each time the file is made and grows. On failure nothing is made. */
static nx_status import_growing(void) {
  unlink(path);
  nx_status status = import_as(NX_FILE_SHARED, NX_FILE_CREATE, 5000);
  if (status && access(path, F_OK) == 0) wrong("it was made, and is there");
  return status;
}

static const char key[] = "key",
                  payload[] = "a payload of some length, to be written in two pieces";
static nx_status store_entry(void) {
  nxi_disk_options o = {.directory = folder};
  nxi_disk_cache *c;
  if (nxi_disk_open(&o, &c, NULL)) wrong("no cache");
  nxi_disk_store(c, key, sizeof key, payload, sizeof payload);
  size_t n = 0;
  char *there = nxi_disk_lookup(c, key, sizeof key, &n);
  if (there && (n != sizeof payload || memcmp(there, payload, n)))
    wrong("the cache gives something else");
  nx_status status = there ? NX_OK : NX_IO;
  nxi_free(there);
  nxi_disk_close(c);
  return status;
}

/* Each time another graph, so that there is something to dump. */
static nx_status dump(void) {
  static int times;
  int64_t n = 3 + times++;
  nx_tensor *x = nx_full(ctx, 0, NX_F32, &n, 1, &(nx_scalar){NX_SCALAR_F64, {.f = {1, 0}}}),
            *y = nx_exp(x);
  for (int i = times % 7; i >= 0; i--) {
    nx_tensor *z = nx_add(y, x);
    nx_tensor_release(y);
    y = z;
  }
  nx_status status = nx_realize(ctx, &y, 1, NULL);
  if (status) { /* nothing is lost: try again without a fault */
    const char *ignored;
    call = nxt_faults_disarm(&ignored) ? ignored : "none";
    if (nx_realize(ctx, &y, 1, NULL)) wrong("the realise cannot be tried again");
  }
  nx_tensor_release(x);
  nx_tensor_release(y);
  return status;
}

static const job jobs[] = {
    {"nx_save_npy", save_npy, true, false, NULL},
    {"nx_load_npy", load_npy, false, false, NULL},
    {"nx_save_safetensors", save_safetensors, true, false, NULL},
    {"nx_archive_load", load_archive, false, false, NULL},
    {"nx_import_file, private", import_private, false, false, NULL},
    {"nx_import_file, misaligned", import_misaligned, false, false, NULL},
    {"nx_import_file, growing", import_growing, false, false, NULL},
    {"nxi_disk_store", store_entry, false, true, NULL},
    {"NX_DUMP_DIR", dump, false, false, "dumps"},
};

/* ---- one call that fails */

/* The failure names the file, and says what errno says. */
static void check_told(const job *j, nx_status status) {
  nx_error e = {.size = sizeof e};
  nx_status left = nx_error_take(&e);
  if (j->silent) return;
  if (status != left)
    wrong("%s, and the error is %s", nx_status_name(status), nx_status_name(left));
  if (!status) return;
  bool memory = status == NX_OUT_OF_MEMORY && fault_now == ENOMEM;
  if (status != NX_IO && !memory) wrong("%s: %s", nx_status_name(status), e.message);
  if (!strstr(e.message, j->told ? j->told : folder) || !strstr(e.message, strerror(fault_now)))
    wrong("no path or no reason: %s", e.message);
}

static char old_file[8192], new_file[8192];
static size_t old_size, new_size;

static void check_file(const job *j, nx_status status) {
  static char is[8192];
  if (!j->replaces) return;
  size_t n = contents(is, sizeof is);
  bool is_old = n == old_size && !memcmp(is, old_file, n),
       is_new = n == new_size && !memcmp(is, new_file, n);
  if (!is_new && (!status || !is_old)) wrong("%zu bytes are left of the file", n);
}

static void put_old(void) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(old_file, 1, old_size, f) != old_size || fclose(f))
    wrong("the old file cannot be written");
}

static bool fail_once(const job *j) {
  int files = count_in(folder), open_before = open_files();
  if (j->replaces) put_old();
  call = "none";
  nxt_faults_arm(folder, fault_now, number);
  nx_status status = j->run();
  const char *at;
  bool struck = nxt_faults_disarm(&at);
  if (struck) call = at;
  struck = struck || strcmp(call, "none") != 0;
  check_told(j, status);
  if (status && !struck) wrong("%s without a fault", nx_status_name(status));
  check_file(j, status);
  if (fault_now == NXT_SHORT && status) wrong("half of what was asked for is no failure");
  if (fault_now == EINTR && status && !strcmp(call, "write")) wrong("a signal is no failure");
  nx_context_collect(ctx);
  bool grows = !strcmp(j->name, "nx_import_file, growing") || j->silent || j->told;
  if (!grows && count_in(folder) != files) wrong("%d files beside it", count_in(folder) - files);
  if (open_files() != open_before) wrong("%d files more are open", open_files() - open_before);
  if (j->run() != NX_OK) wrong("it cannot be tried again");
  nx_error_take(NULL);
  if (j->silent && count_in(folder) != files + 1 && count_in(folder) != files)
    wrong("files beside the entry");
  return struck;
}

static void try_all(const job *j) {
  static const int faults[] = {ENOSPC, EIO, EINTR, EMFILE, NXT_SHORT};
  doing = j->name;
  long calls = 0;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    fault_now = faults[i];
    for (number = 0; fail_once(j); number++)
      if (number > 500) wrong("there is no end");
    calls = number;
  }
  printf("%s: %ld calls, each with %zu faults\n", j->name, calls, sizeof faults / sizeof *faults);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  mkdir(argv[1], 0700);
  if (!realpath(argv[1], folder)) return 2;
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(dumps, sizeof dumps, "%s/dumps", folder);
  setenv("NX_DUMP_DIR", dumps, 1);
  setenv("NX_EXECUTOR", "kernel-interp", 1);
  setlinebuf(stdout);
  nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1};
  empty_folder(folder);
  if (nx_context_create(&o, &ctx)) wrong("no context");
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
    const job *j = &jobs[i];
    old_size = (size_t)snprintf(old_file, sizeof old_file,
                                "the old contents of a file that is to be replaced");
    if (j->silent) empty_folder(folder);
    if (j->run() != NX_OK) wrong("%s does not work", j->name);
    if (j->replaces) new_size = contents(new_file, sizeof new_file);
    try_all(j);
    empty_folder(dumps);
  }
  nx_context_release(ctx);
  empty_folder(folder);
  rmdir(dumps);
  rmdir(folder);
  return 0;
}
