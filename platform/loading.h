/* SPDX-License-Identifier: ISC */
/* Loading libraries while other threads fork. fork() copies the data of the dynamic linker and its
 * lock as they are at that moment, and the C library repairs neither. A child that is made while
 * another thread loads or searches a library crashes or hangs when it loads a library itself. So
 * fork() waits until no thread of ours is inside the linker. */
#ifndef NXI_LOADING_H
#define NXI_LOADING_H

/* To be called around dlopen, dlsym and dlclose; calls may nest. Threads load at the same time,
 * since a library's initialiser, which runs under the linker's lock, may itself call us. */
void nxi_loading_enter(void);
void nxi_loading_leave(void);

#endif
