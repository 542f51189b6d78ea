/* SPDX-License-Identifier: Apache-2.0 */
/* The private interface of the ranks' output, shared by job_output.c (its way) and
 * job_output_workers.c (the ranks that there are, and their files). */
#ifndef LAUNCHER_OUTPUT_JOB_OUTPUT_IMPL_H
#define LAUNCHER_OUTPUT_JOB_OUTPUT_IMPL_H

#include "launcher/output/job_output.h"
#include "launcher/output/last_line.h"
#include "launcher/output/last_lines.h"
#include "launcher/output/output_lines.h"
#include "launcher/output/output_writer.h"

/* hvdrun's stdout or stderr. */
struct console {
    struct output_writer *writer;
    struct output_sink *sink;
    bool closed;   /* all output is lost: it is absent, or job_output_discard() has given it up */
    bool absent;   /* hvdrun was started without it */
    bool told;     /* that output to it is lost */
    bool dangling; /* a stream ended without an end of line: the next record begins on a new line */
    bool returned; /* the last output ended in "\r": hvdrun's own lines begin on a new line */
};

struct rank_stream {
    struct output_lines lines;
    struct output_sink *file;   /* NULL without files */
    struct text_buffer waiting; /* bytes that wait until the destinations have room */
    bool ended;                 /* nothing comes after `waiting` */
    struct last_lines last_lines;
};

struct rank_output {
    struct rank_stream streams[OUTPUT_STREAMS];
    struct last_line last_line; /* on stderr */
};

/* The files of a rank; NULL: not created yet. */
struct rank_files {
    struct output_sink *sinks[OUTPUT_STREAMS];
};

struct job_output {
    struct job_output_options options;
    struct job_output_events events;
    void *context;
    struct console own[OUTPUT_STREAMS];
    struct console *consoles[OUTPUT_STREAMS]; /* one and the same if stdout and stderr are */
    struct output_writer *files;              /* NULL without files */
    struct rank_files *rank_files;            /* by rank; `nrank_files` of them */
    int nrank_files;
    struct rank_output **ranks; /* owned; by rank, or by worker, which may be forgotten: NULL */
    int nranks;
    int *forgotten; /* workers that were forgotten and are not freed yet, the first of them first */
    int nforgotten;
    struct text_buffer scratch;
    int nbroken;    /* destinations that were given up */
    bool congested; /* some stream has bytes waiting */
    bool finishing, lost;
    bool status_shown; /* the last thing on the terminal is a line of job_output_status() */
    int last_rank;     /* the rank that wrote last to our stderr; -1: another writer */
};

/* job_output_workers.c: creates the files of a rank. HVD_OK, or a status and `err` with the
 * path. */
int job_output_open_files(struct job_output *output, int rank, struct err *err);

/* job_output_workers.c: frees workers that were forgotten long ago, and have nothing waiting. */
void job_output_release(struct job_output *output);
void job_output_free_ranks(struct job_output *output);

#endif
