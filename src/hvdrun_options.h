/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun was asked to do: its command line, checked. */
#ifndef SRC_HVDRUN_OPTIONS_H
#define SRC_HVDRUN_OPTIONS_H

#include "lib/base/status.h"
#include "src/options.h"

#include <stdbool.h>

/* Every option there is, for whoever lists them: completion, the man page's check. */
extern const struct option_table hvdrun_option_table;

/* All texts are borrowed from argv. */
struct hvdrun_options {
    int np;                   /* 1..WORLD_SIZE_MAX */
    const char *hosts;        /* what -H was given; NULL if it was not */
    const char *hosts_source; /* the option as written, "-H" or "--hosts", for messages */
    const char *hostfile;     /* NULL if not given; never together with hosts */
    const char *output_filename;
    bool prefix_timestamp;
    int start_timeout_s; /* option, else $HOROVOD_START_TIMEOUT, else 30 */
    int grace_s;         /* between SIGTERM and SIGKILL */
    bool verbose;
    bool dry_run;
    bool gloo;
    bool help, version; /* if one is set, the rest is not checked and command may be NULL */
    char **command;     /* program and arguments, ended by NULL: the tail of argv */
};

/* Returns HVD_OK; or HVD_ERR_INVALID and one line, "-np: not a number: 'x'". Reads
 * $HOROVOD_START_TIMEOUT and nothing else from outside. */
int hvdrun_options_parse(struct hvdrun_options *options, int argc, char **argv, struct err *err);

/* The text of --help; the caller frees it. */
char *hvdrun_options_help(void);

#endif
