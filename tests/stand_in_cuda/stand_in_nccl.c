/* SPDX-License-Identifier: Apache-2.0 */
/* See stand_in_nccl.h. */
#include "tests/stand_in_cuda/stand_in_nccl.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 8, SLOT = 1 << 20, INVALID_ARGUMENT = 4, SYSTEM_ERROR = 2 };

/* What the ranks share. */
struct hall {
    atomic_int arrived;
    atomic_uint came, went; /* to allreduces */
    unsigned char slots[RANKS_MAX][SLOT];
};

struct nccl_comm {
    struct hall *hall;
    int rank, size;
    atomic_bool aborted;
    atomic_int at_work;
    unsigned rounds; /* of the stream's thread */
};

struct id {
    int pid, fd;
};

static atomic_int reduced, communicators;

int stand_in_nccl_reduced(void)
{
    return atomic_load(&reduced);
}

int stand_in_nccl_communicators(void)
{
    return atomic_load(&communicators);
}

int stand_in_nccl_get_version(int *version)
{
    const char *text = getenv("STAND_IN_NCCL_VERSION");
    *version = text ? atoi(text) : 22803;
    return NCCL_OK;
}

const char *stand_in_nccl_get_error_string(int result)
{
    return result == NCCL_OK            ? "no error"
           : result == INVALID_ARGUMENT ? "invalid argument"
                                        : "unhandled system error";
}

/* The file stays open as long as this process is there. */
int stand_in_nccl_get_id(struct nccl_id *id)
{
    int result = stand_in_fault("ncclGetUniqueId");
    if (result != NCCL_OK)
        return result;
    struct id ours = { .pid = getpid(), .fd = memfd_create("stand_in_nccl", MFD_CLOEXEC) };
    if (ours.fd < 0 || ftruncate(ours.fd, sizeof(struct hall)) < 0)
        return SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    memcpy(id, &ours, sizeof ours);
    return NCCL_OK;
}

int stand_in_nccl_comm_init(struct nccl_comm **comm, int size, struct nccl_id id, int rank,
                            struct nccl_config *config)
{
    struct id theirs;
    char path[64];
    memcpy(&theirs, &id, sizeof theirs);
    int result = stand_in_fault("ncclCommInitRankConfig");
    if (result != NCCL_OK)
        return result;
    if (config->magic != NCCL_CONFIG_MAGIC || config->blocking != 0 || size > RANKS_MAX)
        return INVALID_ARGUMENT;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", theirs.pid, theirs.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct nccl_comm *made = calloc(1, sizeof *made);
    if (fd < 0 || !made)
        return SYSTEM_ERROR;
    made->hall = mmap(NULL, sizeof *made->hall, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (made->hall == MAP_FAILED)
        return SYSTEM_ERROR;
    made->rank = rank;
    made->size = size;
    atomic_fetch_add(&made->hall->arrived, 1);
    atomic_fetch_add(&communicators, 1);
    *comm = made;
    return NCCL_IN_PROGRESS;
}

int stand_in_nccl_comm_error(struct nccl_comm *comm, int *result)
{
    *result = stand_in_fault("ncclCommGetAsyncError");
    if (*result == NCCL_OK && atomic_load(&comm->hall->arrived) < comm->size)
        *result = NCCL_IN_PROGRESS;
    return NCCL_OK;
}

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

int stand_in_nccl_comm_abort(struct nccl_comm *comm)
{
    if (!stand_in_has_context())
        return INVALID_ARGUMENT;
    atomic_store(&comm->aborted, true);
    while (atomic_load(&comm->at_work) > 0)
        nap();
    munmap(comm->hall, sizeof *comm->hall);
    free(comm);
    atomic_fetch_sub(&communicators, 1);
    return NCCL_OK;
}

/* ---- the reduction ---- */

struct reduction {
    struct nccl_comm *comm;
    const void *input;
    void *output;
    size_t count;
    int dtype, op;
};

static size_t element_size(int dtype)
{
    return dtype == NCCL_INT32 || dtype == NCCL_FLOAT32 ? 4 : dtype == NCCL_FLOAT64 ? 8 : 0;
}

static double get(const struct reduction *reduction, int rank, size_t i)
{
    const unsigned char *slot = reduction->comm->hall->slots[rank];
    double wide;
    float narrow;
    int32_t integer;
    if (reduction->dtype == NCCL_FLOAT64) {
        memcpy(&wide, slot + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, slot + 4 * i, 4);
    memcpy(&integer, slot + 4 * i, 4);
    return reduction->dtype == NCCL_FLOAT32 ? (double)narrow : (double)integer;
}

static void set(const struct reduction *reduction, size_t i, double value)
{
    unsigned char *to = reduction->output;
    float narrow = (float)value;
    int32_t integer = reduction->dtype == NCCL_INT32 ? (int32_t)value : 0;
    if (reduction->dtype == NCCL_FLOAT64)
        memcpy(to + 8 * i, &value, 8);
    else
        memcpy(to + 4 * i, reduction->dtype == NCCL_FLOAT32 ? (void *)&narrow : (void *)&integer,
               4);
}

static double combine(int op, double x, double y)
{
    switch (op) {
    case NCCL_PRODUCT:
        return x * y;
    case NCCL_MIN:
        return x < y ? x : y;
    case NCCL_MAX:
        return x > y ? x : y;
    default:
        return x + y;
    }
}

/* False when the communicator is aborted meanwhile. */
static bool await_all(struct nccl_comm *comm, atomic_uint *counter)
{
    unsigned wanted = comm->rounds * (unsigned)comm->size;
    atomic_fetch_add(counter, 1);
    while (atomic_load(counter) < wanted)
        if (atomic_load(&comm->aborted))
            return false;
        else
            nap();
    return true;
}

static void reduce_slots(const struct reduction *reduction)
{
    int size = reduction->comm->size;
    for (size_t i = 0; i < reduction->count; i++) {
        double value = get(reduction, 0, i);
        for (int rank = 1; rank < size; rank++)
            value = combine(reduction->op, value, get(reduction, rank, i));
        set(reduction, i, reduction->op == NCCL_AVERAGE ? value / size : value);
    }
}

static int run_reduction(void *arg)
{
    const struct reduction *reduction = arg;
    struct nccl_comm *comm = reduction->comm;
    comm->rounds++;
    memcpy(comm->hall->slots[comm->rank], reduction->input,
           reduction->count * element_size(reduction->dtype));
    if (await_all(comm, &comm->hall->came)) {
        reduce_slots(reduction);
        await_all(comm, &comm->hall->went);
    }
    atomic_fetch_sub(&comm->at_work, 1);
    return CUDA_OK;
}

int stand_in_nccl_allreduce(const void *input, void *output, size_t count, int dtype, int op,
                            struct nccl_comm *comm, struct cuda_stream *stream)
{
    size_t nbytes = count * element_size(dtype);
    int result = stand_in_fault("ncclAllReduce");
    if (result != NCCL_OK)
        return result;
    struct reduction *reduction = malloc(sizeof *reduction);
    if (!reduction || nbytes > SLOT || element_size(dtype) == 0) {
        free(reduction);
        return INVALID_ARGUMENT;
    }
    *reduction = (struct reduction){ .comm = comm,
                                     .input = stand_in_pointer((uintptr_t)input, nbytes),
                                     .output = stand_in_pointer((uintptr_t)output, nbytes),
                                     .count = count,
                                     .dtype = dtype,
                                     .op = op };
    if (nbytes > 0 && (!reduction->input || !reduction->output)) {
        free(reduction);
        return INVALID_ARGUMENT;
    }
    atomic_fetch_add(&reduced, 1);
    atomic_fetch_add(&comm->at_work, 1);
    return stand_in_enqueue(stream, run_reduction, reduction) == CUDA_OK ? NCCL_OK : SYSTEM_ERROR;
}
