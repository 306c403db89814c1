/* SPDX-License-Identifier: ISC */
/* Loading libraries while other threads fork. What the dynamic linker keeps, and its lock, are
 * copied by fork() as they are at that moment, and the C library mends neither: a child that is
 * made while another thread loads or searches a library crashes or hangs when it loads one itself.
 * So fork() waits until no thread of ours is inside the linker. */
#ifndef NXI_LOADING_H
#define NXI_LOADING_H

/* Around dlopen, dlsym and dlclose; may nest. Threads load at the same time, since a library's
 * initialiser, which runs under the linker's lock, may itself call us. */
void nxi_loading_enter(void);
void nxi_loading_leave(void);

#endif
