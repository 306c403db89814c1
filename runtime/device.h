/* SPDX-License-Identifier: ISC */
/* Devices. A kind of device is a table of functions in a folder of its own, and one row of
 * devices.def; the rest of the runtime knows a device by its table alone. */
#ifndef NXI_DEVICE_H
#define NXI_DEVICE_H

#include "ir/poll.h"
#include "runtime/launch/launch.h"
#include "runtime/memory.h"

/* One that is open. Those of a kind begin with it. All functions may be called from any thread. */
typedef struct nxi_device {
  const struct nxi_device_kind *kind;
  struct nxi_pool *pool; /* the threads of what it runs: its own, or the context's */
  /* Of own memory alone: what has memory there (residency.c), and what gives back that many bytes
   * of it that are copies of host memory; it returns how many. NULL: nothing does. */
  struct nxi_buffer *newest, *oldest;
  int64_t (*reclaim)(struct nxi_device *v, int64_t bytes);
} nxi_device;

/* What a device of a context is opened with. */
typedef struct nxi_device_setup {
  int64_t memory_limit;  /* bytes of memory of its own that may be live at once; 0: no limit */
  const char *cache_dir; /* of compiled kernels; NULL: where nxi_disk_open looks by default */
  nxi_allocator *allocator;
  struct nxi_pool *pool; /* of the context */
  int32_t cpu_devices;   /* into how many devices the processor is divided */
  nxi_device *first;     /* number 0 of the kind, if it is open */
} nxi_device_setup;

/* A mark is a point in the stream of work of a device, after all work that was started before.
 * NXI_NOW stands for the point of the call that it is passed to. */
#define NXI_NOW UINT64_MAX

typedef struct nxi_device_stats {
  int64_t live, peak, cached; /* bytes */
  uint64_t allocations;
} nxi_device_stats;

/* What a dump of the code of a device has printed so far. */
enum { NXI_SHOWN_BODIES = 16, NXI_SHOWN_INSTANCES = 512 };
typedef struct nxi_device_shown {
  uint32_t kernels; /* of all kinds; the first begins the file */
  uint32_t instances, n_bodies, n_hashes;
  const char *bodies[NXI_SHOWN_BODIES]; /* that hand-written kernels are made of */
  uint64_t hashes[NXI_SHOWN_INSTANCES]; /* of these kernels, so that each comes once */
} nxi_device_shown;

/* A form of the code of bound kernels, as text: a stage of dumps and of NX_DEBUG. It is printed, or
 * made of the text of another. */
typedef struct nxi_device_stage {
  const char *name;
  bool dumped_alone; /* NX_DEBUG does not have it */
  /* whole: with what every such text begins with. A dump of several kernels prints the first so,
   * and is one file that a compiler accepts. */
  nx_status (*print)(const nxk_kernel *bound, const nxi_target *t, bool whole, nxi_text *out,
                     nxi_diag *d);
  /* Instead of `print`: the stage that is printed, and what becomes of that text, of one kernel or
   * of several. */
  const struct nxi_device_stage *source;
  nx_status (*translate)(const char *source, const char *name, const nxi_target *t, nxi_text *out,
                         nxi_diag *d);
} nxi_device_stage;

/* How other libraries use memory of a device that has its own, each on its own streams, which have
 * numbers (DLPack). */
typedef struct nxi_sharing {
  /* Copies theirs; complete at the end of the call. */
  nx_status (*take)(nxi_device *v, uint64_t to, uint64_t from, int64_t bytes, nxi_diag *d);
  /* What they start on that stream later comes after all work that was started here. */
  nx_status (*order)(nxi_device *v, int64_t stream, nxi_diag *d);
  void (*settle)(nxi_device *v); /* waits for all work of everybody */
  int64_t (*stream)(nxi_device *v);
} nxi_sharing;

typedef struct nxi_device_kind {
  const char *name; /* "cuda" */
  int32_t dlpack_type;
  /* Its memory is not the host's: addresses are numbers to the host, and contents are copied. A
   * device without it reads and writes buffers of the host. */
  bool own_memory;

  /* ---- what there is */
  /* Numbers that devices of the kind have here, of 1 to NXI_MOST_OF_A_KIND. The first has one
   * whether it is there or not. */
  int32_t (*count)(const nxi_device_setup *s);
  const char *(*missing)(int32_t number); /* why it cannot be used; NULL: it can. Static */
  uint64_t (*memory)(int32_t number);     /* bytes; 0: not known */

  /* ---- life */
  /* NX_DEVICE_UNAVAILABLE, NX_OUT_OF_MEMORY. */
  nx_status (*open)(int32_t number, const nxi_device_setup *s, nxi_device **out, nxi_diag *d);
  void (*close)(nxi_device *v); /* waits; plans and buffers are gone */
  /* Until everything that was started up to the mark has ended. poll may be NULL; without a mark
   * that it remembers a device waits for more. */
  nx_status (*wait)(nxi_device *v, uint64_t mark, const nxi_poll *poll, nxi_diag *d);

  /* ---- memory */
  nx_status (*alloc)(nxi_device *v, int64_t bytes, uint64_t *at, nxi_diag *d);
  /* after: the mark after which nothing uses it. */
  void (*free_after)(nxi_device *v, uint64_t at, int64_t bytes, uint64_t after);
  nx_status (*trim)(nxi_device *v, nxi_diag *d);
  void (*statistics)(nxi_device *v, nxi_device_stats *out);
  uint64_t (*mark)(nxi_device *v);
  /* Of own memory alone. To be filled from the host: no work uses it after that mark. */
  nx_status (*alloc_after)(nxi_device *v, int64_t bytes, uint64_t *at, uint64_t *after,
                           nxi_diag *d);
  /* Copies. A copy begins when the work up to the mark `after` is done. Work that is started after
   * the call sees the bytes. The host's memory may be reused when the call returns. */
  nx_status (*upload)(nxi_device *v, uint64_t to, const void *from, int64_t bytes, uint64_t after,
                      nxi_diag *d);
  nx_status (*download)(nxi_device *v, void *to, uint64_t from, int64_t bytes, uint64_t after,
                        const nxi_poll *poll, nxi_diag *d);

  /* From another device of the kind, after all work that was started on both; later work of both
   * comes after the copy. NULL: copies between devices go through the host. */
  nx_status (*copy_from)(nxi_device *v, uint64_t to, nxi_device *other, uint64_t from,
                         int64_t bytes, nxi_diag *d);

  /* ---- code */
  /* How graphs are executed now, which may change: executor, target, kernels. */
  void (*configure)(const nxi_device *v, nxi_executable_options *out);
  /* Why graphs are interpreted that were to be compiled, NULL if they are compiled. Static. */
  const char *(*interpreted)(const nxi_device *v);
  bool (*runs)(const nxi_target *t); /* whether kernels bound to that target are its */
  /* Of a GPU: the target of dumps that name none of its kind, the one that most are like. */
  const char *usual_isa;
  const nxi_device_stage *stages; /* up to one without a name */
  /* Adds the code, in the form of the first stage, of hand-written kernels that carry out a step
   * which is no kernel; nothing, if there is none. NULL: there never is. */
  nx_status (*show_step)(const nxp_step *s, const nxi_target *t, nxi_device_shown *shown,
                         nxi_text *out, nxi_diag *d);

  /* ---- plans */
  /* What a plan of this graph depends on of the device: what libraries multiply. It need not be
   * here. */
  void (*plan_for)(const nxi_executable_options *o, const nxg_graph *g, nxp_options *out);
  /* Plans the graph, and attaches to the plan all that launches need. */
  nx_status (*load)(nxi_executable *e, const nxg_graph *g, const nxp_options *o,
                    const nxi_poll *poll, nxi_compile_report *report, nxi_diag *d);
  void (*unload)(nxi_executable *e); /* also what was loaded in part */
  nx_status (*launch)(const nxi_executable *e, const nxi_launch *l, nxi_diag *d);

  const nxi_sharing *sharing; /* NULL: its memory is the host's */

  /* ---- groups */
  /* How members of a group exchange what is in their memories (runtime/group/group.h); NULL:
   * through the host's. */
  const struct nxi_links *links;
} nxi_device_kind;

/* Numbers of devices are bits of one word: of all kinds together there are at most 64. */
enum { NXI_MOST_OF_A_KIND = 32, NXI_MOST_DEVICES = 64 };

#define NXI_DEVICE(name) extern const nxi_device_kind nxi_##name##_device;
#include "devices.def"
#undef NXI_DEVICE

/* device.c. The kinds, in the order of their numbers, then NULL. */
extern const nxi_device_kind *const nxi_device_kinds[];
struct nx_context;
/* Its number among those of its kind, and the number of a device of that type of DLPack whose
 * memory is its own; -1: there is none. */
int32_t nxi_device_ordinal(const struct nx_context *c, int32_t device);
int32_t nxi_device_of_dlpack(const struct nx_context *c, int32_t type, int32_t ordinal);
/* Which kind the device of that number of a context is. */
const nxi_device_kind *nxi_device_kind_of(const struct nx_context *c, int32_t device);

#endif
