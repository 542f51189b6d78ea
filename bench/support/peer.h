/* SPDX-License-Identifier: Apache-2.0 */
/* What every program of the comparison is: some ranks that do collectives of float32, sums where
 * something is combined. A peer says how; measuring, checking and printing are the same for all.
 *
 *     PROGRAM NAME SAMPLES SAMPLE_MS OPERATION:BYTES|resnet50|vgg16...
 *
 * Each item is measured with each algorithm of the peer that can do it: once with numbers that are
 * checked in every element, then SAMPLES samples of about SAMPLE_MS of calls without a pause (of
 * the ranks the slowest counts), then checked again. What takes long is done less often, and an
 * algorithm that takes several times as long as one before it not at all. Rank 0 prints a line for
 * each: name, operation, algorithm, ranks, bytes, and median, least and greatest of the samples in
 * microseconds per call. A wrong result ends the program with a line on stderr and status 1.
 *
 * BYTES are those of the whole vector: what is broadcast, what all ranks together gather, what each
 * rank's input has otherwise; at least one element per rank where the vector is shared out. A
 * gradient set is one call for each of its tensors ("each"), or one for a buffer that all are
 * copied to and from ("packed"), or what the peer itself has for that. Each tensor of a set has an
 * allocation of its own, as frameworks make them.
 *
 * Also compiled as C++ and with MPI, so there is nothing of libhvd here. */
#ifndef BENCH_SUPPORT_PEER_H
#define BENCH_SUPPORT_PEER_H

#include "bench/support/gradient_set.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum peer_operation {
    PEER_ALLREDUCE, /* in place: input and output are the same */
    PEER_BROADCAST, /* from rank 0, in place */
    PEER_ALLGATHER, /* count / size elements of each rank */
    PEER_ALLTOALL,
    PEER_REDUCESCATTER, /* count / size elements to each rank */
    PEER_OPERATIONS
};

struct peer {
    const char *name;
    int rank, size;
    const char *const *algorithms; /* names, at least one, then NULL */
    int algorithm;                 /* the one to use, an index */

    /* Whether the algorithm can do it; NULL: all can do everything. */
    bool (*can)(const struct peer *peer, enum peer_operation operation, size_t count);

    /* Whether it is worth trying on a gradient set, tensor by tensor or packed; NULL: always. */
    bool (*can_reduce_set)(const struct peer *peer, bool packed);

    /* One collective. A failure ends the program. */
    void (*run)(const struct peer *peer, enum peer_operation operation, const float *input,
                float *output, size_t count);

    /* Reduces all tensors of a set in place, in a way of its own that `way` names. NULL: it has
     * none. */
    void (*reduce_set)(const struct peer *peer, const struct gradient_set *set, float **gradients);
    const char *way;

    void (*barrier)(void);
    double (*slowest)(double mine); /* the greatest of all ranks, on all ranks */

    void *(*alloc)(size_t nbytes); /* NULL: malloc() and free() */
    void (*free)(void *memory);
    void (*forget)(void); /* memory that was used will be freed; NULL: nothing to do */
};

/* Measures the items of a command line, beginning with SAMPLES. */
void peer_measure(struct peer *peer, int argc, char **argv);

/* Ends the program with status 2 if the command line is not as above. */
void peer_check_arguments(int argc, char **argv);

/* Ends the program with status 1 and a line on stderr. */
__attribute__((format(printf, 2, 3), noreturn)) void peer_fail(const struct peer *peer,
                                                               const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
