/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks whose output goes through job_output.c, and their files.
 *
 *   job of fixed ranks   all are there from beginning to end, each has its files
 *   elastic job          workers are added, get another rank with each world, and are forgotten
 *
 * The files belong to ranks, not to workers, and stay open. A file that cannot be created later on
 * is reported once, and its output is lost; the job goes on. */
#include "launcher/output/job_output_impl.h"

#include "launcher/base/xalloc.h"
#include "launcher/output/output_files.h"

#include <stdlib.h>
#include <string.h>

static const char *const stream_names[OUTPUT_STREAMS] = { "stdout", "stderr" };

static int open_rank_file(struct job_output *output, int rank, int stream, struct err *err)
{
    const struct job_output_options *options = &output->options;
    int digits_of = options->elastic ? options->size_max : options->nranks;
    char *path = output_file_path(options->directory, rank, digits_of, stream_names[stream]);
    int fd = output_file_create(options->directory, rank, digits_of, stream_names[stream], err);
    if (fd >= 0)
        output->rank_files[rank].sinks[stream] = output_sink_add(output->files, fd, path, true);
    free(path);
    return fd < 0 ? fd : HVD_OK;
}

int job_output_open_files(struct job_output *output, int rank, struct err *err)
{
    int rc = HVD_OK;
    if (rank >= output->nrank_files) {
        output->rank_files =
            xreallocarray(output->rank_files, (size_t)rank + 1, sizeof *output->rank_files);
        for (; output->nrank_files <= rank; output->nrank_files++)
            output->rank_files[output->nrank_files] = (struct rank_files){ { NULL } };
    }
    for (int stream = 0; rc == HVD_OK && stream < OUTPUT_STREAMS; stream++)
        if (!output->rank_files[rank].sinks[stream])
            rc = open_rank_file(output, rank, stream, err);
    return rc;
}

/* The bytes to keep of each stream. */
static size_t bytes_kept(const struct job_output_options *options)
{
    size_t nranks = options->nranks > 0 ? (size_t)options->nranks : 1;
    size_t share = (size_t)JOB_OUTPUT_KEPT / OUTPUT_STREAMS / nranks;
    return options->keep_lines || share > LAST_LINES_KEPT ? LAST_LINES_KEPT : share;
}

static void use_files(struct job_output *output, int worker, int rank)
{
    struct err err = { 0 };
    if (!output->files)
        return;
    if (job_output_open_files(output, rank, &err) < 0) {
        output->lost = true;
        job_output_say(output, "--output-filename: cannot create, output of rank %d is lost: %s",
                       rank, err.text);
    }
    for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
        output->ranks[worker]->streams[stream].file = output->rank_files[rank].sinks[stream];
}

void job_output_add(struct job_output *output, int worker, int rank)
{
    struct rank_output *added = xcalloc(1, sizeof *added);
    output->ranks = xreallocarray(output->ranks, (size_t)worker + 1, sizeof *output->ranks);
    output->ranks[worker] = added;
    output->nranks = worker + 1;
    for (int stream = 0; stream < OUTPUT_STREAMS; stream++) {
        output_lines_init(&added->streams[stream].lines, rank, stream_names[stream]);
        added->streams[stream].last_lines.most = bytes_kept(&output->options);
    }
    use_files(output, worker, rank);
}

void job_output_set_rank(struct job_output *output, int worker, int rank)
{
    struct rank_output *known = output->ranks[worker];
    if (!known)
        return;
    for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
        output_lines_set_rank(&known->streams[stream].lines, rank, stream_names[stream]);
    use_files(output, worker, rank);
}

static void free_rank(struct job_output *output, int rank)
{
    struct rank_output *gone = output->ranks[rank];
    for (int stream = 0; gone && stream < OUTPUT_STREAMS; stream++) {
        output_lines_fini(&gone->streams[stream].lines);
        last_lines_fini(&gone->streams[stream].last_lines);
        text_buffer_fini(&gone->streams[stream].waiting);
    }
    free(gone);
    output->ranks[rank] = NULL;
}

static bool has_waiting(const struct rank_output *rank)
{
    return rank->streams[STREAM_STDOUT].waiting.length > 0 ||
           rank->streams[STREAM_STDERR].waiting.length > 0;
}

void job_output_release(struct job_output *output)
{
    int *forgotten = output->forgotten;
    while (output->nforgotten > JOB_OUTPUT_FORGOTTEN) {
        if (has_waiting(output->ranks[forgotten[0]]))
            return;
        free_rank(output, forgotten[0]);
        output->nforgotten--;
        memmove(forgotten, forgotten + 1, (size_t)output->nforgotten * sizeof *forgotten);
    }
}

void job_output_forget(struct job_output *output, int worker)
{
    output->forgotten =
        xreallocarray(output->forgotten, (size_t)output->nforgotten + 1, sizeof *output->forgotten);
    output->forgotten[output->nforgotten++] = worker;
    job_output_release(output);
}

void job_output_free_ranks(struct job_output *output)
{
    for (int rank = 0; rank < output->nranks; rank++)
        free_rank(output, rank);
    free(output->ranks);
    free(output->rank_files);
    free(output->forgotten);
}
