/* SPDX-License-Identifier: ISC */
/* Captured functions. */
#include "stubs.h"

static void finalize_function(value block) { nx_function_release(Function_val(block)); }

static struct custom_operations function_blocks = {.identifier = "nx.function",
                                                   .finalize = finalize_function,
                                                   .compare = custom_compare_default,
                                                   .hash = custom_hash_default,
                                                   .serialize = custom_serialize_default,
                                                   .deserialize = custom_deserialize_default,
                                                   .compare_ext = custom_compare_ext_default};

value nx_ocaml_function(value context, value inputs, value outputs) {
  nx_tensor **in = nx_ocaml_handles(inputs), **out = nx_ocaml_handles(outputs);
  nx_function *f = NULL;
  nx_status status = nx_function_create(Context_val(context), in, Wosize_val(inputs), out,
                                        Wosize_val(outputs), NULL, &f);
  nx_ocaml_handles_free(in, Wosize_val(inputs));
  nx_ocaml_handles_free(out, Wosize_val(outputs));
  if (status) nx_ocaml_raise();
  value block = caml_alloc_custom(&function_blocks, sizeof(nx_function *), 0, 1);
  Function_val(block) = f;
  return block;
}

value nx_ocaml_capture_end(value context) {
  nx_capture_end(Context_val(context));
  return Val_unit;
}

value nx_ocaml_outputs(value function) {
  nx_function_info info = {.size = sizeof info};
  nx_function_describe(Function_val(function), &info);
  return Val_long(info.outputs);
}

typedef struct invocation {
  nx_function *function;
  nx_tensor **in, **out;
  size_t n_in, n_out;
} invocation;

static nx_status call(void *user, const nx_run_options *options) {
  invocation *i = user;
  return nx_function_call(i->function, i->in, i->n_in, i->out, i->n_out, options);
}

static value outputs_of(nx_tensor **out, size_t n) {
  CAMLparam0();
  CAMLlocal1(array);
  array = nx_ocaml_box_all(out, n);
  caml_stat_free(out);
  CAMLreturn(array);
}

value nx_ocaml_call(value context, value function, value inputs) {
  CAMLparam3(context, function, inputs);
  CAMLlocal1(raised);
  raised = Val_unit;
  invocation i = {.function = Function_val(function), .n_in = Wosize_val(inputs)};
  nx_function_info info = {.size = sizeof info};
  nx_function_describe(i.function, &info);
  i.n_out = info.outputs;
  i.in = nx_ocaml_handles(inputs);
  i.out = caml_stat_alloc(i.n_out * sizeof *i.out + 1);
  for (size_t k = 0; k < i.n_out; k++) i.out[k] = NULL;
  nx_status status = nx_ocaml_perform(Context_val(context), call, &i, &raised);
  nx_ocaml_handles_free(i.in, i.n_in);
  if (status != NX_OK || raised != Val_unit) {
    for (size_t k = 0; k < i.n_out; k++) nx_tensor_release(i.out[k]);
    caml_stat_free(i.out);
    nx_ocaml_check(status, raised);
    CAMLreturn(Val_unit); /* never: that has raised */
  }
  CAMLreturn(outputs_of(i.out, i.n_out));
}
