/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job runs: on this machine alone, or on hosts made of namespaces, whose first processes we
 * are told (tests/testbed.sh). The launcher then runs on the first of them. */
#ifndef TESTS_CHAOS_TESTBED_H
#define TESTS_CHAOS_TESTBED_H

#include <stdbool.h>
#include <sys/types.h>

enum { TESTBED_HOSTS_MAX = 8 };

struct testbed_host {
    const char *name;
    pid_t init;              /* its first process, seen from outside */
    unsigned long namespace; /* of its process ids */
};

struct testbed {
    struct testbed_host hosts[TESTBED_HOSTS_MAX];
    int nhosts; /* 0: this machine alone */
    int first;  /* a descriptor of the first host's first process, once it is adopted */
};

/* Adds "NAME=PID". False if that is none, or there are too many. `text` is kept. */
bool testbed_add(struct testbed *testbed, const char *text);

/* From now on children of this process are born among the processes of the first host. False, and
 * errno, if that is not allowed. */
bool testbed_adopt(struct testbed *testbed);

/* In such a child, before it executes a program: everything else of the host. */
bool testbed_enter(const struct testbed *testbed);

/* The host with that namespace of processes, or -1. */
int testbed_find_host(const struct testbed *testbed, unsigned long namespace);

#endif
