/* SPDX-License-Identifier: Apache-2.0 */
/* A launcher that a test plays frame by frame, beside a real agent in a process of its own. A
 * test waits for all that the agent must do, and Check's timeout ends a test in which the agent
 * does not do it. */
#ifndef TESTS_SUPPORT_AGENT_FIXTURE_H
#define TESTS_SUPPORT_AGENT_FIXTURE_H

#include "launcher/protocol/agent_protocol.h"
#include "lib/base/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct agent_fixture {
    pid_t pid;
    int link;     /* the launcher's end */
    int messages; /* what the agent says on stderr */
    struct frame_reader reader;
    uint32_t relay_stall_ms; /* to be set before the start; 0: as usual */
    bool binds_none;         /* likewise: an agent without hwloc */
};

/* The description that agent_fixture_describe() sends. Members that are not set have a default. */
struct agent_fixture_job {
    struct agent_job job;           /* version 0: ours; cwd "": "/" */
    const char *const *arguments;   /* ended by NULL */
    const char *const *environment; /* ended by NULL; NULL: PATH alone */
    const char *interfaces;         /* of HOST; NULL: any */
    int nranks;                     /* 0: one */
};

/* `environ` is the agent's own, or NULL for the test's. */
void agent_fixture_start(struct agent_fixture *fixture, char **environment);

/* Closes the link, waits for the agent's end and returns its wait status. */
int agent_fixture_stop(struct agent_fixture *fixture);

/* Waits for its end, with the link open. */
int agent_fixture_wait(struct agent_fixture *fixture);

/* The agent's output on stderr; the caller frees it. */
char *agent_fixture_messages(struct agent_fixture *fixture);

void agent_fixture_send_bytes(struct agent_fixture *fixture, const void *bytes, size_t length);
void agent_fixture_send(struct agent_fixture *fixture, int type, const void *body, size_t length);
void agent_fixture_send_numbers(struct agent_fixture *fixture, int type, int count, ...);

/* Sends all frames up to PREPARE. */
void agent_fixture_describe(struct agent_fixture *fixture, const struct agent_fixture_job *job);

/* Sends all frames up to START. Returns the pid of rank 0. */
pid_t agent_fixture_run(struct agent_fixture *fixture, const struct agent_fixture_job *job);

/* Waits for STARTED; returns the pid of rank 0. */
pid_t agent_fixture_until_started(struct agent_fixture *fixture);

/* Stops the agent's process, and continues it. The frames that are sent meanwhile lie before the
 * agent when it goes on, so that none of its timeouts depends on the speed of the test. */
void agent_fixture_hold(struct agent_fixture *fixture);
void agent_fixture_release(struct agent_fixture *fixture);

/* 1 and the next frame; 0 at the end of the link. */
int agent_fixture_next(struct agent_fixture *fixture, struct frame *frame);

/* Skips frames until one of that type has come, and reads it; the test fails if none does. */
struct wire_reader agent_fixture_until(struct agent_fixture *fixture, int type);

/* The output of rank 0 until the job is done, terminated; the caller frees it. */
char *agent_fixture_output(struct agent_fixture *fixture);

/* Is a process no more than a zombie? */
int agent_fixture_is_gone(pid_t pid);
void agent_fixture_until_gone(pid_t pid);

#endif
