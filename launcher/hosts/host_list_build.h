/* SPDX-License-Identifier: Apache-2.0 */
/* Building a host list from the forms in which hosts are written. For host_list.c, hostfile.c and
 * the parsers of batch systems' forms (slurm_list.c, host_tally.c) only. */
#ifndef LAUNCHER_HOSTS_HOST_LIST_BUILD_H
#define LAUNCHER_HOSTS_HOST_LIST_BUILD_H

#include "launcher/hosts/host_list.h"
#include "launcher/hosts/host_spec.h"

/* The source of the hosts, and the position that the parser has reached. */
struct host_source {
    const char *name;       /* the option or the file */
    bool is_file;           /* positions are named NAME:LINE:COLUMN, else "at column N" */
    int line;               /* from 1 */
    const char *line_start; /* column 1 */
};

/* All return HVD_OK, or HVD_ERR_INVALID with the source's name and position in front. */
int host_source_fail(const struct host_source *source, const struct host_fault *fault,
                     struct err *err);

/* Appends a copy of a host whose text begins at spec->name. */
int host_list_add(struct host_list *list, const struct host_spec *spec,
                  const struct host_source *source, struct err *err);

/* One name for all spellings of a host: in lower case, an IPv6 address in its shortest form. The
 * caller frees it. */
char *host_name_fold(const char *name);

/* Refuses a repeated host; the message names the first one in order of writing. */
int host_list_check_unique(const struct host_list *list, const struct host_source *source,
                           struct err *err);

/* Returns `rc`; empties the list if `rc` is a failure. */
int host_list_end(struct host_list *list, int rc);

#endif
