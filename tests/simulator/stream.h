/* SPDX-License-Identifier: Apache-2.0 */
/* Byte streams between processes: pipes, socket pairs, TCP connections.
 *
 * A stream has two ends. What is written at one arrives at the other in order, after a delay of the
 * path between their hosts, in pieces that need not be those that were written; at most a window is
 * under way or unread, the rest waits at the writer. An end is held by any number of processes;
 * when the last lets go the other end reads the end of the stream after what was sent, and its
 * writes break. Different streams do not wait for each other.
 *
 * A path between two hosts may be down in one direction: what is sent arrives after it is up again,
 * or never, and so does the news that nobody reads it. */
#ifndef TESTS_SIMULATOR_STREAM_H
#define TESTS_SIMULATOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_process;

enum { SIM_HOSTS_MAX = 9, SIM_WINDOW = 96 * 1024 };

/* Who is told of what happens at an end; called on the process that set it. */
struct sim_user {
    struct sim_process *process; /* NULL: nobody */
    void (*notify)(void *context);
    void *context;
    bool told; /* a call is on its way */
};

struct sim_end {
    struct sim_end *peer;
    int host, holders;
    struct sim_user reader, writer;
    char *in; /* has arrived, unread */
    size_t in_start, in_length, in_room, in_flight;
    bool fin;  /* the other side says nothing more after `in` */
    int error; /* an errno that a read finds after `in`, or 0 */
    char *out; /* waits for the window */
    size_t out_start, out_length, out_room;
    uint64_t given, moved;    /* bytes written, and those that left */
    uint64_t last_arrival_us; /* at the peer */
    bool shut, broken;        /* nothing more is written; the peer is gone */
    struct sim_end *next;
};

struct sim_hold {
    struct sim_end *end;
    struct sim_hold *next;
};

void sim_streams_reset(void);

/* Nobody holds the ends yet. */
void sim_stream_make(struct sim_end *ends[2], int host, int other_host);

void sim_hold(struct sim_process *process, struct sim_end *end);
void sim_release(struct sim_process *process, struct sim_end *end); /* one of its holds */
void sim_release_all(struct sim_process *process);

void sim_write(struct sim_end *end, const void *data, size_t length);
void sim_cut_write(struct sim_end *end); /* its process has died in write() */
void sim_shut(struct sim_end *end);      /* after what was written */

/* Takes up to `size` bytes. 0: none now. -1: the end of the stream, or `*error`. */
long sim_read(struct sim_end *end, void *buffer, size_t size, int *error);
bool sim_readable(const struct sim_end *end);

/* Has the user called soon if there is something to tell. */
void sim_tell(struct sim_user *user);

/* Both sides read an error, as when TCP gives a connection up; 0: the end of the stream. */
void sim_stream_break(struct sim_end *end, int error);

/* What is sent from `from` to `to` is lost, and sent again, until then; SIM_NEVER: for ever. */
void sim_path_down(int from, int to, uint64_t until_us);
bool sim_path_is_down(int from, int to);

/* Every stream, for those that look. */
struct sim_end *sim_ends(void);

#endif
