/* SPDX-License-Identifier: Apache-2.0 */
/* What a commit of an elastic state costs beside memcpy of as many bytes, and what the allreduce in
 * it costs: in turn, so often, on every rank. Rank 0 prints medians in microseconds and the
 * ratio. */
#include "hvd_elastic.h"

#include "bench/support/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int rc)
{
    if (rc == HVD_OK)
        return;
    fprintf(stderr, "elastic_commit: %s\n", hvd_last_error());
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return fprintf(stderr, "usage: elastic_commit MEGABYTES ROUNDS\n"), 2;
    size_t size = (size_t)number_argument("MEGABYTES", argv[1], 1, 4096) * 1000000;
    int rounds = (int)number_argument("ROUNDS", argv[2], 1, 10000);
    char *state_bytes = malloc(size), *copy = malloc(size);
    double *copies = calloc((size_t)rounds, sizeof *copies);
    double *commits = calloc((size_t)rounds, sizeof *commits);
    double *checks = calloc((size_t)rounds, sizeof *checks);
    struct hvd_elastic_state *state;
    if (!state_bytes || !copy || !copies || !commits || !checks)
        return fprintf(stderr, "elastic_commit: out of memory\n"), 1;
    memset(state_bytes, 1, size);
    memset(copy, 2, size);
    must(hvd_elastic_init());
    must(hvd_elastic_create(NULL, &state));
    must(hvd_elastic_add_memory(state, "state", state_bytes, size));
    must(hvd_elastic_sync(state));
    for (int i = 0; i < rounds; i++) {
        state_bytes[i] = (char)i;
        must(hvd_barrier());
        double begin = now_us();
        memcpy(copy, state_bytes, size);
        copies[i] = now_us() - begin;
        must(hvd_barrier());
        begin = now_us();
        must(hvd_elastic_commit(state));
        commits[i] = now_us() - begin;
        begin = now_us();
        must(hvd_elastic_check_host_updates(state));
        checks[i] = now_us() - begin;
    }
    double memcpy_us = median(copies, rounds), commit_us = median(commits, rounds);
    if (hvd_rank() == 0)
        printf("%d ranks\t%zu bytes\tmemcpy %.0f us\tcommit %.0f us\tratio %.2f\tcheck %.1f us\n",
               hvd_size(), size, memcpy_us, commit_us, commit_us / memcpy_us,
               median(checks, rounds));
    int differs = copy[rounds / 2] != state_bytes[rounds / 2];
    hvd_elastic_destroy(state);
    free(state_bytes);
    free(copy);
    free(copies);
    free(commits);
    free(checks);
    must(hvd_shutdown());
    return differs;
}
