/* SPDX-License-Identifier: ISC */
/* Passes over the graph IR. A pass reads a graph and appends to a fresh one, in order, with
 * nxg_rewrite helpers; true in *changed if the result differs. If nothing had to be changed, *out
 * is the graph that was given. None prints, times or reads the environment. */
#ifndef NXG_PASSES_H
#define NXG_PASSES_H

#include "passes/fuse/cluster.h"

typedef nx_status (*nxg_pass)(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d);

nx_status nxg_pass_count_loops(const nxg_graph *g, nxg_graph **out, bool *changed,
                               nxi_diag *d); /* a while that counts has a number of steps */
nx_status nxg_pass_chunk_loops(const nxg_graph *g, nxg_graph **out, bool *changed,
                               nxi_diag *d); /* long loops take some steps at once */
nx_status nxg_pass_unroll_loops(const nxg_graph *g, nxg_graph **out, bool *changed,
                                nxi_diag *d); /* loops of a few steps become these */
nx_status nxg_pass_constant_fold(const nxg_graph *g, nxg_graph **out, bool *changed,
                                 nxi_diag *d); /* constant folding */
nx_status nxg_pass_algebra(const nxg_graph *g, nxg_graph **out, bool *changed,
                           nxi_diag *d); /* bit-exact identities */
nx_status nxg_pass_views(const nxg_graph *g, nxg_graph **out, bool *changed,
                         nxi_diag *d); /* composes views */
nx_status nxg_pass_runs(const nxg_graph *g, nxg_graph **out, bool *changed,
                        nxi_diag *d); /* gives each reduction a single run */
nx_status nxg_pass_repeated_indices(const nxg_graph *g, nxg_graph **out, bool *changed,
                                    nxi_diag *d); /* indices are computed before they repeat */
nx_status nxg_pass_affine_gathers(const nxg_graph *g, nxg_graph **out, bool *changed,
                                  nxi_diag *d); /* gathers at counted indices become views */
nx_status nxg_pass_line_scatters(const nxg_graph *g, nxg_graph **out, bool *changed,
                                 nxi_diag *d); /* scatters of one element a line: elementwise */
nx_status nxg_pass_checks(const nxg_graph *g, nxg_graph **out, bool *changed,
                          nxi_diag *d); /* adds the checks of indices */
nx_status nxg_pass_scans(const nxg_graph *g, nxp_products products, nxg_graph **out, bool *changed,
                         nxi_diag *d); /* splits long scans into blocks, or makes them calls */
nx_status nxg_pass_small_types(const nxg_graph *g, nxg_graph **out, bool *changed,
                               nxi_diag *d); /* makes i4 and u4 bytes */
nx_status nxg_pass_stored_types(const nxg_graph *g, nxg_graph **out, bool *changed,
                                nxi_diag *d); /* stored floats become their bits */
nx_status nxg_pass_vectors(const nxg_graph *g, nxp_products products, nxg_graph **out,
                           bool *changed, nxi_diag *d); /* products with a vector become sums */
nx_status nxg_pass_reshapes(const nxg_graph *g, nxg_graph **out, bool *changed,
                            nxi_diag *d); /* elementwise work around reshapes has one shape */
nx_status nxg_pass_cse(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d);
nx_status nxg_pass_dce(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d);
/* What bodies of loops compute of captured values alone is computed before the loop. */
nx_status nxg_pass_hoist(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d);
/* Replaces complex values by pairs of real ones. Afterwards a complex input or output is a real
 * array with the real and imaginary parts side by side. */
nx_status nxg_pass_types(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d);
/* The same. Matrix products of the complex dtypes in `joined` become one real product each if a
 * library computes it. */
nx_status nxg_pass_types_for(const nxg_graph *g, nxp_products joined, nxg_graph **out,
                             bool *changed, nxi_diag *d);
nx_status nxg_pass_windows(const nxg_graph *g, nxp_products products, nxg_graph **out,
                           bool *changed, nxi_diag *d); /* convolutions become calls */
nx_status nxg_pass_attention(const nxg_graph *g, nxp_products products, nxg_graph **out,
                             bool *changed, nxi_diag *d); /* attention becomes calls */
nx_status nxg_pass_integers(const nxg_graph *g, nxp_products products, nxg_graph **out,
                            bool *changed, nxi_diag *d); /* products of bytes become calls */
nx_status nxg_pass_library(const nxg_graph *g, nxp_products products, nxg_graph **out,
                           bool *changed, nxi_diag *d); /* forms that libraries take */

/* program.c: a program of the interpreter for a graph that may have complex values. */
nx_status nxp_program_create(const nxg_graph *g, nxg_program **out, nxi_diag *d);

#endif
