/* SPDX-License-Identifier: ISC */
/* What passes give to later ones (the column `gives` of pass_list.def): each fact has an IR that
 * breaks it, which the check refuses with a sentence, and one for which it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "passes/facts.h"
#include "tests/util/runner.h"

typedef struct row {
  const char *text;
  uint32_t facts;
  const char *fault; /* NULL: the facts hold */
} row;

#define GRAPH(type) "nxir 2\ngraph @f(%x: " type ") -> (%y) {\n"
static const row graphs[] = {
    {GRAPH("f32[3]") "%y = neg %x\n}\n", NXP_FACT_real, NULL},
    {GRAPH("c64[3]") "%y = neg %x\n}\n", NXP_FACT_none, NULL},
    {GRAPH("c64[3]") "%y = neg %x\n}\n", NXP_FACT_real, "node 1 (neg) is complex\n"},
    {GRAPH("f32[2,3,4]") "%y = reduce_sum %x axes=[0,1]\n}\n", NXP_FACT_one_run, NULL},
    {GRAPH("f32[2,0,4]") "%y = reduce_sum %x axes=[0,2]\n}\n", NXP_FACT_one_run, NULL},
    {GRAPH("f32[2,3,4]") "%y = argmax %x axis=2\n}\n", NXP_FACT_one_run, NULL},
    {GRAPH("f32[2,3,4]") "%y = reduce_sum %x axes=[0,2]\n}\n", NXP_FACT_one_run,
     "node 1 (reduce_sum) reduces several runs\n"},
    {GRAPH("f32[2,3]") "%t = permute %x axes=[1,0]\n%y = neg %t\n}\n", NXP_FACT_composed, NULL},
    {GRAPH("f32[2,3]") "%t = view %x strides=[1,3] offset=0 : f32[3,2]\n"
                       "%y = view %t strides=[1] offset=2 : f32[3]\n}\n",
     NXP_FACT_composed, "node 2 (view) is a view of a view\n"},
};

#define KERNEL(level) "nxir 2\nkernel @k " level " {\nb0: out f32[1]\nregion tasks=1 {\n"
static const row kernels[] = {
    {KERNEL("bound") "%1 = const f32 2\n%2 = sqrt f32 %1\nstore %2, b0[0]\n}\n}\n",
     NXP_FACT_basic | NXP_FACT_bound, NULL},
    {KERNEL("logical") "%1 = const f32 2\n%2 = exp f32 %1\nstore %2, b0[0]\n}\n}\n", NXP_FACT_none,
     NULL},
    {KERNEL("logical") "%1 = const f32 2\n%2 = sqrt f32 %1\nstore %2, b0[0]\n}\n}\n",
     NXP_FACT_basic | NXP_FACT_bound, "the kernel is not bound\n"},
    {KERNEL("logical") "%1 = const f32 2\n%2 = exp f32 %1\nstore %2, b0[0]\n}\n}\n", NXP_FACT_basic,
     "the function exp was not expanded\n"},
};

static void check(const row *r, bool holds, const nxi_text *faults) {
  const char *said = faults->data != NULL ? faults->data : "";
  if (holds != (r->fault == NULL) || strstr(said, r->fault != NULL ? r->fault : "") == NULL)
    fail_msg("%s%s", r->text, said);
}

static void test_graphs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    const row *r = &graphs[i];
    nxi_text faults = {0};
    nxi_diag d;
    nxg_graph *g = NULL;
    nxi_diag_clear(&d);
    if (nxg_parse(r->text, strlen(r->text), &g, &d) != NX_OK) fail_msg("%s%s", r->text, d.message);
    check(r, nxp_graph_has(g, r->facts, &faults), &faults);
    nxi_text_free(&faults);
    nxg_destroy(g);
  }
}

static void test_kernels(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const row *r = &kernels[i];
    nxi_text faults = {0};
    nxi_diag d;
    nxk_kernel *k = NULL;
    nxi_diag_clear(&d);
    if (nxk_parse(r->text, strlen(r->text), &k, &d) != NX_OK) fail_msg("%s%s", r->text, d.message);
    check(r, nxp_kernel_has(k, r->facts, &faults), &faults);
    nxi_text_free(&faults);
    nxk_destroy(k);
  }
}

NXT_MAIN(facts) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs), cmocka_unit_test(test_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
