/* SPDX-License-Identifier: ISC */
/* Loading Open MPI, and beginning and ending MPI where the program has not done so. NX_MPI names
 * another file of the library. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/platform/exit.h"
#include "ir/platform/library.h"
#include "ir/platform/loading.h"
#include "ir/platform/process.h"
#include "mpi.h"

static const char default_name[] = "libmpi.so.40";

static nxi_mutex lock = NXI_MUTEX_INITIALIZER; /* of loading, and of all calls */
static nxi_mpi mpi;
static bool ready, began_here, lost;
static _Atomic uint32_t owner; /* the process that begins, or has begun, MPI; 0: none */
static char reason[320];       /* why it cannot be used; "": not tried yet */

bool nxi_mpi_is_ours(void) {
  uint32_t process = atomic_load(&owner);
  return process == 0 || process == nxi_process_number();
}

void nxi_mpi_lock(void) { nxi_mutex_lock(&lock); }
void nxi_mpi_unlock(void) { nxi_mutex_unlock(&lock); }

void nxi_mpi_lost(void) {
  nxi_mpi_lock();
  lost = true;
  nxi_mpi_unlock();
}

/* ---- loading */

static bool take_symbols(void *library) {
  const struct {
    const char *name;
    void *at;
  } symbols[] = {
#define NXI_MPI_CALL(name, ...) {"MPI_" #name, &mpi.name},
      NXI_MPI_CALLS(NXI_MPI_CALL)
#undef NXI_MPI_CALL
          {"ompi_mpi_comm_world", &mpi.world},
      {"ompi_mpi_byte", &mpi.bytes},
      {"ompi_mpi_errors_return", &mpi.errors_return},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = nxi_library_symbol(library, symbols[i].name);
    if (symbol == NULL) {
      snprintf(reason, sizeof reason, "it has no %s", symbols[i].name);
      return false;
    }
    memcpy(symbols[i].at, &symbol, sizeof symbol);
  }
  return true;
}

/* Handles of other implementations are numbers: a call with one of Open MPI's would end badly. */
static bool is_open_mpi(void *library) {
  void *symbol = nxi_library_symbol(library, "MPI_Get_library_version");
  int (*version)(char *text, int *length);
  char text[8192] = ""; /* the largest that any implementation writes */
  int length = 0;
  memcpy(&version, &symbol, sizeof version);
  if (version == NULL || version(text, &length) != 0 || strncmp(text, "Open MPI v", 10) != 0) {
    text[strcspn(text, ",\n")] = 0;
    snprintf(reason, sizeof reason, "it is not Open MPI, but \"%.100s\"",
             text[0] ? text : "a library without a version");
    return false;
  }
  return true;
}

static bool load(void) {
  const char *wanted = getenv("NX_MPI"), *name = wanted && *wanted ? wanted : default_name;
  nxi_loading_enter();
  void *library = nxi_library_open(name);
  if (library == NULL) {
    const char *why = nxi_library_error();
    snprintf(reason, sizeof reason, "%.200s", why ? why : "not found");
  }
  bool good = library != NULL && is_open_mpi(library) && take_symbols(library);
  if (library != NULL && !good) nxi_library_close(library);
  nxi_loading_leave();
  return good;
}

/* ---- beginning and ending */

/* MPI ends with the process, which waits for the others; not if one may be gone. */
static void end(void) {
  int over = 0;
  if (!nxi_mpi_is_ours()) return;
  nxi_mutex_lock(&lock);
  if (!lost && mpi.Finalized(&over) == 0 && !over) mpi.Finalize();
  nxi_mutex_unlock(&lock);
}

static bool begin(void) {
  int begun = 0, over = 0, provided = 0;
  mpi.Initialized(&begun);
  mpi.Finalized(&over);
  if (over) {
    snprintf(reason, sizeof reason, "MPI has been finalized");
    return false;
  }
  if (begun) mpi.Query_thread(&provided);
  else if (mpi.Init_thread(NULL, NULL, NXI_MPI_MULTIPLE, &provided) != 0) provided = -1;
  began_here = !begun;
  if (provided >= (begun ? NXI_MPI_MULTIPLE : NXI_MPI_SERIALIZED)) {
    /* errors of what is done here come back to it; those of the program's own calls are its own */
    if (began_here) mpi.Comm_set_errhandler(mpi.world, mpi.errors_return);
    return true;
  }
  snprintf(reason, sizeof reason,
           begun ? "the program has initialised MPI without MPI_THREAD_MULTIPLE"
                 : "MPI cannot be initialised for calls of several threads");
  return false;
}

static void try_to_begin(void) {
  atomic_store(&owner, nxi_process_number());
  ready = load() && begin();
  if (!ready) atomic_store(&owner, 0);
  else if (began_here && !nxi_exit_call(end)) lost = true; /* no memory: it just ends */
}

const nxi_mpi *nxi_mpi_get(nxi_diag *d) {
  if (!nxi_mpi_is_ours()) {
    nxi_fail(d, NX_DEVICE_UNAVAILABLE, "group",
             "group: MPI cannot be used: it belongs to the process that forked this one");
    return NULL;
  }
  nxi_mutex_lock(&lock);
  if (!ready && !reason[0]) try_to_begin();
  nxi_mutex_unlock(&lock);
  if (ready) return &mpi;
  nxi_fail(d, NX_DEVICE_UNAVAILABLE, "group", "group: MPI cannot be used: %s", reason);
  return NULL;
}
