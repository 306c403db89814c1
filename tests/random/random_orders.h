/* SPDX-License-Identifier: ISC */
/* Random graphs of several results (generator/results.c) in every order: all permutations of few
 * outputs, some of many, and each output alone. Which groups fusion makes follows the order of the
 * nodes, and that the order in which outputs are asked for. */
#ifndef NXT_RANDOM_ORDERS_H
#define NXT_RANDOM_ORDERS_H

#include "differential.h"

/* Whether a graph can be planned for this target, and every fusion group comes after those that it
 * reads. If not, `why` says what is wrong. Nothing is compiled or run: some 10,000 graphs a
 * second. */
bool nxt_groups_are_sound(const nxg_graph *g, const nxi_target *target, char *why, size_t size);
/* That of the graphs of the seeds first .. first + count - 1, all of them such graphs, in every
 * order; what fails is printed. */
bool nxt_random_orders(uint64_t first, uint64_t count);
/* Whether each order of one graph gives the bits of the graph as it is, on the interpreters. */
bool nxt_orders_agree(nxt_lab *lab, const nxg_graph *g, uint64_t seed, char *why, size_t size);

#endif
