/* SPDX-License-Identifier: ISC */
/* Ending the process while threads compile. LLVM's global objects are destroyed by exit(); whoever is inside LLVM then
 * would use what is gone. So exit() waits, 5 s at most, until nobody is, and lets nobody but its own thread in again. */
#ifndef NXI_EXIT_H
#define NXI_EXIT_H

/* If the calling thread ends the process, exit() waits even for the first kernel. Any other thread may do so later. */
void nxi_exit_watch(void);

/* Around each stay in LLVM. Going in does not return once the process ends. */
void nxi_exit_go_inside(void);
void nxi_exit_come_out(void);

#endif
