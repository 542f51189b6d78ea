/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment whose names look like ours, but which nothing reads. A misspelt
 * name, such as HVD_ENCRPYT, has no effect, and only a warning tells the user.
 *
 * All names that begin with HVD_ are ours. A name that begins with HOROVOD_ gets a warning only if
 * it is nearly a name of Horovod's that hvdrun or libhvd reads. The variables that Kubernetes makes
 * of a service named hvd, and names that begin with HVD_TEST_, get none. */
#ifndef LIB_BASE_UNKNOWN_VARIABLE_H
#define LIB_BASE_UNKNOWN_VARIABLE_H

#include <stdbool.h>

enum { UNKNOWN_VARIABLE_TEXT = 400 };

/* `entry` is NAME=VALUE. If NAME is such a variable, returns true and writes "NAME: neither hvdrun
 * nor libhvd reads this variable (did you mean HVD_ENCRYPT?)"; never the value. */
bool unknown_variable_text(char text[UNKNOWN_VARIABLE_TEXT], const char *entry);

#endif
