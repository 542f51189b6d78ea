/* SPDX-License-Identifier: Apache-2.0 */
/* The options of hvdrendezvousd, checked: its command line has precedence over its environment. */
#ifndef SRC_SERVICE_HVDRENDEZVOUSD_OPTIONS_H
#define SRC_SERVICE_HVDRENDEZVOUSD_OPTIONS_H

#include "launcher/base/string_list.h"
#include "lib/base/status.h"
#include "src/options/options.h"

#include <stdbool.h>

/* All options, for callers that list them. */
extern const struct option_table hvdrendezvousd_option_table;

/* In the order of the words. AUTO: if hvdrendezvousd was built with it. */
enum seccomp_use { SECCOMP_AUTO, SECCOMP_ON, SECCOMP_OFF };
#define SECCOMP_CHOICES "auto on off"

/* Texts are borrowed from argv and the environment; the list is owned. */
struct hvdrendezvousd_options {
    struct string_list listen; /* at least one address that tcp_port_open() understands */
    const char *key_file;
    const char *key_file_source; /* the option as written, for messages */
    const char *new_key;         /* create this file, and do nothing else */
    const char *job_key;         /* print the key of this job, and do nothing else */
    const char *port_file;       /* NULL: none */
    const char *user;            /* to become, once the ports are open; NULL: none */
    int seccomp;                 /* enum seccomp_use */
    int ready_fd;                /* -1: none */
    int max_jobs;
    int max_memory_mib;
    int start_timeout_s;
    bool help, version;
};

/* HVD_OK; or HVD_ERR_INVALID and one line, and the list is empty. With --help and --version the
 * rest is not checked. */
int hvdrendezvousd_options_parse(struct hvdrendezvousd_options *options, char **argv,
                                 struct err *err);
void hvdrendezvousd_options_fini(struct hvdrendezvousd_options *options);

/* The text that was requested instead of a service, which the caller prints and frees; NULL: none
 * was. */
char *hvdrendezvousd_options_answer(const struct hvdrendezvousd_options *options);

#endif
