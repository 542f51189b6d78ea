/* SPDX-License-Identifier: Apache-2.0 */
/* The file of HVD_TUNING: the measured thresholds between algorithms.
 *
 *   # comment
 *   small = 65536        bytes, or for `few` ranks; see struct algorithm_thresholds
 *
 * Each name may occur once; a missing name has its default.
 *
 * Fails (HVD_ERR_ENVIRONMENT, naming the file, the line and what is wrong in the line) when the
 * file cannot be read, is not a regular file, is larger than THRESHOLDS_FILE_MAX, or has any other
 * line. */
#ifndef LIB_AUTOTUNE_THRESHOLDS_FILE_H
#define LIB_AUTOTUNE_THRESHOLDS_FILE_H

#include "lib/base/status.h"
#include "lib/collective/algorithm.h"

#include <stdbool.h>
#include <stddef.h>

enum { THRESHOLDS_FILE_MAX = 16 * 1024 };

/* Changes the thresholds that the text has; none on failure. `name` is the file's name. */
int thresholds_parse(struct algorithm_thresholds *thresholds, const char *text, size_t length,
                     const char *name, struct err *err);

/* `missing_is_fine`: a file that does not exist changes nothing. */
int thresholds_file_read(struct algorithm_thresholds *thresholds, const char *name,
                         bool missing_is_fine, struct err *err);

#endif
