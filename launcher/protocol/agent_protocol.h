/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between hvdrun and the agent of a host, in frames (lib/base/frame.h):
 *
 *   launcher                              agent
 *   JOB      version, cwd, ...         ->             JOB, ARGUMENTS and ENVIRONMENT are the same
 *                                                     for all hosts but hvdrun's own
 *   ARGUMENTS the command, in order    ->             any number of frames; they add up
 *   ENVIRONMENT NAME=VALUE texts       ->             likewise; for every rank
 *   HOST     name, interfaces, ...     ->             struct agent_host
 *   RANK     rank, its place, its key  ->             one per rank of this host: struct agent_worker
 *   PREPARE                            ->
 *                                      <-  READY      everything is checked, nothing runs yet;
 *                                                     facts about the host
 *                                      <-  FAILED     or: step, exit status and text; the agent is
 *                                                     done
 *   START    [addresses]               ->             struct agent_start, or nothing
 *                                      <-  BOUND      rank, text: what it is bound to; comes
 *                                                     before STARTED, if JOB wants it
 *                                      <-  STARTED    rank, pid; or FAILED
 *                                      <-  OUTPUT     rank, stream, when it was read by the clock of
 *                                                     HEARTBEAT, bytes: at most the credit
 *   CREDIT   rank, stream, nbytes      ->
 *                                      <-  OUTPUT_END rank, stream
 *   STDIN    bytes: at most the credit ->             rank 0's host only; empty: end of file
 *                                      <-  STDIN_CREDIT nbytes
 *   SIGNAL   signum                    ->             to every rank's process group
 *   STOP     signum, grace             ->             signum now, SIGKILL after the grace
 *   STOP_RANK rank, signum, grace, NAME=VALUE texts   the same for one rank, and for every process
 *                                      ->             with all of these in its environment
 *                                      <-  STOPPED    the record of an end (rank_end.h), stopped:
 *                                                     a signal has stopped it; none: it goes on
 *                                      <-  EXITED     the record of an end, exited or killed;
 *                                                     milliseconds since START, whether STOP had
 *                                                     come before. What ranks here wrote to stderr
 *                                                     before the first failure has been sent
 *                                      <-  RELAY_OPEN id, own: a client connects to the rendezvous
 *                                                     here, and whether the kernel says that it is
 *                                                     the agent's own user
 *   RELAY_DATA, RELAY_END              <-> RELAY_DATA, RELAY_END: nothing more comes from that
 *                                                     side; hvdrun answers an end with its own
 *   EXCHANGE id, IPv4 address, port,   ->             connect there, send the bytes, take the answer
 *            bytes
 *                                      <-  EXCHANGED  id, 0 and all that has come until the other
 *                                                     side closed; or a negative error number
 *   STACKS   id                        ->             where does each rank stand?
 *                                      <-  STACK      rank, text: of one of its threads
 *                                      <-  STACKS_DONE id: nothing more comes for it
 *   HEARTBEAT stamp                    -> HEARTBEAT  the same stamp and its own clock, at once; any
 *                                                     time
 *                                      <-  NOTE       a line for people: what cannot be killed,
 *                                                     which library is missing
 *   TUNNEL_OPEN n, words of a command  ->             run it, and carry its stdin and stdout: it
 *                                                     connects to a host below this one
 *   TUNNEL_DATA n, bytes: at most the  <-> TUNNEL_DATA
 *            credit
 *   TUNNEL_CREDIT n, nbytes            <-> TUNNEL_CREDIT
 *                                      <-  TUNNEL_ERRORS n, bytes of the command's stderr
 *   TUNNEL_SCRIPT n, nonce, path, size ->             put the script into the tunnel by which
 *                                                     /bin/sh becomes hvdagent; once
 *   TUNNEL_DESCRIBE n                  ->             put the frames JOB, ARGUMENTS and ENVIRONMENT,
 *                                                     as they came here, into the tunnel; once
 *   TUNNEL_CLOSE n, given up           ->             end its stdin; given up: end the command too
 *                                      <-  TUNNEL_END n, text: it has ended, and why; "" if in order
 *   MULTICAST type, body               ->             a START, SIGNAL or STOP for this host and for
 *                                                     all below it: put the MULTICAST into each
 *                                                     tunnel of TUNNEL_DESCRIBE, between two frames
 *                                                     of hvdrun, then handle what it carries. It
 *                                                     overtakes what hvdrun has sent before to a
 *                                                     host below, never what comes later
 *                                      <-  DRAIN      in an elastic job: SIGTERM has asked the agent to
 *                                                     end; its ranks run on, and are to leave
 *                                      <-  DONE       every process here is gone, but for so many
 *
 * To an agent that replaces one which was lost:
 *
 *   JOB, SWEEP NAME=VALUE texts        ->             kill every process that has all of these in
 *                                                     its environment
 *                                      <-  DONE
 *
 * The agent kills everything that it started when the stream ends, or, on another machine, when
 * nothing has come for JOB's heartbeat_timeout_ms; not between SIGNAL SIGSTOP, which announces that
 * hvdrun stops too, and SIGNAL SIGCONT or STOP. hvdrun gives up a host from which nothing has come
 * for as long. Both sides treat the other's frames as foreign bytes: one that is malformed, or out
 * of turn, breaks the link.
 *
 * The same in every version from 2 on: JOB begins with the version, and an agent that speaks
 * another one answers with FAILED, whose layout stays, and ends the link. */
#ifndef LAUNCHER_PROTOCOL_AGENT_PROTOCOL_H
#define LAUNCHER_PROTOCOL_AGENT_PROTOCOL_H

#include "launcher/base/rank_attributes.h"
#include "launcher/protocol/host_step.h"
#include "lib/base/auth.h"
#include "lib/base/job_id.h"
#include "lib/base/rank_end.h"
#include "lib/base/rank_info.h"
#include "lib/base/status.h"
#include "lib/base/wire.h"

#include <stdbool.h>
#include <stdint.h>

enum { AGENT_VERSION = 16 };

/* Bytes of one output stream that hvdrun may not have written yet, and the same limit for stdin. */
enum { STREAM_WINDOW = 128 * 1024, STDIN_WINDOW = 64 * 1024 };

/* Bytes of a tunnel in one direction that its reader may not have taken yet; the number of tunnels
 * that an agent opens in its life, at most; bytes of TUNNEL_END's text, and a zero byte. */
enum { TUNNEL_WINDOW = 256 * 1024, TUNNELS_MAX = 16384, TUNNEL_TEXT_SIZE = 200 };

/* Bytes of a MULTICAST's body: none that it may carry is longer. */
enum { AGENT_MULTICAST_MAX = 1024 };

/* Bytes of a request or answer of EXCHANGE. */
enum { AGENT_EXCHANGE_MAX = 4096 };

/* Size of READY's text about CUDA. */
enum { AGENT_CUDA_SIZE = 512 };

/* Size of a numeric address, as INET6_ADDRSTRLEN. */
enum { AGENT_ADDRESS_SIZE = 46 };

enum agent_frame {
    AGENT_JOB = 1,
    AGENT_ARGUMENTS,
    AGENT_ENVIRONMENT,
    AGENT_RANK,
    AGENT_PREPARE,
    AGENT_READY,
    AGENT_FAILED,
    AGENT_START,
    AGENT_STARTED,
    AGENT_OUTPUT,
    AGENT_OUTPUT_END,
    AGENT_CREDIT,
    AGENT_STDIN,
    AGENT_STDIN_CREDIT,
    AGENT_SIGNAL,
    AGENT_STOP,
    AGENT_EXITED,
    AGENT_RELAY_OPEN,
    AGENT_RELAY_DATA,
    AGENT_RELAY_END,
    AGENT_HEARTBEAT,
    AGENT_DONE,
    AGENT_BOUND,
    AGENT_STOPPED,
    AGENT_NOTE,
    AGENT_SWEEP,
    AGENT_STOP_RANK,
    AGENT_EXCHANGE,
    AGENT_EXCHANGED,
    AGENT_TUNNEL_OPEN,
    AGENT_TUNNEL_DATA,
    AGENT_TUNNEL_CREDIT,
    AGENT_TUNNEL_ERRORS,
    AGENT_TUNNEL_CLOSE,
    AGENT_TUNNEL_END,
    AGENT_STACKS,
    AGENT_STACK,
    AGENT_STACKS_DONE,
    AGENT_DRAIN,
    AGENT_HOST,
    AGENT_TUNNEL_DESCRIBE,
    AGENT_TUNNEL_SCRIPT,
    AGENT_MULTICAST,
    AGENT_FRAME_TYPES
};

/* A stream of a rank, in the link's encoding. */
enum output_stream { STREAM_STDOUT, STREAM_STDERR, OUTPUT_STREAMS };

struct agent_job {
    uint16_t version;
    char cwd[4096];       /* where the ranks run */
    bool own_environment; /* another machine: its own variables apply unless ENVIRONMENT has them */
    bool one_machine;     /* every rank of the job runs on this machine: lo connects them all */
    bool elastic;         /* the job can go on without these ranks: SIGTERM makes DRAIN */
    uint32_t heartbeat_timeout_ms; /* how long hvdrun may be silent; 0: for ever */
    uint32_t answer_ms; /* hvdrun loses a host whose ranks run and which is silent for so long */
    char python_path[4096]; /* comes first in PYTHONPATH and must have the package horovod; "" */
    struct rank_attributes attributes;
    bool check_libraries; /* send FAILED if a library of the program is not found */
    bool check_cuda;      /* READY tells what of CUDA there is */
    char id[JOB_ID_SIZE]; /* of the job, for HVD_JOB_ID */
};

/* HOST: what differs from host to host. */
struct agent_host {
    char name[256];        /* as the user wrote it, for HOROVOD_HOSTNAME */
    int index, nhosts;     /* among the hosts of the job; of an elastic job, the agent's number */
    char interfaces[1024]; /* the part of --network-interfaces for this host: names, addresses and
                            * CIDRs with commas; "": any */
};

/* RANK. The agent makes the variables of the rank from it. */
struct agent_worker {
    int worker; /* the rank, or of an elastic job the number of the worker */
    struct rank_info place;
    struct job_key key; /* of this worker alone */
};

/* READY: facts about the host. */
struct agent_ready {
    uint64_t clock_ms;                /* its clock, milliseconds since 1970 */
    uint32_t ncpus;                   /* processors that the ranks may use */
    char machine[64];                 /* "Linux x86_64" */
    uint16_t relay_port;              /* port of the rendezvous on 127.0.0.1 */
    char caller[AGENT_ADDRESS_SIZE];  /* peer address of a login over the network; or "" */
    char address[AGENT_ADDRESS_SIZE]; /* where other machines reach this host; or "" */
    uint16_t torch_port;              /* rank 0's, for MASTER_PORT; 0: not asked for, or not here */
    char cuda[AGENT_CUDA_SIZE];       /* for people (process/cuda_info.h); "": not asked for */
};

/* START: what hvdrun knows once every host is ready. */
struct agent_start {
    char own_address[AGENT_ADDRESS_SIZE]; /* hvdrun's own host, as others see it; "" to others */
    char master_address[256]; /* of rank 0's host, for MASTER_ADDR; a number or a name */
    uint16_t master_port;
};

struct agent_failed {
    int rank;        /* -1: the host as a whole */
    uint8_t step;    /* enum host_step: the failed step; STEP_READY: a later failure */
    int exit_status; /* enum exit_status, or 126 or 127 */
    char text[512];
};

/* BOUND. */
struct agent_bound {
    int rank;
    char text[256]; /* from binding_text() */
};

struct agent_exited {
    struct rank_end end; /* EXITED or KILLED; at_us on the clock of HEARTBEAT; oom: killed, by an
                          * unknown sender, while the kernel killed because memory ran out */
    uint64_t after_ms;
    bool told; /* it had to end: STOP, STOP_RANK or a signal to the agent had come while it neither
                * exited nor was killed */
};

/* The agent's HEARTBEAT. */
struct agent_heartbeat {
    uint64_t stamp;    /* hvdrun's */
    uint64_t clock_us; /* the agent's, which never goes back */
};

/* NOTE. */
struct agent_note {
    char text[256];
};

/* STACK. */
struct agent_stack {
    int rank;
    char where[1500]; /* "hvd_wait <- step (train.py:12)", from stack_where(), or why not */
};

struct agent_stop {
    int signum;
    uint32_t grace_ms;
};

/* The head of STOP_RANK; texts follow. */
struct agent_stop_rank {
    int rank;
    struct agent_stop stop;
};

/* RELAY_OPEN. */
struct agent_relay_client {
    uint32_t id;
    bool own; /* the client's socket belongs to the user that the agent runs as */
};

struct agent_done {
    int left; /* processes that could not be killed */
};

/* A rank and a number: STARTED (pid); CREDIT and OUTPUT_END carry a stream too. */
struct agent_rank_number {
    int rank;
    uint8_t stream;
    uint32_t number;
};

/* From a message of another version, only `version` is read; HVD_ERR_PROTOCOL names both. */
void agent_job_encode(struct wire_writer *writer, const struct agent_job *message);
int agent_job_decode(struct agent_job *message, struct wire_reader *reader, struct err *err);
void agent_host_encode(struct wire_writer *writer, const struct agent_host *message);
int agent_host_decode(struct agent_host *message, struct wire_reader *reader, struct err *err);

/* The caller wipes the key, and sets `secret` of the writer. */
void agent_worker_encode(struct wire_writer *writer, const struct agent_worker *message);
int agent_worker_decode(struct agent_worker *message, struct wire_reader *reader, struct err *err);
void agent_ready_encode(struct wire_writer *writer, const struct agent_ready *message);
int agent_ready_decode(struct agent_ready *message, struct wire_reader *reader, struct err *err);
void agent_start_encode(struct wire_writer *writer, const struct agent_start *message);
int agent_start_decode(struct agent_start *message, struct wire_reader *reader, struct err *err);
void agent_failed_encode(struct wire_writer *writer, const struct agent_failed *message);
int agent_failed_decode(struct agent_failed *message, struct wire_reader *reader, struct err *err);
void agent_bound_encode(struct wire_writer *writer, const struct agent_bound *message);
int agent_bound_decode(struct agent_bound *message, struct wire_reader *reader, struct err *err);
void agent_exited_encode(struct wire_writer *writer, const struct agent_exited *message);
int agent_exited_decode(struct agent_exited *message, struct wire_reader *reader, struct err *err);
void agent_stopped_encode(struct wire_writer *writer, const struct rank_end *message);
int agent_stopped_decode(struct rank_end *message, struct wire_reader *reader, struct err *err);
void agent_heartbeat_encode(struct wire_writer *writer, const struct agent_heartbeat *message);
int agent_heartbeat_decode(struct agent_heartbeat *message, struct wire_reader *reader,
                           struct err *err);
void agent_note_encode(struct wire_writer *writer, const struct agent_note *message);
int agent_note_decode(struct agent_note *message, struct wire_reader *reader, struct err *err);
void agent_stack_encode(struct wire_writer *writer, const struct agent_stack *message);
int agent_stack_decode(struct agent_stack *message, struct wire_reader *reader, struct err *err);
void agent_stop_encode(struct wire_writer *writer, const struct agent_stop *message);
int agent_stop_decode(struct agent_stop *message, struct wire_reader *reader, struct err *err);
void agent_stop_rank_encode(struct wire_writer *writer, const struct agent_stop_rank *message);

/* Reads the head only. */
int agent_stop_rank_decode(struct agent_stop_rank *message, struct wire_reader *reader,
                           struct err *err);
void agent_relay_client_encode(struct wire_writer *writer,
                               const struct agent_relay_client *message);
int agent_relay_client_decode(struct agent_relay_client *message, struct wire_reader *reader,
                              struct err *err);
void agent_rank_number_encode(struct wire_writer *writer, const struct agent_rank_number *message);
int agent_rank_number_decode(struct agent_rank_number *message, struct wire_reader *reader,
                             struct err *err);

/* HVD_OK if the reader has read exactly its body, else HVD_ERR_PROTOCOL naming the frame type. */
int agent_frame_finished(const struct wire_reader *reader, int type, struct err *err);

/* The name of a frame type, for messages. */
const char *agent_frame_name(int type);

#endif
