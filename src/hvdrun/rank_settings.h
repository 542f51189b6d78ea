/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ranks' variables for libhvd before the ranks start, by the tables with which libhvd
 * itself reads them (lib/base/settings.h, transport.h). */
#ifndef SRC_HVDRUN_RANK_SETTINGS_H
#define SRC_HVDRUN_RANK_SETTINGS_H

#include "launcher/base/string_list.h"
#include "lib/base/settings.h"
#include "lib/base/status.h"

/* The value of a variable as a rank of this job will find it, or NULL. The variables `set` have
 * precedence over our own environment. */
const char *rank_settings_variable(const struct string_list *set, const char *name);

/* Reads all settings of the library but the transport; returns the library's own status and
 * text. */
int rank_settings_read(struct settings *settings, const struct string_list *set, struct err *err);

/* Adds a line to `warnings` for each variable, of our own environment or `set`, that looks like one
 * of ours and that nothing reads (lib/base/unknown_variable.h). */
void rank_settings_warn(struct string_list *warnings, const struct string_list *set);

/* HVD_ERR_INVALID and one line when hvd_init() would refuse a variable: "$HOROVOD_CYCLE_TIME: 'x'
 * is not a number of milliseconds from 0 to 60000, such as 0.5". */
int rank_settings_check(const struct string_list *set, struct err *err);

#endif
