/* SPDX-License-Identifier: Apache-2.0 */
/* Is a file one that ssh would take a private key from? */
#ifndef SRC_HVDRUN_IDENTITY_FILE_H
#define SRC_HVDRUN_IDENTITY_FILE_H

#include "lib/base/status.h"

/* Reads the beginning of the file; an option_check_fn. HVD_ERR_INVALID: it cannot be opened, is not
 * a regular file, is a public key, is empty, or may be read by others. Whether the key in it can be
 * used is found out by who uses it. */
int check_identity_file(const char *path, const char *source, struct err *err);

#endif
