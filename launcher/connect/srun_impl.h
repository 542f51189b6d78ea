/* SPDX-License-Identifier: Apache-2.0 */
/* One srun and its hosts; between transport_srun.c (the hosts: which srun, and their ends),
 * srun_command.c (what srun is told), srun_process.c (the process and its streams) and srun_says.c
 * (what srun writes). */
#ifndef LAUNCHER_CONNECT_SRUN_IMPL_H
#define LAUNCHER_CONNECT_SRUN_IMPL_H

#include "launcher/base/string_list.h"
#include "launcher/connect/agent_bootstrap.h"
#include "launcher/connect/connect_stderr.h"
#include "launcher/connect/dial_listener.h"
#include "launcher/connect/host_transport.h"
#include "launcher/connect/srun_line.h"
#include "launcher/process/children.h"
#include "launcher/process/spawn.h"

/* How long srun may take to end once all agents have; and after SIGTERM, until SIGKILL. */
enum { SRUN_END_MS = 2000, SRUN_GRACE_MS = 1000 };

/* opening -> connected -> closing;  opening -> failed -> closing;  opening -> closing */
enum srun_host_phase {
    SRUN_HOST_OPENING,
    SRUN_HOST_CONNECTED,
    SRUN_HOST_FAILED,
    SRUN_HOST_CLOSING
};

struct srun_host {
    const struct host_transport_job *job;
    struct srun *srun;   /* NULL: left */
    struct srun *former; /* whose task has found no hvdagent; NULL: none, or left */
    struct srun_host *next;
    enum srun_host_phase phase;
    uv_timer_t later;              /* reports the end of the transport, outside close() */
    int stream;                    /* the connection; its owner closes it */
    int task;                      /* of srun; -1 before the agent has connected */
    bool ended;                    /* srun has said that the task has ended */
    enum srun_line_kind explained; /* by `why` */
    char why[400];
};

/* gathering -> running -> ended */
struct srun {
    struct srun_pool *pool;
    uv_loop_t *loop;
    const struct connect_settings *settings;
    struct children *children;
    struct srun_host *first, **end_of_hosts;
    int nhosts;      /* that have not left, with those that have gone to another srun */
    size_t nnames;   /* bytes of their names */
    bool has_copy;   /* stdin begins with a copy of hvdagent */
    bool incomplete; /* a host was closed before its agent came */
    char nonce[BOOTSTRAP_NONCE_SIZE];
    uv_timer_t timer; /* begins; later ends a process that does not */
    uv_pipe_t input;  /* stdin */
    uv_write_t write;
    struct wire_writer bytes; /* for stdin */
    uv_poll_t polls[2];       /* stdout and stderr */
    int fds[2];
    int open_handles;
    struct connect_stderr lines[2];
    struct spawned spawned; /* pid 0: the start has failed */
    struct dial_listener *listener;
    struct job_key key;
    bool ended, told;
    int wait_status;
    struct srun_host *last; /* leaves when srun has ended */
    char why[400];          /* the last line that belongs to no host; "" */
};

/* The sruns that gather hosts: without a copy of hvdagent, and with one. Shared by all hosts. */
struct srun_pool {
    struct srun *gathering[2];
};

/* transport_srun.c. The host goes on to an srun that has a copy of hvdagent. */
void srun_send_copy(struct srun_host *host);
struct srun_host *srun_find_node(const struct srun *srun, const char *node);
void srun_fail_host(struct srun_host *host, int exit_status, const char *text);

/* Closes the port, unless somebody is to come. */
void srun_close_port(struct srun *srun);

/* The host leaves the sruns that it has, one after the other. The last host of an srun that lives
 * waits for its end: this is called again then. The transport of the host is closed afterwards, in
 * a later iteration of the loop. */
void srun_leave(struct srun_host *host);

/* srun_command.c. The two parts of what srun's stdin has; srun_command_put_copy() returns 0, or an
 * errno. */
void srun_command_words(struct string_list *words, const struct srun *srun, const char *script);
void srun_command_environment(struct string_list *list);
int srun_command_put_copy(struct srun *srun, size_t *size);
void srun_command_put_invitation(struct srun *srun);

/* srun_process.c */
int srun_process_start(struct srun *srun, const char *path, char **words, struct err *err);
bool srun_process_lives(const struct srun *srun);

/* A timer of the srun, which has not ended in time: sends SIGTERM, then SIGKILL. */
void srun_process_late(uv_timer_t *timer);

/* No host is left, and the process has ended, or was never there: frees the srun later. */
void srun_process_release(struct srun *srun);

/* srun_says.c: lines of srun's stdout and stderr; `context` is the srun. */
void srun_says_output_line(void *context, const char *text);
void srun_says_error_line(void *context, const char *text);

/* Nothing more is said about the end of the host. */
void srun_says_task_ended(struct srun_host *host);

#endif
