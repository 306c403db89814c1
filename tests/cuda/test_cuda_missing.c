/* SPDX-License-Identifier: ISC */
/* Tests with missing libraries of NVIDIA: everything else works, and the report of an action, the
 * plan and the device name the missing library and the work that is done without it. With the
 * argument "found" the fake libraries are in packages of a Python environment, and are used. Also
 * tests where packages are searched. */
#include "fake_device.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen_cuda/toolkit.h"
#include "tests/util/runner.h"

static char root[] = "/tmp/nx_packages_XXXXXX";
static bool found; /* the libraries are present */

/* ---- where files are searched */

/* Makes an empty file or a link, and its folders; the returned path is static. */
static const char *place(const char *target, const char *format, ...) {
  static char path[PATH_MAX];
  va_list arguments;
  int n = snprintf(path, sizeof path, "%s/", root);
  va_start(arguments, format);
  vsnprintf(path + n, sizeof path - (size_t)n, format, arguments);
  va_end(arguments);
  for (char *p = path + n; (p = strchr(p, '/')) != NULL; *p++ = '/') {
    *p = 0;
    mkdir(path, 0777);
  }
  int fd = target == NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (target != NULL) assert_int_equal(symlink(target, path), 0);
  else assert_int_equal(close(fd), 0);
  return path;
}

static void environment(const char *name, const char *value) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", root, value != NULL ? value : "");
  if (value != NULL) setenv(name, path, 1);
  else unsetenv(name);
}

static void expect_packaged(const char *file, const char *wanted) {
  char path[PATH_MAX] = "";
  bool there = nxu_find_packaged(file, path);
  assert_int_equal(there, wanted != NULL);
  if (there) assert_string_equal(path + strlen(root) + 1, wanted);
}

static void expect_beside(const char *library, const char *file, const char *wanted) {
  char path[PATH_MAX] = "", own[PATH_MAX];
  snprintf(own, sizeof own, "%s/%s", root, library);
  bool there = nxu_find_beside(own, file, path);
  assert_int_equal(there, wanted != NULL);
  if (there) assert_string_equal(path + strlen(root) + 1, wanted);
}

static void where_packages_are(void **state) {
  (void)state;
  char *before[2] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX")};
  for (int i = 0; i < 2; i++) before[i] = before[i] != NULL ? strdup(before[i]) : NULL;
  place(NULL, "a/lib/python3.11/site-packages/nvidia/some/lib/libone.so.12");
  place(NULL, "a/lib/python3.11/site-packages/nvidia/cu13/lib/libone.so.13");
  place(NULL, "a/lib/python3.11/site-packages/nvidia/any/lib/libone.so.13");
  place(NULL, "a/lib/python3.11/site-packages/nvidia/any/include/libtwo.so.1");
  place(NULL, "b/lib64/python3.12/site-packages/nvidia/some/lib/libone.so.12");
  place(NULL, "b/lib/libthree.so.1");
  environment("VIRTUAL_ENV", NULL), environment("CONDA_PREFIX", NULL);
  expect_packaged("libone.so.12", NULL);
  environment("VIRTUAL_ENV", "a");
  expect_packaged("libone.so.12", "a/lib/python3.11/site-packages/nvidia/some/lib/libone.so.12");
  expect_packaged("libone.so.13", "a/lib/python3.11/site-packages/nvidia/any/lib/libone.so.13");
  expect_packaged("libone.so.14", NULL);
  expect_packaged("libtwo.so.1", NULL);
  environment("CONDA_PREFIX", "b");
  expect_packaged("libone.so.12", "a/lib/python3.11/site-packages/nvidia/some/lib/libone.so.12");
  expect_packaged("libthree.so.1", "b/lib/libthree.so.1");
  environment("VIRTUAL_ENV", "nowhere");
  expect_packaged("libone.so.12", "b/lib64/python3.12/site-packages/nvidia/some/lib/libone.so.12");
  char longest[PATH_MAX + 9];
  memset(longest, 'x', sizeof longest);
  longest[sizeof longest - 1] = 0;
  setenv("VIRTUAL_ENV", longest, 1), setenv("CONDA_PREFIX", "", 1);
  expect_packaged("libone.so.12", NULL);
  static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
  for (int i = 0; i < 2; i++) {
    if (before[i] != NULL) setenv(names[i], before[i], 1);
    else unsetenv(names[i]);
    free(before[i]);
  }
}

/* In a wheel: beside the package that this library is in, or in a folder of libraries there. */
static void beside_the_library(void **state) {
  (void)state;
  place(NULL, "c/site-packages/nvidia/cublas/lib/libone.so.12");
  place(NULL, "c/site-packages/nx/_native.so");
  place(NULL, "c/site-packages/nx.libs/libnx.so.0");
  place(NULL, "c/lib/libnx.so.0");
  place(NULL, "d/dist-packages/nvidia/cublas/lib/libone.so.12");
  place(NULL, "d/dist-packages/native.so");
  const char *wanted = "c/site-packages/nvidia/cublas/lib/libone.so.12";
  expect_beside("c/site-packages/nx/_native.so", "libone.so.12", wanted);
  expect_beside("c/site-packages/nx.libs/libnx.so.0", "libone.so.12", wanted);
  expect_beside("c/lib/../site-packages/nx/_native.so", "libone.so.12", wanted);
  expect_beside("d/dist-packages/native.so", "libone.so.12",
                "d/dist-packages/nvidia/cublas/lib/libone.so.12");
  expect_beside("c/lib/libnx.so.0", "libone.so.12", NULL);
  expect_beside("c/site-packages/nx/gone.so", "libone.so.12", NULL);
  expect_beside("c/site-packages/nx/_native.so", "libone.so.13", NULL);
}

/* ---- messages */

/* The report of realising t, and that its plan has this sentence, or has none of a missing
 * library. */
static nx_report realised(nx_tensor *t, const char *sentence) {
  char *text = NULL;
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_dump(&t, 1, "plan", &text));
  if (text == NULL || (strstr(text, ", because ") != NULL) != (sentence != NULL) ||
      (sentence != NULL && strstr(text, sentence) == NULL))
    fail_msg("%s", text != NULL ? text : "no plan");
  nx_string_free(text);
  OK(nx_realize(ctx, &t, 1, &o));
  OK(nx_wait(ctx, CUDA));
  return r;
}

static void expect_said(const nx_report *r, uint64_t n, const char *library) {
  assert_int_equal(r->without_library, found ? 0 : n);
  assert_int_equal(r->missing_library == NULL, found);
  if (!found && r->missing_library != NULL) assert_non_null(strstr(r->missing_library, library));
}

static void products(void **state) {
  (void)state;
  nx_tensor *a = GOOD(nx_full(ctx, CUDA, NX_F32, NX_SHAPE(40, 40), NX_NUMBER(2)));
  OK(nx_realize(ctx, &a, 1, NULL));
  nx_report r = realised(GOOD(nx_matmul(a, a)),
                         found ? NULL : "products that are generated kernels: 1, because cuBLASLt");
  expect_said(&r, 1, "cuBLASLt");
  assert_int_equal(r.library_calls, found);
  /* Small products are generated code in any case. */
  nx_tensor *small = GOOD(nx_full(ctx, CUDA, NX_F32, NX_SHAPE(4, 4), NX_NUMBER(2)));
  OK(nx_realize(ctx, &small, 1, NULL));
  r = realised(GOOD(nx_matmul(small, small)), NULL);
  assert_int_equal(r.without_library, 0);
  assert_null(r.missing_library);
}

static void transforms(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_full(ctx, CUDA, NX_C64, NX_SHAPE(8), NX_NUMBER(1)));
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_report r = realised(GOOD(nx_fft(x, NX_AXES(0))), found ? NULL : "by the host, because cuFFT");
  expect_said(&r, 1, "cuFFT");
  assert_int_equal(r.host_calls, !found);
}

static void factors(void **state) {
  (void)state;
  nx_tensor *host = GOOD(nx_eye(ctx, 0, NX_F32, 3, 3, 0)), *values = GOOD(nx_eigvalsh(host, 0));
  if (nx_realize(ctx, &values, 1, NULL) != NX_OK) {
    nx_error_take(NULL);
    skip(); /* no LAPACK */
  }
  nx_tensor *x = GOOD(nx_eye(ctx, CUDA, NX_F32, 3, 3, 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_report r = realised(GOOD(nx_eigvalsh(x, 0)), found ? NULL : "by the host, because cuSOLVER");
  expect_said(&r, 1, "cuSOLVER");
}

/* ---- */

static int setup(void **state) {
  static const char *const variables[] = {"NX_CUBLAS", "NX_CUFFT", "NX_CUSOLVER"};
  setenv("NX_CUDA", NXT_FAKE, 1);
  setenv("NX_NVRTC", NXT_FAKE, 1);
  setenv("NX_CACHE_DIR", "", 1);
  for (int i = 0; i < 3; i++) {
    if (found) unsetenv(variables[i]);
    else setenv(variables[i], "/nowhere/at/all.so", 1);
  }
  /* Libraries of CUDA 12 come before those of 13, which this machine may have. */
  setenv("NXT_VERSION", "12040", 1);
  if (mkdtemp(root) == NULL) return 1;
  if (found) {
    static const char packages[] = "venv/lib/python3.11/site-packages/nvidia";
    place(NXT_FAKE, "%s/cublas/lib/libcublasLt.so.12", packages);
    place(NXT_FAKE, "%s/cufft/lib/libcufft.so.11", packages);
    place(NXT_FAKE, "%s/cusolver/lib/libcusolver.so.11", packages);
    environment("VIRTUAL_ENV", "venv");
  }
  return open_context(state);
}

static int teardown(void **state) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  return system(command) + close_context(state);
}

/* Those of this machine would come first. */
static bool machine_has_some(void) {
  static const char *const files[] = {"libcublasLt.so.12", "libcufft.so.11", "libcusolver.so.11"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (dlopen(files[i], RTLD_LAZY | RTLD_LOCAL) != NULL) return true;
  return false;
}

NXT_MAIN(cuda_missing) {
  found = argc > 1 && strcmp(argv[1], "found") == 0;
  if (found && machine_has_some()) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(where_packages_are),
      cmocka_unit_test(beside_the_library),
      IN_SCOPE(products),
      IN_SCOPE(transforms),
      IN_SCOPE(factors),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
