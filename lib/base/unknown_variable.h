/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment whose names look like ours, but which nothing reads: a slip of the
 * pen, such as HVD_ENCRPYT, would otherwise have no effect and nobody would hear of it.
 *
 * Names that begin with HVD_ are ours; those that begin with HOROVOD_ are doubted only if a name
 * that we or Horovod read is near. The variables that Kubernetes makes of a service named hvd, and
 * names that begin with HVD_TEST_, are nobody's mistake. */
#ifndef LIB_BASE_UNKNOWN_VARIABLE_H
#define LIB_BASE_UNKNOWN_VARIABLE_H

#include <stdbool.h>

enum { UNKNOWN_VARIABLE_TEXT = 400 };

/* `entry` is NAME=VALUE. If NAME is such a variable, returns true and writes "NAME: neither hvdrun
 * nor libhvd reads this variable (did you mean HVD_ENCRYPT?)"; never the value. */
bool unknown_variable_text(char text[UNKNOWN_VARIABLE_TEXT], const char *entry);

#endif
