/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to a host: a transport runs hvdagent there and gives a byte stream to it.
 *
 *   waiting -> local:    a child process                                  -> done -> ended
 *           -> ssh:      a session of libssh2, /bin/sh there, hvdagent    -> done -> ended
 *           -> command:  the user's own command, /bin/sh, hvdagent        -> done -> ended
 *           -> tunnel:   a command that another host's agent runs         -> done -> ended
 *   tunnel -> waiting
 *   any but ended -> failed
 *
 * A host is local when its name or address is this machine's and no user was named for it. Other
 * hosts are reached through ssh, unless the user gave a command. The ssh transport hands a host
 * over to the external ssh when only that can reach it (transport_ssh.c).
 *
 * A host below another one waits until that host's agent is ready. When it cannot be connected
 * from there it is connected from here, like any other.
 *
 * One thread: all calls and callbacks are made on the loop's thread. */
#ifndef LAUNCHER_CONNECT_HOST_CONNECT_H
#define LAUNCHER_CONNECT_HOST_CONNECT_H

#include "launcher/protocol/host_step.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <uv.h>

struct host_transport;
struct tunnel;
struct tunnels;

/* An agent that is a child of this process already. */
struct running_agent {
    pid_t pid; /* 0: none, or a host has taken it */
    int link;
};

/* For all hosts of a job; borrowed until connect_queue_destroy(). */
struct connect_settings {
    const char *agent;                /* path of hvdagent on this machine, tried first on others */
    struct running_agent *running;    /* taken by the first local host that is connected; or NULL */
    const struct rlimit *nofile;      /* the user's limit on descriptors, for local agents */
    const struct host_transport *ssh; /* the transport by libssh2, unless remote_shell is set */
    const char *ssh_program;          /* path of hvdssh, which uses libssh2; or NULL */
    const char *remote_shell;         /* "ssh -q %h", or NULL for libssh2 */
    const char *remote_shell_source;  /* the option or variable that set it, for messages */
    const char *remote_shell_missing; /* why the command could not run at the start; or NULL */
    const char *remote_shell_program; /* looked for again, if `remote_shell_missing` is set */
    const struct srun_settings *srun; /* hosts are reached by srun; or NULL */
    const char *job_id;               /* for the commands' environment */
    int ssh_port;                     /* 0: the configured port, else 22 */
    const char *const
        *identity_files; /* ended by NULL; NULL or empty: those of the configuration */
    bool accept_new;     /* unknown host keys are added to known_hosts */
    uint32_t timeout_ms; /* for one host, from the beginning of its turn until it is connected, or
                          * until hvdagent is being sent, which has no limit */
    uint32_t heartbeat_timeout_ms; /* a connection that acknowledges nothing for so long is dead */
};

/* For hosts that are reached by srun (transport_srun.c). */
struct srun_settings {
    int port_low, port_high; /* agents connect to one of these ports of ours; 0: to any */
};

struct connect_target {
    const char *host;        /* borrowed, as the user wrote it, without brackets */
    const char *user;        /* borrowed; or NULL */
    bool below;              /* it is connected through another host: it waits for one of
                       * host_connect_through() and host_connect_directly() */
    struct tunnels *tunnels; /* of that host, once they are known; borrowed */
};

struct host_stream {
    int input, output; /* descriptors of the stream; equal or two. The receiver closes them */
    pid_t pid;  /* of the local process that stands for the host; on_process_end() reports its end;
                 * 0 for none */
    bool local; /* the agent is a child process on this machine */
    struct tunnel *tunnel; /* a command on another host connects to it, through this; or NULL.
                            * Borrowed during on_connected() */
    bool agent;            /* hvdagent is at the other end already, not /bin/sh */
    bool srun; /* srun has started the agent: no process of this machine stands for the host alone,
                 * but on_process_end() comes, and host_connect_end_text() has the cause, soon after
                 * the stream has ended too early */
};

struct connect_events {
    /* The step begins now. */
    void (*on_step)(void *context, enum host_step step);

    /* Information for people, at most a line: a switch to the external ssh, a line of the host's
     * stderr. `important`: also without --verbose. */
    void (*on_note)(void *context, bool important, const char *text);

    /* on_connected(): hvdagent runs and waits for its first frame. on_failed(): it will not run;
     * `text` names the cause, `exit_status` is hvdrun's for it. One of the two is called once,
     * never from inside host_connect_start(). */
    void (*on_connected)(void *context, const struct host_stream *stream);
    void (*on_failed)(void *context, enum host_step step, int exit_status, const char *text);

    /* The local process of the stream has ended, with a status of waitpid(). */
    void (*on_process_end)(void *context, int wait_status);

    /* The host above could not connect to this one, for that reason, and hvdrun tries it itself.
     * May be NULL if no target is below another. */
    void (*on_fall_back)(void *context, const char *text);
};

struct children;
struct connect_queue;
struct host_connect;

/* Decides how many hosts are connected at once, and which hosts are local. `children` is borrowed:
 * a transport that starts a local process watches it there (children.h), never with waitpid(). */
struct connect_queue *connect_queue_create(uv_loop_t *loop, const struct connect_settings *settings,
                                           struct children *children);

/* Call this when no host of the pool is open any more. NULL is fine. */
void connect_queue_destroy(struct connect_queue *pool);

/* Begins to connect. `events` and `context` must stay until host_connect_close() has called
 * back. */
struct host_connect *host_connect_start(struct connect_queue *pool,
                                        const struct connect_target *target,
                                        const struct connect_events *events, void *context);

/* For a target that is below another host, and waits: connects to it through that host's agent, or
 * from here. Later calls do nothing. */
void host_connect_through(struct host_connect *connect, struct tunnels *tunnels);
void host_connect_directly(struct host_connect *connect);

/* Is the host this machine, by its name? Not known for a host that only ssh's configuration
 * names. */
bool connect_queue_is_local(struct connect_queue *pool, const struct connect_target *target);

/* Why a connected stream has ended, as far as the transport knows: "ssh connection to 198.51.100.11
 * port 22: connection reset"; else "". Valid until host_connect_close(). */
const char *host_connect_end_text(const struct host_connect *connect);

/* Why the batch system ends the whole job, as far as the transport knows; else "". Likewise. */
const char *host_connect_job_end_text(const struct host_connect *connect);

/* The number of bytes sent to a connected host that its kernel has acknowledged. The number grows
 * between calls while the host lives, whatever becomes of its processes. 0 if the transport does
 * not know: only libssh2 has a connection of its own. */
uint64_t host_connect_acknowledged(const struct host_connect *connect);

/* Gives up, or hangs up. After this call only `on_closed` is called, later; it may be NULL. A local
 * process that stands for a host is not killed: its stream ends. NULL is fine. */
void host_connect_close(struct host_connect *connect, void (*on_closed)(void *context),
                        void *context);

#endif
