/* SPDX-License-Identifier: ISC */
/* Ending the process while threads compile. LLVM's global objects are destroyed by exit(); whoever is inside LLVM then
 * would use what is gone. So exit() waits, 5 s at most, until nobody is, and lets nobody in again: what is realised after
 * that, by handlers of the host or by other threads, is interpreted. */
#ifndef NXI_EXIT_H
#define NXI_EXIT_H

#include <stdbool.h>

/* If the calling thread ends the process, exit() waits even for the first kernel. Any other thread may do so later. */
void nxi_exit_watch(void);

/* Around each stay in LLVM. False: the process ends, LLVM may be gone, and there is nothing to come out of. */
bool nxi_exit_go_inside(void);
void nxi_exit_come_out(void);
/* Whether that is so. */
bool nxi_exit_begun(void);

#endif
