/* SPDX-License-Identifier: Apache-2.0 */
/* The files that rank 0 opens in hvd_init() because a variable says so, looked at before there are
 * ranks. The program may make one before it comes to that, go to another directory, or have other
 * files, as in a container: what is not as it must be is doubted, not refused. */
#ifndef SRC_HVDRUN_RANK_FILES_H
#define SRC_HVDRUN_RANK_FILES_H

#include "launcher/base/string_list.h"

#include <stdbool.h>

/* Adds a line for each to `warnings`, "$HVD_TUNING: rank 0 cannot read it as it is now: 'x': No such
 * file or directory". `set` are the variables that go over those of our own environment. Nothing is
 * made or changed. */
void rank_files_check(const struct string_list *set, struct string_list *warnings);

/* Is there such a file at all? */
bool rank_files_any(const struct string_list *set);

#endif
