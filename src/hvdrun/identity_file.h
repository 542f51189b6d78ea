/* SPDX-License-Identifier: Apache-2.0 */
/* Is a file one that ssh would take a private key from? */
#ifndef SRC_HVDRUN_IDENTITY_FILE_H
#define SRC_HVDRUN_IDENTITY_FILE_H

#include "lib/base/status.h"

/* Reads the beginning of the file; an option_check_fn. HVD_ERR_INVALID: the file cannot be opened,
 * is not a regular file, is a public key, is empty, or may be read by others. The login finds out
 * later whether the key can be used. */
int check_identity_file(const char *path, const char *source, struct err *err);

#endif
