/* SPDX-License-Identifier: ISC */
/* Room on the stack of the process's first thread. */
#ifndef NXI_PLATFORM_STACK_H
#define NXI_PLATFORM_STACK_H

#include <stdbool.h>
#include <stddef.h>

/* Makes sure that the first thread's stack can hold so many bytes more without a fault. True on
 * other threads, whose stacks are completely mapped from the beginning. False: the system has no
 * memory for it. */
bool nxi_stack_grow(size_t bytes);

#endif
