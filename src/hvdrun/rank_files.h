/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the files that rank 0 opens in hvd_init() because of a variable, before the ranks start.
 * The program may create a file before hvd_init(), change its directory, or see other files, as in
 * a container: so a problem gives a warning, not a failure. */
#ifndef SRC_HVDRUN_RANK_FILES_H
#define SRC_HVDRUN_RANK_FILES_H

#include "launcher/base/string_list.h"

#include <stdbool.h>

/* Adds a line for each problem to `warnings`, "$HVD_TUNING: rank 0 cannot read it as it is now:
 * 'x': No such file or directory". The variables `set` have precedence over our own environment;
 * one that is in `set_by` with a source is named by this source, such as "--timeline-filename".
 * Nothing is created or changed. */
void rank_files_check(const struct string_list *set, const struct string_list *set_by,
                      struct string_list *warnings);

/* Does any variable name such a file? */
bool rank_files_any(const struct string_list *set);

#endif
