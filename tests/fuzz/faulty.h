/* SPDX-License-Identifier: ISC */
/* System calls that fail: the program has functions of its own in place of the C library's, which
 * count the calls that concern a folder (its paths, and files opened below it) and make one of them
 * fail. faulty.c is linked into io_faults. It is also a library that is preloaded into nxc, where
 * the environment replaces the functions below: NXT_FAULT="FOLDER FAULT NUMBER", and the file
 * NXT_FAULT_MARK is made when the call has failed. */
#ifndef NXT_FAULTY_H
#define NXT_FAULTY_H

#include <stdbool.h>

enum {
  NXT_SHORT = -1
}; /* half of what was to be read or written is; other faults are numbers of errno */

/* Makes call number `at` from now (0: the next one) that concerns the folder fail in this way.
 * Calls for which the fault makes no sense are not counted. */
void nxt_faults_arm(const char *folder, int fault, long at);
/* Whether a call failed; *call: which function. */
bool nxt_faults_disarm(const char **call);

#endif
