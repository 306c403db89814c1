/* SPDX-License-Identifier: ISC */
/* Loading libraries while other threads fork. fork() copies the data of the dynamic linker and its
 * lock as they are at that moment, and the C library repairs neither. A child that is made while
 * another thread loads or searches a library crashes or hangs when it loads a library itself. So
 * fork() waits until no thread is inside the linker through this library. */
#ifndef NXI_LOADING_H
#define NXI_LOADING_H

/* To be called around dlopen, dlsym and dlclose; calls may nest. Several threads may load at the
 * same time, because a library's initialiser, which runs under the linker's lock, may itself call
 * this library. */
void nxi_loading_enter(void);
void nxi_loading_leave(void);

#endif
