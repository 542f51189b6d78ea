/* SPDX-License-Identifier: Apache-2.0 */
/* Names in folders that were not there before: /dev/shm, /tmp, where a copy of hvdagent is put. */
#ifndef TESTS_CHAOS_LEFTOVERS_H
#define TESTS_CHAOS_LEFTOVERS_H

#include <stdio.h>

enum { LEFTOVERS_FOLDERS_MAX = 32 };

struct leftovers {
    const char *folders[LEFTOVERS_FOLDERS_MAX]; /* borrowed */
    int nfolders;
    char **known; /* paths, in order */
    size_t nknown;
};

/* Watches a folder from now on; one that is not there is empty. */
void leftovers_watch(struct leftovers *leftovers, const char *folder);
void leftovers_fini(struct leftovers *leftovers);

/* How many names are new, each told in a line on `log`; they are known from then on. */
int leftovers_look(struct leftovers *leftovers, FILE *log);

/* How many names are in that folder, each told; 0 if there is none. */
int leftovers_in(const char *folder, FILE *log);

#endif
