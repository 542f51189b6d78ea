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

enum { RANKS_MAX = 8, SLOT = 1 << 22, INVALID_ARGUMENT = 4, SYSTEM_ERROR = 2 };
enum { BOX = 1 << 16 };

/* What a rank calls for; it must be the same on all ranks. */
struct signature {
    int call; /* enum stand_in_nccl_call */
    int dtype, op, root;
    size_t count;
};

/* What one rank sends to another, one message after the other. */
struct box {
    atomic_uint sent, taken; /* messages */
    struct signature signature;
    unsigned char data[BOX];
};

/* What the ranks share. */
struct hall {
    atomic_int arrived;
    atomic_uint came, went;                 /* to operations of all ranks */
    struct box boxes[RANKS_MAX][RANKS_MAX]; /* from, to */
    struct signature signatures[RANKS_MAX];
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

static atomic_int calls[STAND_IN_NCCL_CALLS], communicators;

int stand_in_nccl_called(enum stand_in_nccl_call call)
{
    return atomic_load(&calls[call]);
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
    int result = stand_in_fault("ncclCommAbort");
    if (result != NCCL_OK)
        return result;
    atomic_store(&comm->aborted, true);
    while (atomic_load(&comm->at_work) > 0)
        nap();
    munmap(comm->hall, sizeof *comm->hall);
    free(comm);
    atomic_fetch_sub(&communicators, 1);
    return NCCL_OK;
}

/* ---- operations ---- */

struct operation {
    struct nccl_comm *comm;
    bool is_end; /* of a send: its message has been taken */
    const void *input;
    void *output;
    size_t taken, made; /* bytes of input and output */
    struct signature signature;
};

static size_t element_size(int dtype)
{
    switch (dtype) {
    case NCCL_UINT8:
        return 1;
    case NCCL_INT32:
    case NCCL_FLOAT32:
        return 4;
    default:
        return dtype == NCCL_FLOAT64 ? 8 : 0;
    }
}

static size_t operation_bytes(const struct operation *operation)
{
    return operation->signature.count * element_size(operation->signature.dtype);
}

static double get(const struct operation *operation, int rank, size_t i)
{
    const unsigned char *slot = operation->comm->hall->slots[rank];
    double wide;
    float narrow;
    int32_t integer;
    if (operation->signature.dtype == NCCL_FLOAT64) {
        memcpy(&wide, slot + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, slot + 4 * i, 4);
    memcpy(&integer, slot + 4 * i, 4);
    return operation->signature.dtype == NCCL_FLOAT32 ? (double)narrow : (double)integer;
}

static void set(const struct operation *operation, size_t i, double value)
{
    unsigned char *to = operation->output;
    int dtype = operation->signature.dtype;
    float narrow = (float)value;
    int32_t integer = dtype == NCCL_INT32 ? (int32_t)value : 0;
    if (dtype == NCCL_FLOAT64)
        memcpy(to + 8 * i, &value, 8);
    else
        memcpy(to + 4 * i, dtype == NCCL_FLOAT32 ? (void *)&narrow : (void *)&integer, 4);
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

/* NCCL itself would hang, or mix the data up. */
static void compare_signatures(const struct nccl_comm *comm)
{
    const struct signature *own = &comm->hall->signatures[comm->rank];
    for (int rank = 0; rank < comm->size; rank++) {
        const struct signature *other = &comm->hall->signatures[rank];
        if (own->call == other->call && own->dtype == other->dtype && own->op == other->op &&
            own->root == other->root && own->count == other->count)
            continue;
        fprintf(stderr, "stand_in_nccl: rank %d calls %d of %zu, rank %d calls %d of %zu\n",
                comm->rank, own->call, own->count, rank, other->call, other->count);
        abort();
    }
}

/* From element `first` of what each rank brings. */
static void reduce_slots(const struct operation *operation, size_t first)
{
    int size = operation->comm->size, op = operation->signature.op;
    for (size_t i = 0; i < operation->signature.count; i++) {
        double value = get(operation, 0, first + i);
        for (int rank = 1; rank < size; rank++)
            value = combine(op, value, get(operation, rank, first + i));
        set(operation, i, op == NCCL_AVERAGE ? value / size : value);
    }
}

static void take_result(const struct operation *operation)
{
    const struct hall *hall = operation->comm->hall;
    const struct signature *signature = &operation->signature;
    size_t nbytes = operation_bytes(operation);
    if (signature->call == STAND_IN_NCCL_ALLREDUCE || signature->call == STAND_IN_NCCL_REDUCE)
        reduce_slots(operation, 0);
    else if (signature->call == STAND_IN_NCCL_REDUCESCATTER)
        reduce_slots(operation, (size_t)operation->comm->rank * signature->count);
    else if (signature->call == STAND_IN_NCCL_BROADCAST)
        memcpy(operation->output, hall->slots[signature->root], nbytes);
    else
        for (int rank = 0; rank < operation->comm->size; rank++)
            memcpy((unsigned char *)operation->output + (size_t)rank * nbytes, hall->slots[rank],
                   nbytes);
}

static void carry_out(const struct operation *operation)
{
    struct nccl_comm *comm = operation->comm;
    comm->rounds++;
    comm->hall->signatures[comm->rank] = operation->signature;
    if (operation->input)
        memcpy(comm->hall->slots[comm->rank], operation->input, operation->taken);
    if (!await_all(comm, &comm->hall->came))
        return;
    compare_signatures(comm);
    if (operation->output)
        take_result(operation);
    await_all(comm, &comm->hall->went);
}

/* ---- between two ranks ---- */

/* False when the communicator is aborted meanwhile. */
static bool await_box(const struct nccl_comm *comm, const struct box *box, bool full)
{
    while ((atomic_load(&box->sent) != atomic_load(&box->taken)) != full)
        if (atomic_load(&comm->aborted))
            return false;
        else
            nap();
    return true;
}

static void send_message(const struct operation *operation)
{
    struct nccl_comm *comm = operation->comm;
    struct box *box = &comm->hall->boxes[comm->rank][operation->signature.root];
    if (!await_box(comm, box, false) || operation->is_end)
        return;
    box->signature = operation->signature;
    memcpy(box->data, operation->input, operation->taken);
    atomic_fetch_add(&box->sent, 1);
}

/* NCCL would hang, or write behind the output. */
static void take_message(const struct operation *operation)
{
    struct nccl_comm *comm = operation->comm;
    int from = operation->signature.root;
    struct box *box = &comm->hall->boxes[from][comm->rank];
    if (!await_box(comm, box, true))
        return;
    if (box->signature.count != operation->signature.count ||
        box->signature.dtype != operation->signature.dtype) {
        fprintf(stderr, "stand_in_nccl: rank %d sends %zu to rank %d, which receives %zu\n", from,
                box->signature.count, comm->rank, operation->signature.count);
        abort();
    }
    memcpy(operation->output, box->data, operation->made);
    atomic_fetch_add(&box->taken, 1);
}

static void carry_out_any(const struct operation *operation)
{
    if (operation->signature.call == STAND_IN_NCCL_SEND)
        send_message(operation);
    else if (operation->signature.call == STAND_IN_NCCL_RECEIVE)
        take_message(operation);
    else
        carry_out(operation);
}

/* Does nothing once the communicator is aborted: other ranks must not take a rank's next operation
 * for one that it has not come to. */
static int run_operation(void *arg)
{
    const struct operation *operation = arg;
    struct nccl_comm *comm = operation->comm;
    if (!atomic_load(&comm->aborted))
        carry_out_any(operation);
    atomic_fetch_sub(&comm->at_work, 1);
    return CUDA_OK;
}

/* What is called between ncclGroupStart() and ncclGroupEnd(), on this thread. */
enum { GROUP_MAX = 64 };

static _Thread_local struct {
    bool open;
    int failure, count;
    struct operation *operations[GROUP_MAX];
    struct cuda_stream *streams[GROUP_MAX];
} group;

static int put_on_stream(struct operation *operation, struct cuda_stream *stream)
{
    struct nccl_comm *comm = operation->comm;
    atomic_fetch_add(&calls[operation->signature.call], operation->is_end ? 0 : 1);
    atomic_fetch_add(&comm->at_work, 1);
    if (stand_in_enqueue(stream, run_operation, operation) == CUDA_OK)
        return NCCL_OK;
    atomic_fetch_sub(&comm->at_work, 1);
    return SYSTEM_ERROR;
}

int stand_in_nccl_group_start(void)
{
    int result = stand_in_fault("ncclGroupStart");
    if (result != NCCL_OK)
        return result;
    group.open = true;
    group.failure = NCCL_OK;
    group.count = 0;
    return NCCL_OK;
}

/* A send ends when its message has been taken, which may need what is behind it in the group. */
static void append_ends(void)
{
    for (int i = group.count - 1; i >= 0; i--) {
        struct operation *end;
        if (group.operations[i]->signature.call != STAND_IN_NCCL_SEND)
            continue;
        if (group.count == GROUP_MAX || !(end = malloc(sizeof *end)))
            abort();
        *end = *group.operations[i];
        end->is_end = true;
        group.operations[group.count] = end;
        group.streams[group.count++] = group.streams[i];
    }
}

/* A group in which a call has failed is not carried out. */
int stand_in_nccl_group_end(void)
{
    int result = stand_in_fault("ncclGroupEnd");
    if (!group.open)
        return INVALID_ARGUMENT;
    group.open = false;
    if (result == NCCL_OK)
        result = group.failure;
    append_ends();
    for (int i = 0; i < group.count; i++)
        if (result == NCCL_OK)
            result = put_on_stream(group.operations[i], group.streams[i]);
        else
            free(group.operations[i]);
    return result == NCCL_OK ? NCCL_IN_PROGRESS : result;
}

/* NULL if the arguments are wrong. Without an output nothing is made. */
static struct operation *make_operation(const struct operation *wanted)
{
    if (wanted->taken > SLOT || element_size(wanted->signature.dtype) == 0)
        return NULL;
    struct operation *operation = malloc(sizeof *operation);
    if (!operation)
        return NULL;
    *operation = *wanted;
    operation->input = operation->output = NULL;
    if (wanted->taken > 0)
        operation->input = stand_in_pointer((uintptr_t)wanted->input, wanted->taken);
    if (wanted->made > 0)
        operation->output = stand_in_pointer((uintptr_t)wanted->output, wanted->made);
    if ((wanted->taken == 0 || operation->input) && (wanted->made == 0 || operation->output))
        return operation;
    free(operation);
    return NULL;
}

/* NCCL reads and writes in no order that callers could rely on: input and output are apart, or the
 * smaller one lies in the larger one at the place of the rank. */
static bool is_in_place(const struct operation *operation)
{
    const struct nccl_comm *comm = operation->comm;
    uintptr_t input = (uintptr_t)operation->input, output = (uintptr_t)operation->output;
    size_t taken = operation->taken, made = operation->made, rank = (size_t)comm->rank;
    if (taken == 0 || made == 0 || input + taken <= output || output + made <= input)
        return true;
    return taken <= made ? input == output + rank * (taken < made ? taken : 0)
                         : output == input + rank * made;
}

/* All operations are pieces of work on a stream; `name` is the function's. */
static int enqueue(const char *name, const struct operation *wanted, struct cuda_stream *stream)
{
    int result = stand_in_fault(name);
    bool good = result == NCCL_OK && is_in_place(wanted);
    struct operation *operation = good ? make_operation(wanted) : NULL;
    if (result == NCCL_OK && (!operation || group.count == GROUP_MAX))
        result = INVALID_ARGUMENT;
    if (result != NCCL_OK) {
        group.failure = result;
        free(operation);
        return result;
    }
    if (!group.open)
        return put_on_stream(operation, stream);
    group.operations[group.count] = operation;
    group.streams[group.count++] = stream;
    return NCCL_OK;
}

/* `input` and `output` are of `count` elements, times what is said in `taken` and `made`. */
static struct operation describe(struct nccl_comm *comm, struct signature signature,
                                 const void *input, void *output, int taken, int made)
{
    size_t nbytes = signature.count * element_size(signature.dtype);
    return (struct operation){ .comm = comm,
                               .input = input,
                               .output = output,
                               .taken = (size_t)taken * nbytes,
                               .made = (size_t)made * nbytes,
                               .signature = signature };
}

int stand_in_nccl_allreduce(const void *input, void *output, size_t count, int dtype, int op,
                            struct nccl_comm *comm, struct cuda_stream *stream)
{
    const struct signature signature = { STAND_IN_NCCL_ALLREDUCE, .dtype = dtype, .op = op,
                                         .count = count };
    const struct operation operation = describe(comm, signature, input, output, 1, 1);
    return dtype == NCCL_UINT8 ? INVALID_ARGUMENT : enqueue("ncclAllReduce", &operation, stream);
}

int stand_in_nccl_broadcast(const void *input, void *output, size_t count, int dtype, int root,
                            struct nccl_comm *comm, struct cuda_stream *stream)
{
    const struct signature signature = { STAND_IN_NCCL_BROADCAST, .dtype = dtype, .root = root,
                                         .count = count };
    const struct operation operation =
        describe(comm, signature, input, output, comm->rank == root, 1);
    bool good = root >= 0 && root < comm->size;
    return good ? enqueue("ncclBroadcast", &operation, stream) : INVALID_ARGUMENT;
}

int stand_in_nccl_allgather(const void *input, void *output, size_t count, int dtype,
                            struct nccl_comm *comm, struct cuda_stream *stream)
{
    const struct signature signature = { STAND_IN_NCCL_ALLGATHER, .dtype = dtype, .count = count };
    const struct operation operation = describe(comm, signature, input, output, 1, comm->size);
    return enqueue("ncclAllGather", &operation, stream);
}

int stand_in_nccl_reduce_scatter(const void *input, void *output, size_t count, int dtype, int op,
                                 struct nccl_comm *comm, struct cuda_stream *stream)
{
    const struct signature signature = { STAND_IN_NCCL_REDUCESCATTER, .dtype = dtype, .op = op,
                                         .count = count };
    const struct operation operation = describe(comm, signature, input, output, comm->size, 1);
    return dtype == NCCL_UINT8 ? INVALID_ARGUMENT
                               : enqueue("ncclReduceScatter", &operation, stream);
}

int stand_in_nccl_reduce(const void *input, void *output, size_t count, int dtype, int op, int root,
                         struct nccl_comm *comm, struct cuda_stream *stream)
{
    const struct signature signature = { STAND_IN_NCCL_REDUCE, .dtype = dtype, .op = op,
                                         .root = root, .count = count };
    const struct operation operation =
        describe(comm, signature, input, output, 1, comm->rank == root);
    bool good = root >= 0 && root < comm->size && dtype != NCCL_UINT8;
    return good ? enqueue("ncclReduce", &operation, stream) : INVALID_ARGUMENT;
}

/* Here only in a group: alone they would wait for each other. */
static int enqueue_message(const char *name, const struct operation *operation,
                           struct cuda_stream *stream)
{
    const struct nccl_comm *comm = operation->comm;
    const struct signature *signature = &operation->signature;
    bool good = group.open && signature->root >= 0 && signature->root < comm->size &&
                signature->count > 0 && operation->taken <= BOX && operation->made <= BOX;
    return good ? enqueue(name, operation, stream) : INVALID_ARGUMENT;
}

int stand_in_nccl_send(const void *input, size_t count, int dtype, int peer, struct nccl_comm *comm,
                       struct cuda_stream *stream)
{
    const struct signature signature = { STAND_IN_NCCL_SEND, .dtype = dtype, .root = peer,
                                         .count = count };
    const struct operation operation = describe(comm, signature, input, NULL, 1, 0);
    return enqueue_message("ncclSend", &operation, stream);
}

int stand_in_nccl_receive(void *output, size_t count, int dtype, int peer, struct nccl_comm *comm,
                          struct cuda_stream *stream)
{
    const struct signature signature = { STAND_IN_NCCL_RECEIVE, .dtype = dtype, .root = peer,
                                         .count = count };
    const struct operation operation = describe(comm, signature, NULL, output, 0, 1);
    return enqueue_message("ncclRecv", &operation, stream);
}
