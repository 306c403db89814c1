/* SPDX-License-Identifier: ISC */
/* Programs for several partitions that say by XLA's own attribute, mhlo.sharding, how arguments and
 * results are divided: each text as an argument's and as a result's, with each other. */
#include <stdio.h>
#include <unistd.h>

#include "plugin.h"

enum { PARTS = 4, SIDE = 4, N = SIDE * SIDE };

/* Of a square: the tiles along both dimensions, and which tile each partition has. */
static const struct {
  const char *text;
  int rows, columns, tile[PARTS];
} kinds[] = {
    {"{replicated}", 1, 1, {0, 0, 0, 0}},
    {"{devices=[4,1]<=[4]}", 4, 1, {0, 1, 2, 3}},
    {"{devices=[1,4]<=[4]}", 1, 4, {0, 1, 2, 3}},
    {"{devices=[2,2]<=[4]}", 2, 2, {0, 1, 2, 3}},
    {"{devices=[2,2]<=[2,2]T(1,0)}", 2, 2, {0, 2, 1, 3}},
    {"{devices=[4,1]<=[2,2]T(1,0)}", 4, 1, {0, 2, 1, 3}},
    {"{devices=[2,1,2]<=[4] last_tile_dim_replicate}", 2, 1, {0, 0, 1, 1}},
    {"{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", 1, 2, {0, 1, 0, 1}},
    {"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={replicated}}", 2, 1, {0, 1, 0, 1}},
    {"{devices=[2,2]0,1,2,3}", 2, 2, {0, 1, 2, 3}},
    {"{devices=[2,2]3,1,0,2}", 2, 2, {2, 1, 3, 0}},
    {"{devices=[1,2,2]3,1,0,2 last_tile_dim_replicate}", 1, 2, {1, 0, 1, 0}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static nxj_error *try_parts(nxj_client *c, const char *text, nxj_loaded **out) {
  static const char options[] = {0x1a, 4, 0x20, 1, 0x28, PARTS};
  nxj_program p = {.size = sizeof p,
                   .code = (char *)(uintptr_t)text,
                   .n = strlen(text),
                   .format = "mlir",
                   .n_format = 4};
  ARGS(client_compile, a, .client = c, .program = &p, .options = options,
       .n_options = sizeof options);
  nxj_error *e = RUN(Client_Compile, &a);
  *out = a.loaded;
  return e;
}

/* The tile of 0, 1, 2, .. times a factor that a partition has; its elements. */
static size_t tile_of(int kind, int part, float factor, float *out, int64_t dims[2]) {
  int rows = SIDE / kinds[kind].rows, columns = SIDE / kinds[kind].columns;
  int tile = kinds[kind].tile[part], at = 0;
  int row = tile / kinds[kind].columns * rows, column = tile % kinds[kind].columns * columns;
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < columns; k++) out[at++] = factor * (float)((row + i) * SIDE + column + k);
  dims[0] = rows;
  dims[1] = columns;
  return (size_t)at;
}

static nxj_buffer *upload_part(nxj_client *c, int kind, int part) {
  float data[N];
  int64_t dims[2];
  ARGS(client_lookup, d, .client = c, .id = part);
  good(RUN(Client_LookupDevice, &d));
  tile_of(kind, part, 1, data, dims);
  ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = dims, .rank = 2,
       .device = d.device);
  good(RUN(Client_BufferFromHostBuffer, &a));
  drop_event(a.done);
  return a.buffer;
}

/* Calls a program of one argument and one result, which is `factor` times the argument. */
static void call_parts(nxj_client *c, nxj_loaded *l, int from, int to, float factor) {
  nxj_buffer *in[PARTS], *out[PARTS], *const *lists[PARTS], **places[PARTS];
  nxj_execute_options o = {.size = sizeof o};
  float got[N], want[N];
  int64_t dims[2];
  for (int i = 0; i < PARTS; i++) {
    in[i] = upload_part(c, from, i);
    lists[i] = &in[i];
    places[i] = &out[i];
  }
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = lists, .n_devices = PARTS, .n_inputs = 1,
       .outputs = places);
  good(RUN(LoadedExecutable_Execute, &a));
  for (int i = 0; i < PARTS; i++) {
    size_t n = tile_of(to, i, factor, want, dims);
    ARGS(buffer_dims, d, .buffer = out[i]);
    good(RUN(Buffer_Dimensions, &d));
    assert_memory_equal(d.dims, dims, sizeof dims);
    good(try_download(out[i], got, n));
    if (memcmp(got, want, n * sizeof *got) != 0)
      fail_msg("partition %d, from %s to %s", i, kinds[from].text, kinds[to].text);
    drop_buffer(in[i]);
    drop_buffer(out[i]);
  }
}

static void divides(void **state) {
  (void)state;
  char text[512];
  nxj_client *c = make_client();
  for (int from = 0; from < KINDS; from++)
    for (int to = 0; to < KINDS; to++) {
      nxj_loaded *l;
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<4x4xf32> {mhlo.sharding = \"%s\"}) -> "
               "(tensor<4x4xf32> {mhlo.sharding = \"%s\"}) {\n"
               "  %%0 = stablehlo.add %%a, %%a : tensor<4x4xf32>\n"
               "  return %%0 : tensor<4x4xf32>\n}\n",
               kinds[from].text, kinds[to].text);
      good(try_parts(c, text, &l));
      call_parts(c, l, from, to, 2);
      drop_loaded(l);
    }
  drop_client(c);
}

/* A result that says nothing is divided as its operand, or as a constraint on the way. */
static void follows(void **state) {
  (void)state;
  char text[512];
  nxj_client *c = make_client();
  for (int kind = 0; kind < KINDS; kind++) {
    nxj_loaded *l;
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x4xf32> {mhlo.sharding = \"%s\"}) -> tensor<4x4xf32> {\n"
             "  %%0 = stablehlo.add %%a, %%a : tensor<4x4xf32>\n"
             "  %%1 = stablehlo.custom_call @Sharding(%%0) {mhlo.sharding = \"%s\"} : "
             "(tensor<4x4xf32>) -> tensor<4x4xf32>\n"
             "  return %%%d : tensor<4x4xf32>\n}\n",
             kinds[kind].text, kinds[(kind + 3) % KINDS].text, kind % 2);
    good(try_parts(c, text, &l));
    call_parts(c, l, kind, kind % 2 == 0 ? kind : (kind + 3) % KINDS, 2);
    drop_loaded(l);
  }
  drop_client(c);
}

/* What each partition does with its rows: their sum over all, which is 4 rows times 4 of them. */
static void manual_parts(void **state) {
  (void)state;
  static const char body[] =
      "  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = \"{devices=[4,1]<=[4]}\"} : "
      "(tensor<4x4xf32>) -> tensor<4x4xf32>\n"
      "  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = \"{manual}\"} : "
      "(tensor<4x4xf32>) -> tensor<1x4xf32>\n"
      "  %2 = \"stablehlo.all_reduce\"(%1) <{replica_groups = dense<[[0, 1, 2, 3]]> : "
      "tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
      "use_global_device_ids}> ({\n"
      "  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
      "    %s = stablehlo.add %x, %y : tensor<f32>\n"
      "    stablehlo.return %s : tensor<f32>\n"
      "  }) : (tensor<1x4xf32>) -> tensor<1x4xf32>\n"
      "  %3 = stablehlo.subtract %2, %2 : tensor<1x4xf32>\n"
      "  %4 = stablehlo.add %3, %1 : tensor<1x4xf32>\n"
      "  %5 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = \"{manual}\"} : "
      "(tensor<1x4xf32>) -> tensor<1x4xf32>\n"
      "  %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = "
      "\"{devices=[4,1]<=[4]}\"} : (tensor<1x4xf32>) -> tensor<4x4xf32>\n"
      "  return %6 : tensor<4x4xf32>\n}\n";
  char text[2048];
  nxj_client *c = make_client();
  for (int kind = 0; kind < KINDS; kind++) {
    nxj_loaded *l;
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<4x4xf32> {mhlo.sharding = \"%s\"}) -> "
             "(tensor<4x4xf32> {mhlo.sharding = \"%s\"}) {\n%s",
             kinds[kind].text, kinds[KINDS - 1 - kind].text, body);
    good(try_parts(c, text, &l));
    call_parts(c, l, kind, KINDS - 1 - kind, 1);
    drop_loaded(l);
  }
  drop_client(c);
}

static void refuses_tiles(void **state) {
  (void)state;
  static const char *const texts[] = {
      "",
      "{",
      "{}",
      "{devices=[4,1]<=[4]",
      "{devices=[4]<=[4]}",
      "{devices=[4,1,1]<=[4]}",
      "{devices=[4,0]<=[4]}",
      "{devices=[4,1]<=[5]}",
      "{devices=[2,2]<=[2,2]T(0,0)}",
      "{devices=[2,2]<=[2,2]T(0)}",
      "{devices=[2,2]<=[2,2]T(0,7)}",
      "{devices=[2,2]0,1,2}",
      "{devices=[2,2]0,1,2,4}",
      "{devices=[2,2]0,1,2,2}",
      "{devices=[99999999999999999999,1]<=[4]}",
      "{devices=[2,2]<=[]}",
      "{devices=[2,2]<=[4] last_tile_dims={manual}}",
      "{maximal device=1}",
      "{manual}",
      "{devices=[8,1]<=[8]}", /* more partitions than there are */
      "{devices=[2,3]<=[6]}",
  };
  char text[512];
  nxj_client *c = make_client();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    nxj_loaded *l;
    snprintf(text, sizeof text,
             "func.func @main(%%a: tensor<8x6xf32> {mhlo.sharding = \"%s\"}) -> tensor<8x6xf32> {\n"
             "  %%0 = stablehlo.add %%a, %%a : tensor<8x6xf32>\n"
             "  return %%0 : tensor<8x6xf32>\n}\n",
             texts[i]);
    nxj_error *e = try_parts(c, text, &l);
    if (e == NULL) fail_msg("%s is no sharding", texts[i]);
    destroy_error(e);
  }
  drop_client(c);
}

NXT_MAIN(tiles) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(divides),
      cmocka_unit_test(follows),
      cmocka_unit_test(manual_parts),
      cmocka_unit_test(refuses_tiles),
  };
  setenv("NX_CPU_DEVICES", "4", 1);
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
