/* SPDX-License-Identifier: ISC */
/* Which rows of one node those of another are, where views put rows in another order
 * (graph/calls/attention.c). A softmax takes each row by itself, so that they may lie in any
 * order. */
#ifndef NXP_ATTENTION_ROWS_H
#define NXP_ATTENTION_ROWS_H

#include "ir/graph/graph.h"

/* Axes that count rows in C order, and how far the rows of a node are from each other along them;
 * then two axes of one element, so that all others may be divided. */
typedef nxg_view nxp_rows;

/* All rows of a node, which are along its last axis. False: it has too many axes, or none. */
bool nxp_all_rows(const nxg_node *n, nxp_rows *rows);
/* The node of which another one is a view or a copy, and so on, if views only move rows or divide
 * axes of them. rows: which of the rows are meant. */
uint32_t nxp_follow_rows(const nxg_graph *g, uint32_t node, nxp_rows *rows);
/* The same where each element of a node belongs to one row. */
uint32_t nxp_follow_values(const nxg_graph *g, uint32_t node, nxp_rows *rows);
/* The value of each row that a node repeats along its last axis; UINT32_MAX: it does not. */
uint32_t nxp_repeated_values(const nxg_graph *g, uint32_t node, nxp_rows *rows);
/* What a node has all elements of, in any order. */
uint32_t nxp_all_elements_of(const nxg_graph *g, uint32_t node);
bool nxp_same_rows(const nxp_rows *a, const nxp_rows *b);
/* If a node is a view of a product whose columns are the node's rows: the product, and `rows` then
 * counts columns, in all its matrices. Otherwise the node. */
uint32_t nxp_follow_columns(const nxg_graph *g, uint32_t node, nxp_rows *rows);
/* Divides axes so that each is either within matrices of that many rows or counts matrices. False:
 * one is both. */
bool nxp_cut_rows(nxp_rows *rows, int64_t matrix);
/* Puts that axis of a view behind its others, but for the last `rest` ones, which has, in C order,
 * the elements that are `step` apart, `extent` of them. Others are divided if need be. False: the
 * view does not move along it by one stride. */
bool nxp_bring_axis(nxg_view *v, int32_t rest, int64_t step, int64_t extent);
/* All elements of what a view has them of, in any order and each once, as a view of the view's. */
void nxp_turn_round(const nxg_view *v, nxg_view *out);
/* Makes a view of the elements of `of` one of those of a node that has them all, behind views and
 * copies. False: it is none. */
bool nxp_order_behind(const nxg_graph *g, uint32_t node, uint32_t of, nxg_view *v);
/* Rows of `columns` elements, as a view of these. */
void nxp_view_rows(const nxp_rows *rows, int64_t columns, nxg_view *v);

#endif
