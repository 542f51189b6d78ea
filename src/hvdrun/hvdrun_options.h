/* SPDX-License-Identifier: Apache-2.0 */
/* The options of hvdrun, checked: the command line has precedence over the configuration file, and
 * the file over the environment. */
#ifndef SRC_HVDRUN_HVDRUN_OPTIONS_H
#define SRC_HVDRUN_HVDRUN_OPTIONS_H

#include "launcher/base/rank_attributes.h"
#include "launcher/base/string_list.h"
#include "lib/base/status.h"
#include "src/options/options.h"

#include <stdbool.h>

#define HVDRUN_USAGE "hvdrun -np N [OPTION]... COMMAND [ARGUMENT]..."

/* The action when a rank is stopped by a signal; in the order of the words. */
enum stopped_action { STOPPED_WARN, STOPPED_FAIL };
#define STOPPED_CHOICES "warn fail"

/* Which package a script finds under the name `horovod`; in the order of the words. */
enum horovod_package { HOROVOD_INSTALLED, HOROVOD_LIBHVD };
#define HOROVOD_CHOICES "installed libhvd"

/* All options, for help, completion, and the man page's check. */
extern const struct option_table hvdrun_option_table;

/* Texts are borrowed from argv and the environment; lists are owned. */
struct hvdrun_options {
    int np;                   /* 1..WORLD_SIZE_MAX; 0: a rank in every slot */
    const char *hosts;        /* the value of -H; NULL if not given */
    const char *hosts_source; /* the option as written, "-H" or "--hosts", for messages */
    const char *hostfile;     /* NULL if not given; never together with hosts */
    int map_by;               /* enum rank_order */

    bool elastic;                 /* min_np or discovery_script was given */
    int min_np, max_np;           /* of an elastic job: 1 <= min_np <= np <= max_np, where np may
                                   * still be 0 if the hosts are fixed; 0 otherwise */
    bool np_is_min;               /* np is min_np, since -np was not given */
    bool min_is_np;               /* min_np is np, since --min-np was not given */
    const char *discovery_script; /* never together with hosts or hostfile; NULL */
    int slots_per_host;
    int elastic_timeout_s;
    int reset_limit;   /* 0: none */
    int cooldown_s[2]; /* 0: none */

    struct rank_attributes attributes; /* umask and ignore_hup are not set */
    bool dry_run;
    bool check_hosts;                    /* command[0] may be missing then, and np, which is 1 */
    bool gloo, no_cache, without_extras; /* given, but without effect */

    int ssh_port;                      /* 0 if not given */
    struct string_list identity_files; /* all can be read, and none is a public key */
    const char *remote_shell;          /* with %h for the host; NULL for libssh2 */
    const char *remote_shell_source;   /* the option or $VARIABLE that set it; NULL */
    int launcher;                      /* enum launcher */
    bool ssh_accept_new;
    bool tree_width_given;
    int tree_width; /* 0: hvdrun connects to all hosts itself */

    struct string_list interfaces; /* as given; see interface_option_for() (interface_option.h) */
    const char *interfaces_source; /* the option as written, or $VARIABLE; NULL */
    const char *port_range;        /* "A-B", also in `set`; NULL */
    int port_low, port_high;       /* the same; 0 if not given */

    const char *output_filename;
    const char *report; /* NULL if not given */
    bool prefix_timestamp;
    bool verbose;
    bool status_page; /* on any port */
    int status_port;  /* on this one; 0 if not given */
    int status_fd;    /* the descriptor to which the port is written; 0 if not given */

    int start_timeout_s;
    int heartbeat_timeout_s;
    int stopped;   /* enum stopped_action */
    int horovod;   /* enum horovod_package */
    int grace_s;   /* between SIGTERM and SIGKILL */
    int timeout_s; /* for the whole job; 0: as long as it takes */

    /* NAME=VALUE for every rank. These have precedence over our own environment, and are passed on
     * even where a variable is not passed on otherwise. Each name appears once. */
    struct string_list set;
    struct string_list set_by;  /* NAME=SOURCE for those in `set`: the option or the key of the
                                * configuration file that gave the value; empty: -x gave it */
    struct string_list exports; /* the values of -x; in `set` already */

    const char *config_file;
    const char *completion; /* "bash" or "zsh", in any case: as `help` */
    bool help, version, check_build;

    struct string_list warnings; /* a line each; for people */
    struct string_list notes;    /* likewise, with --verbose */
    struct string_list sources;  /* the position of each value of the configuration file */
    char **command;              /* program and arguments, ended by NULL: the tail of argv */
};

/* Reads the configuration file, identity files, and the environment. Returns HVD_OK; or
 * HVD_ERR_INVALID and one line, "-np: not a number: 'x'", and the lists are empty.
 *
 * With --help, --version, --check-build or --completion the rest is not checked and `command` may
 * be NULL; hvdrun_options_answer() has the text to print. */
int hvdrun_options_parse(struct hvdrun_options *options, int argc, char **argv, struct err *err);
void hvdrun_options_fini(struct hvdrun_options *options);

/* The text that was requested instead of a job, which the caller prints and frees; NULL: none
 * was. */
char *hvdrun_options_answer(const struct hvdrun_options *options);

/* np may be missing where -H, a hostfile or a batch system names the hosts. If none of them does:
 * HVD_ERR_INVALID, "-np: missing (how many ranks? ...)"; HVD_OK if np is given. With a discovery
 * script, min_np will do. */
int hvdrun_options_need_np(const struct hvdrun_options *options, struct err *err);

/* The text of --help; the caller frees it. */
char *hvdrun_options_help(void);

#endif
