/* SPDX-License-Identifier: Apache-2.0 */
/* The launchers that a job can be started with: what their processes are called, and what one says
 * to them. */
#ifndef TESTS_CHAOS_LAUNCHER_H
#define TESTS_CHAOS_LAUNCHER_H

#include "tests/chaos/testbed.h"

#include <stdbool.h>

enum { LAUNCHER_WORDS_MAX = 40 };

/* What a job is, whoever starts it. */
struct job_words {
    const char *program; /* of the launcher */
    const struct testbed *testbed;
    int np;
    bool elastic;       /* goes on as long as a rank is left */
    bool comes_back;    /* a host that has failed, after a second */
    bool remote_shell;  /* hosts are reached with ssh, where that can be chosen */
    const char *token;  /* "NAME=VALUE", which is in the launcher's environment */
    const char *worker; /* program */
    const char *kind;   /* first argument */
    const char *life;   /* second, or NULL */
    char hosts[256];    /* filled by launcher_words */
};

struct launcher {
    const char *name;
    const char *program; /* unless it is told */
    const char *guard;   /* name of the process that stands between it and the workers on a host */
    bool ours;           /* keeps the promises that the oracle knows */
    void (*put)(struct job_words *job, char *words[LAUNCHER_WORDS_MAX]);
};

/* NULL if there is none of that name. */
const struct launcher *launcher_find(const char *name);

/* A command line for it, ended by NULL. The words live as long as `job`. */
void launcher_words(const struct launcher *launcher, struct job_words *job,
                    char *words[LAUNCHER_WORDS_MAX]);

/* So many ranks a job has on that testbed. Without hosts an elastic job has two agents, on two
 * names of this machine. */
int launcher_np(const struct testbed *testbed, bool elastic);

#endif
