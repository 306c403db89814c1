/* SPDX-License-Identifier: ISC */
/* What the fake driver's streams (fake_stream.c) and graphs (fake_graph.c) share. */
#ifndef NXT_FAKE_STREAM_H
#define NXT_FAKE_STREAM_H

#include "fake_cuda_internal.h"

typedef struct condition condition; /* a conditional node */
typedef struct piece piece;

/* Nodes of a graph that is captured, after which something comes. */
enum { NXT_FAKE_NODES = 16 };
typedef struct nodes {
  piece *at[NXT_FAKE_NODES];
  size_t n;
} nodes;

typedef struct event {
  uint64_t asked, done; /* records so far */
  int references;
  uint64_t capture; /* of which its last record is, and where; 0: of none */
  nodes after;
} event;

struct piece {
  struct piece *next;
  uint32_t number; /* in its graph, and the numbers of those it comes after */
  uint32_t n_after, after[NXT_FAKE_NODES];
  nxt_fake_act *act;
  event *event; /* recorded here; with waits_for, waited for */
  uint64_t waits_for;
  condition *condition; /* or NULL; then nothing else is here */
  size_t bytes;
  _Alignas(16) char what[];
};

typedef struct list {
  piece *first, **end, *last;
} list;

/* One that is captured, one that can be launched, or the body of a conditional node. */
typedef struct graph graph;

typedef struct stream {
  struct stream *next;
  int device;
  list work;
  graph *captured; /* the graph that is being captured, or NULL */
  nodes after;     /* the next node comes after these */
  bool joined;     /* the capture has been begun on another stream */
  bool spoilt;     /* the capture */
} stream;

/* fake_stream.c */
stream *nxt_fake_streams(void);
uint64_t nxt_fake_draw(uint64_t below);
void nxt_fake_append(list *l, piece *p);
void nxt_fake_empty(list *l);
piece *nxt_fake_copy(const piece *from);
int nxt_fake_add(stream *s, piece *p);
bool nxt_fake_step(void); /* one piece of some stream; false: nothing can be done */
/* fake_graph.c */
int nxt_fake_captures(stream *s, piece *p);
int nxt_fake_record_captured(const stream *s, event *e);
int nxt_fake_wait_captured(stream *s, const event *e);
bool nxt_fake_in_body(const stream *s); /* whether a body is captured */
int nxt_fake_destroy(graph *g);
void nxt_fake_abandon(const stream *s); /* what it captures, with a stream that is destroyed */
void nxt_fake_forget_condition(condition *c);
void nxt_fake_keep_condition(condition *c);
/* Comes to a conditional node: its bodies, where they run, go before what the stream has. True: the
 * node comes once more. */
bool nxt_fake_branch(stream *s, const piece *p);
int nxt_fake_give_back(int (*act)(void *), void *given);
#define GIVES_BACK(name, act)                    \
  EXPORT int name(void *given) {                 \
    int result = nxt_fake_give_back(act, given); \
    INSIDE;                                      \
    return result;                               \
  }

#endif
