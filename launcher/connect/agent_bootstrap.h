/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap that turns /bin/sh on another machine into hvdagent. The shell gets a script on its
 * stdin and answers with marks that carry a nonce, so that the marks can be told from the text that
 * a login shell prints before:
 *
 *   script, which ends in one exec       ->
 *                                        <-  noise, at most 64 KiB
 *                                        <-  mark "here": /bin/sh has read all of it
 *                                        <-  mark "run": hvdagent of the same path takes over
 *   or                                   <-  mark "send MACHINE": hvdagent is missing or does not
 *                                            run; a private folder (mktemp -d, 0700) with enough
 *                                            room, from which programs can be executed, exists
 *   our own hvdagent, as many bytes as the script knows ->
 *                                        <-  mark "run"; hvdagent removes its file and the folder
 *   or                                   <-  mark "fail TEXT"
 *
 * Nothing is sent while /bin/sh could still swallow bytes for hvdagent: after "run" the stream
 * belongs to the agent. The nonce is not a secret. The script contains nothing of the job.
 *
 * Fails when there is more noise (the message quotes its first line), at a mark "fail", when the
 * machine is of another kind than ours, and at a mark that is out of turn or repeated. */
#ifndef LAUNCHER_CONNECT_AGENT_BOOTSTRAP_H
#define LAUNCHER_CONNECT_AGENT_BOOTSTRAP_H

#include "launcher/tree/agent_bootstrap_script.h"

#include <stdbool.h>
#include <stddef.h>

enum { BOOTSTRAP_NOISE_MAX = 64 * 1024 };

enum agent_bootstrap_action {
    BOOTSTRAP_WAIT,   /* for more bytes */
    BOOTSTRAP_SEND,   /* hvdagent must be sent */
    BOOTSTRAP_DONE,   /* the stream belongs to the agent; nothing came behind the mark */
    BOOTSTRAP_FAILED, /* bootstrap->error gives the cause */
};

/* Pure: bytes in, actions out. */
struct agent_bootstrap {
    char nonce[BOOTSTRAP_NONCE_SIZE];
    char machine[64]; /* of this machine, as "uname -sm" prints it */
    char *line;       /* the received part of a line, owned */
    size_t length, capacity;
    size_t noise;         /* bytes in lines before this one that were no marks */
    char first_noise[80]; /* the first line of noise that is not empty, printable */
    bool answered;        /* "here" has come */
    bool sent;
    char error[500];
};

void agent_bootstrap_init(struct agent_bootstrap *bootstrap, const char *nonce,
                          const char *machine);
void agent_bootstrap_fini(struct agent_bootstrap *bootstrap);

/* Handles all received bytes. */
enum agent_bootstrap_action agent_bootstrap_take(struct agent_bootstrap *bootstrap,
                                                 const char *data, size_t length);

/* The stream has ended. Returns the first line that the host sent instead of an answer; "" for
 * nothing. Borrowed. */
const char *agent_bootstrap_end(struct agent_bootstrap *bootstrap);

#endif
