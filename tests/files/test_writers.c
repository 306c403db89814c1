/* SPDX-License-Identifier: ISC */
/* Tests of files that replace others: a file's contents are on the disk before the file gets the
 * name, and the name is on the disk when the call returns. This program replaces the C library's
 * fsync and rename by functions that record their calls, and that fail if a test wants it. */
#include "tests/util/api.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char root[] = "/tmp/nx_writers_XXXXXX";
static char path[256];

/* ---- the record of calls. F: a file is synced; R: a file is renamed; D: a folder is synced */

static char calls[16];
static int64_t synced_bytes;
static int failing_call = -1, failure; /* the number of the call that fails, and its errno */
static int interruptions;              /* so many calls of fsync end with EINTR first */

static bool fails_now(char call) {
  size_t n = strlen(calls);
  if (n + 1 < sizeof calls) calls[n] = call;
  errno = failure;
  return (int)n == failing_call;
}

int fsync(int fd) {
  struct stat s;
  if (fstat(fd, &s) != 0) return -1;
  if (interruptions > 0) {
    interruptions--;
    errno = EINTR;
    return -1;
  }
  if (!S_ISDIR(s.st_mode)) synced_bytes = s.st_size;
  return fails_now(S_ISDIR(s.st_mode) ? 'D' : 'F') ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to) {
  return fails_now('R') ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* The first piece of a large array is on its way to the disk: waits until the poll says to stop. */
static _Atomic bool waits, pushed, told;

int sync_file_range(int fd, off64_t at, off64_t bytes, unsigned flags) {
  (void)fd, (void)at, (void)bytes, (void)flags;
  atomic_store(&pushed, true);
  while (atomic_load(&waits) && !atomic_load(&told)) usleep(100);
  return 0;
}

static int32_t stop_once_pushed(void *user) {
  (void)user;
  if (!atomic_load(&pushed)) return 0;
  atomic_store(&told, true);
  return 1;
}

static void note_anew(int failing, int with) {
  memset(calls, 0, sizeof calls);
  failing_call = failing;
  failure = with;
}

/* ---- both writers */

static nx_status save_npy(nx_tensor *t, const char *to) { return nx_save_npy(t, to, NULL); }
static nx_status save_safetensors(nx_tensor *t, const char *to) {
  return nx_save_safetensors(ctx, to, &(nx_named_tensor){"t", t}, 1, NULL, 0, NULL);
}
static nx_status (*const writers[])(nx_tensor *t, const char *to) = {save_npy, save_safetensors};

/* The first element in a file of either format, in which the elements are at the end. */
static float stored(int64_t elements) {
  float values[64] = {0};
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    fail();
    return 0;
  }
  assert_int_equal(fseek(f, -4 * (long)elements, SEEK_END), 0);
  assert_int_equal(fread(values, 4, (size_t)elements, f), elements);
  fclose(f);
  return values[0];
}

static int count_in(const char *folder) {
  int n = 0;
  DIR *d = opendir(folder);
  if (d == NULL) {
    fail();
    return 0;
  }
  while (readdir(d) != NULL) n++;
  closedir(d);
  return n;
}

static void order(void **state) {
  (void)state;
  nx_tensor *t = vector(3, 5, 1);
  for (size_t w = 0; w < 2; w++) {
    struct stat s;
    for (int again = 0; again < 2; again++) { /* a new file, and one that is replaced */
      note_anew(-1, 0);
      interruptions = again;
      OK(writers[w](t, path));
      assert_string_equal(calls, "FRD");
      assert_int_equal(stat(path, &s), 0);
      assert_int_equal(synced_bytes, s.st_size);
    }
    assert_int_equal(unlink(path), 0);
  }
  release(t);
}

/* For a name without a folder the working directory is synced; for a link, the folder of its
 * target. */
static void folders(void **state) {
  (void)state;
  char inner[300], link[300];
  struct stat s;
  nx_tensor *t = vector(3, 5, 1);
  snprintf(inner, sizeof inner, "%s/inner", root);
  snprintf(link, sizeof link, "%s/link", root);
  assert_int_equal(chdir(root), 0);
  note_anew(-1, 0);
  OK(nx_save_npy(t, "bare.npy", NULL));
  assert_string_equal(calls, "FRD");
  assert_int_equal(symlink("bare.npy", link), 0);
  note_anew(-1, 0);
  OK(nx_save_npy(t, link, NULL));
  assert_string_equal(calls, "FRD");
  assert_int_equal(lstat(link, &s), 0);
  assert_true(S_ISLNK(s.st_mode));
  note_anew(-1, 0);
  OK(nx_save_npy(t, "/dev/null", NULL));
  assert_string_equal(calls, ""); /* nothing to sync, nothing to rename */
  assert_int_equal(unlink("bare.npy"), 0);
  assert_int_equal(unlink(link), 0);
  assert_int_equal(chdir("/"), 0);
  release(t);
}

/* A link to a file that does not exist yet is followed too; a link that cannot be followed is
 * reported. */
static void links(void **state) {
  (void)state;
  char far[300], link[300], round[300];
  struct stat s;
  nx_tensor *t = vector(3, 5, 1);
  snprintf(far, sizeof far, "%s/far", root);
  snprintf(link, sizeof link, "%s/far/link", root);
  snprintf(round, sizeof round, "%s/far/round", root);
  assert_int_equal(mkdir(far, 0700), 0);
  assert_int_equal(symlink("../new.npy", link), 0);
  assert_int_equal(symlink("round", round), 0);
  for (size_t w = 0; w < 2; w++) {
    snprintf(path, sizeof path, "%s/new.npy", root);
    note_anew(-1, 0);
    OK(writers[w](t, link));
    assert_int_equal(stored(3), 5);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(writers[w](t, round), NX_IO);
    nx_error e = {.size = sizeof e};
    nx_error_take(&e);
    assert_non_null(strstr(e.message, round));
    assert_int_equal(lstat(round, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
  }
  assert_int_equal(unlink(link) | unlink(round) | rmdir(far), 0);
  snprintf(path, sizeof path, "%s/file", root);
  release(t);
}

/* A user who could not read the old file cannot read the new one. */
static void permissions(void **state) {
  (void)state;
  static const mode_t modes[] = {0600, 0640, 0664, 0400};
  nx_tensor *t = vector(3, 5, 1);
  for (size_t i = 0; i < 2 * sizeof modes / sizeof modes[0]; i++) {
    struct stat s;
    note_anew(-1, 0);
    OK(writers[i % 2](t, path));
    assert_int_equal(chmod(path, modes[i / 2]), 0);
    OK(writers[i % 2](t, path));
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 07777, modes[i / 2]);
    assert_int_equal(unlink(path), 0);
  }
  release(t);
}

/* The longest name that a folder can have. */
static void long_names(void **state) {
  (void)state;
  char name[256], file[512];
  nx_tensor *t = vector(3, 5, 1);
  memset(name, 'n', 255);
  name[255] = 0;
  snprintf(file, sizeof file, "%s/%s", root, name);
  note_anew(-1, 0);
  OK(nx_save_npy(t, file, NULL));
  assert_int_equal(count_in(root), 3);
  assert_int_equal(unlink(file), 0);
  release(t);
}

/* Each call fails once. The failure is reported; the old file is kept, except if only the sync of
 * the folder failed; and no other file and no open descriptor is left. */
static void each_call_fails(void **state) {
  (void)state;
  nx_tensor *old = vector(3, 5, 1), *new = vector(3, 7, 1);
  for (size_t w = 0; w < 2; w++) {
    note_anew(-1, 0);
    OK(writers[w](old, path));
    int files = count_in(root), open_files = count_in("/proc/self/fd");
    for (int call = 0; call < 3; call++) {
      nx_error e = {.size = sizeof e};
      note_anew(call, EIO);
      assert_int_equal(writers[w](new, path), NX_IO);
      assert_int_equal(nx_error_take(&e), NX_IO);
      assert_non_null(strstr(e.message, path));
      assert_non_null(strstr(e.message, strerror(EIO)));
      assert_int_equal(strlen(calls), call + 1);
      assert_true(stored(3) == (call < 2 ? 5 : 7));
      assert_int_equal(count_in(root), files);
      assert_int_equal(count_in("/proc/self/fd"), open_files);
    }
    note_anew(2, EINVAL); /* a file system whose folders cannot be synced */
    OK(writers[w](new, path));
    assert_true(stored(3) == 7);
    assert_int_equal(unlink(path), 0);
  }
  note_anew(-1, 0);
  release(old), release(new);
}

/* If the folder cannot be opened, that is noticed before the old file is replaced. */
static void no_descriptor_for_the_folder(void **state) {
  (void)state;
  nx_tensor *old = vector(3, 5, 1), *new = vector(3, 7, 1);
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (size_t w = 0; w < 2; w++) {
    note_anew(-1, 0);
    OK(writers[w](old, path));
    OK(nx_realize(ctx, &new, 1, NULL));
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(next >= 0);
    close(next);
    few = before;
    few.rlim_cur = (rlim_t)next + 1; /* one for the file */
    note_anew(-1, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    nx_status status = writers[w](new, path);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    FAILS(NX_IO, status);
    assert_string_equal(calls, "F");
    assert_true(stored(3) == 5);
    assert_int_equal(unlink(path), 0);
  }
  release(old), release(new);
}

/* Arrays that a format cannot store are refused before a file is created. */
static void refused(void **state) {
  (void)state;
  nx_tensor *x = constant(2, 1);
  nx_named_tensor two[] = {{"a", x}, {"a", x}};
  nx_text_pair pairs[] = {{"k", "1"}, {"k", "2"}};
  char nowhere[sizeof path + 16];
  snprintf(nowhere, sizeof nowhere, "%s/no/such", root);
  FAILS(NX_INVALID_ARGUMENT, nx_save_safetensors(ctx, path, two, 2, NULL, 0, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_save_safetensors(ctx, path, two, 1, pairs, 2, NULL));
  pairs[1].key = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_save_safetensors(ctx, path, two, 1, pairs, 2, NULL));
  two[0].name = "__metadata__";
  FAILS(NX_INVALID_ARGUMENT, nx_save_safetensors(ctx, path, two, 1, NULL, 0, NULL));
  two[0].name = "\xff";
  FAILS(NX_INVALID_ARGUMENT, nx_save_safetensors(ctx, path, two, 1, NULL, 0, NULL));
  two[0] = (nx_named_tensor){"x", NULL};
  FAILS(NX_INVALID_ARGUMENT, nx_save_safetensors(ctx, path, two, 1, NULL, 0, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_save_safetensors(ctx, path, NULL, 1, NULL, 0, NULL));
  FAILS(NX_IO, nx_save_safetensors(ctx, nowhere, two, 0, NULL, 0, NULL));
  assert_int_equal(access(path, F_OK), -1);
  OK(nx_save_safetensors(ctx, path, NULL, 0, NULL, 0, NULL)); /* no tensors are legal */
  nx_archive *a = NULL;
  OK(nx_archive_open(path, &a));
  assert_int_equal(nx_archive_count(a), 0);
  nx_archive_close(a);
  assert_int_equal(unlink(path), 0);
}

/* ---- what is written */

/* Two elements a byte, the first one in its lower half, behind types that take more; an odd number
 * of them is no whole number of bytes. */
static void nibbles(void **state) {
  (void)state;
  static const uint8_t bits[] = {0x21, 0x43, 0xf7}, scale[] = {127};
  nx_tensor *t[2], *odd = NULL, *back = NULL;
  uint8_t is[3];
  for (int i = 0; i < 2; i++)
    t[i] = nx_from_data(ctx, 0, i ? NX_F8E8M0 : NX_F4E2M1, NX_SHAPE(i ? 1 : 2, i ? 1 : 3),
                        i ? scale : bits, i ? sizeof scale : sizeof bits);
  assert_true(t[0] && t[1]);
  const nx_named_tensor named[2] = {{"w", t[0]}, {"s", t[1]}};
  OK(nx_save_safetensors(ctx, path, named, 2, NULL, 0, NULL));
  nx_archive *a = NULL;
  OK(nx_archive_open(path, &a));
  nx_array_info info = {.size = sizeof info};
  OK(nx_archive_describe(a, 1, &info));
  assert_string_equal(info.type, "F4");
  assert_int_equal(info.dtype, NX_F4E2M1);
  OK(nx_archive_load(a, ctx, "w", NULL, &back));
  OK(nx_read(back, is, sizeof is, NULL));
  assert_memory_equal(is, bits, sizeof bits);
  nx_archive_close(a);
  odd = nx_shrink(t[0], (const int64_t[]){0, 0}, (const int64_t[]){1, 3}, 2);
  FAILS(NX_INVALID_ARGUMENT,
        nx_save_safetensors(ctx, path, &(nx_named_tensor){"w", odd}, 1, NULL, 0, NULL));
  remove(path);
}

static int setup(void **state) {
  assert_non_null(mkdtemp(root));
  snprintf(path, sizeof path, "%s/file", root);
  return open_context(state);
}

static int teardown(void **state) {
  rmdir(root);
  return close_context(state);
}

static void stopped_while_written(void **state) {
  (void)state;
  const nx_run_options o = {.size = sizeof o, .poll = stop_once_pushed};
  nx_tensor *x = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(1 << 24), NX_NUMBER(1)));
  OK(nx_realize(ctx, &x, 1, NULL));
  snprintf(path, sizeof path, "%s/stopped", root);
  atomic_store(&waits, true);
  for (int i = 0; i < 2; i++) {
    const nx_named_tensor named = {"t", x};
    atomic_store(&pushed, false);
    atomic_store(&told, false);
    FAILS(NX_INTERRUPTED, i == 0 ? nx_save_npy(x, path, &o)
                                 : nx_save_safetensors(ctx, path, &named, 1, NULL, 0, &o));
    assert_true(access(path, F_OK) != 0);
  }
  atomic_store(&waits, false);
}

NXT_MAIN(writers) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(order),
      IN_SCOPE(folders),
      IN_SCOPE(links),
      IN_SCOPE(permissions),
      IN_SCOPE(long_names),
      IN_SCOPE(each_call_fails),
      IN_SCOPE(no_descriptor_for_the_folder),
      IN_SCOPE(refused),
      IN_SCOPE(nibbles),
      IN_SCOPE(stopped_while_written),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
