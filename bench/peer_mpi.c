/* SPDX-License-Identifier: Apache-2.0 */
/* An MPI in the comparison. Not part of the build; bench/run compiles it with each mpicc it finds.
 *
 *     mpirun -np 2 peer_mpi NAME SAMPLES SAMPLE_MS ITEM...      see support/peer.h
 *     mpirun -np 2 peer_mpi                                     init, a barrier, finalize */
#include "bench/support/peer.h"

#include <mpi.h>

static const char *const algorithms[] = { "auto", NULL };

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static double slowest(double mine)
{
    double result = 0;
    MPI_Allreduce(&mine, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return result;
}

/* A failure ends all ranks: that is what MPI does unless told otherwise. */
static void run(const struct peer *peer, enum peer_operation operation, const float *input,
                float *output, size_t count)
{
    int all = (int)count, share = all / peer->size;
    MPI_Comm world = MPI_COMM_WORLD;
    switch (operation) {
    case PEER_ALLREDUCE:
        MPI_Allreduce(MPI_IN_PLACE, output, all, MPI_FLOAT, MPI_SUM, world);
        break;
    case PEER_BROADCAST:
        MPI_Bcast(output, all, MPI_FLOAT, 0, world);
        break;
    case PEER_ALLGATHER:
        MPI_Allgather(input, share, MPI_FLOAT, output, share, MPI_FLOAT, world);
        break;
    case PEER_ALLTOALL:
        MPI_Alltoall(input, share, MPI_FLOAT, output, share, MPI_FLOAT, world);
        break;
    case PEER_REDUCESCATTER:
        MPI_Reduce_scatter_block(input, output, share, MPI_FLOAT, MPI_SUM, world);
        break;
    case PEER_OPERATIONS:
        break;
    }
}

int main(int argc, char **argv)
{
    struct peer peer = {
        .algorithms = algorithms, .run = run, .barrier = barrier, .slowest = slowest
    };
    if (argc > 1)
        peer_check_arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &peer.size);
    if (argc > 1) {
        peer.name = argv[1];
        peer_measure(&peer, argc - 2, argv + 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
