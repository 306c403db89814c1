/* SPDX-License-Identifier: ISC */
/* Fuzz targets: what each does with bytes, and how its inputs are mutated so that they stay nearly
 * valid. fuzz_libfuzzer.c runs one of them under libFuzzer, fuzz_replay.c all of them on the corpus
 * in this folder, in every build. */
#ifndef NXT_FUZZ_H
#define NXT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/util/random_values.h"

typedef struct fuzz_target {
  const char *name; /* also of its folder of the corpus */
  /* prints a sentence and aborts if something is wrong */
  void (*run)(const uint8_t *data, size_t n);
  size_t (*mutate)(uint8_t *data, size_t n, size_t most, nxt_random *r); /* NULL: bytes alone */
  /* Makes one input of two; NULL: any bytes. */
  size_t (*cross)(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                  size_t most, nxt_random *r);
  size_t most; /* bytes of an input */
} fuzz_target;
extern const fuzz_target fuzz_targets[];
extern const size_t fuzz_n_targets;
const fuzz_target *fuzz_find(const char *name); /* NULL: there is none */

/* Reports that something is wrong with the library, and aborts. */
_Noreturn void fuzz_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern void (*fuzz_on_wrong)(void); /* called before it aborts, to print more; may be NULL */
/* Numbers that depend on the input alone. */
nxt_random fuzz_random_of(const uint8_t *data, size_t n);
/* Changes bytes as libFuzzer does, or, where there is none, simply. Returns the new size. */
size_t fuzz_mutate_bytes(uint8_t *data, size_t n, size_t most, nxt_random *r);

/* ---- target_ir.c */
void fuzz_graph(const uint8_t *data, size_t n);
void fuzz_kernel(const uint8_t *data, size_t n);
void fuzz_recipe(const uint8_t *data, size_t n); /* a random graph whose decisions are the bytes */
/* ---- target_files.c */
void fuzz_npy(const uint8_t *data, size_t n);
void fuzz_npz(const uint8_t *data, size_t n);
void fuzz_safetensors(const uint8_t *data, size_t n);
void fuzz_cache(const uint8_t *data, size_t n);
/* ---- target_api.c, target_dlpack.c */
void fuzz_api(const uint8_t *data, size_t n);
void fuzz_dlpack(const uint8_t *data, size_t n);
void fuzz_stablehlo(const uint8_t *data, size_t n);

/* ---- mutate_text.c: lines, tokens, names, numbers and words of the tables of operations */
size_t fuzz_mutate_graph(uint8_t *data, size_t n, size_t most, nxt_random *r);
size_t fuzz_mutate_kernel(uint8_t *data, size_t n, size_t most, nxt_random *r);
size_t fuzz_cross_text(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                       uint8_t *out, size_t most, nxt_random *r);
/* Texts of both levels that are valid; 0: none that fits. */
size_t fuzz_make_graph(uint8_t *data, size_t most, nxt_random *r);
size_t fuzz_make_kernel(uint8_t *data, size_t most, nxt_random *r);

/* ---- mutate_files.c: bytes are changed, and lengths and checksums of the format are mostly
 * corrected */
size_t fuzz_mutate_npy(uint8_t *data, size_t n, size_t most, nxt_random *r);
size_t fuzz_mutate_npz(uint8_t *data, size_t n, size_t most, nxt_random *r);
size_t fuzz_mutate_safetensors(uint8_t *data, size_t n, size_t most, nxt_random *r);
size_t fuzz_mutate_cache(uint8_t *data, size_t n, size_t most, nxt_random *r);

#endif
