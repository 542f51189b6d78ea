/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that checks the library from inside a real job; the tests of hvdrun start it. Acts in
 * the order of its arguments and ends with status 1, and a line on stderr, at the first thing that
 * is not as it should be:
 *
 *   init              hvd_init(), and compares places with the environment, where it names them
 *   place             prints "rank R of N, local r of n, cross r of n"
 *   alone             hvd_init() without a launcher makes a world of one
 *   collectives       operations x types x counts, in place and not, against a reference
 *   shared            allreduces of 4 MiB from hvd_alloc(), against a reference
 *   full ... room     takes all descriptors that are left, and gives them back
 *   swamp             rank 0 sends rank 1 more than it has memory for: its failure; prints its text
 *   mismatch          each rank reduces another count: an error on every rank, and it goes on
 *   expect S          the next collective fails with the status of that name; prints its text
 *   barriers N        N barriers
 *   allreduces N      N allreduces of 4000 bytes
 *   stream F          large allreduces until the file F exists; prints "streaming" once begun
 *   elastic F         goes on from world to world of an elastic job until the file F exists; prints
 *                     "epoch E: rank R of N" in each, once a collective has gone through, and
 *                     "removed" if it has no place in any more
 *   fork              a child's calls fail with HVD_ERR_FORKED and harm nobody
 *   shutdown          hvd_shutdown()
 *   only R ... all    what stands between is for rank R alone
 *   but R ... all     what stands between is for all ranks except R
 *   print T           prints T
 *   wait F            waits until the file F exists
 *   patient           ignores SIGTERM from now on, so that it sees what others ran into
 *   stay              waits for ever outside the library
 *   threads N         starts N threads that wait for ever
 *   become C          exec of a shell that runs the command C
 *   die N             sends itself signal N
 *   exit N            ends at once with status N, without cleaning up
 *   return N          ends as returning from main does */
#include "lib/hvd.h"

#include "tests/support/reduce_reference.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "world: %s: %s\n", what, hvd_last_error());
    _exit(1);
}

static int from_environment(const char *name)
{
    const char *value = getenv(name);
    return value ? atoi(value) : -1;
}

/* A service gives the places that the environment leaves open. */
static void require_place(int place, const char *name)
{
    require(place >= 0 && (!getenv(name) || place == from_environment(name)), name);
}

static void act_init(const char *argument)
{
    (void)argument;
    require(hvd_init() == HVD_OK, "hvd_init");
    require(hvd_is_initialized() == 1, "hvd_is_initialized");
    require_place(hvd_rank(), "HOROVOD_RANK");
    require_place(hvd_size(), "HOROVOD_SIZE");
    require_place(hvd_local_rank(), "HOROVOD_LOCAL_RANK");
    require_place(hvd_local_size(), "HOROVOD_LOCAL_SIZE");
    require_place(hvd_cross_rank(), "HOROVOD_CROSS_RANK");
    require_place(hvd_cross_size(), "HOROVOD_CROSS_SIZE");
}

static void act_place(const char *argument)
{
    (void)argument;
    printf("rank %d of %d, local %d of %d, cross %d of %d\n", hvd_rank(), hvd_size(),
           hvd_local_rank(), hvd_local_size(), hvd_cross_rank(), hvd_cross_size());
    fflush(stdout);
}

static void act_alone(const char *argument)
{
    (void)argument;
    require(hvd_rank() == HVD_ERR_NOT_INITIALIZED, "hvd_rank before hvd_init");
    require(hvd_init() == HVD_OK, "hvd_init");
    require(hvd_rank() == 0 && hvd_size() == 1 && hvd_is_homogeneous() == 1, "a world of one");
}

/* Small whole numbers that differ between ranks and elements. Sums of 8 ranks are exact in every
 * type, and so are products, which makes results the same to the bit in any order. */
static int sample(int rank, size_t i, enum hvd_dtype dtype, enum hvd_op op)
{
    bool from_0 = dtype == HVD_UINT8 || dtype == HVD_UINT16;
    if (dtype == HVD_BOOL)
        return (i + (size_t)rank) % 5 < 2;
    if (op == HVD_PRODUCT)
        return 1 + (int)((i + (size_t)rank) % 2);
    return (int)((i * 7 + (size_t)rank * 13) % 25) - (from_0 ? 0 : 12);
}

enum { PERIOD = 50 }; /* samples repeat after so many elements */

static void store(void *data, size_t i, enum hvd_dtype dtype, int value)
{
    switch (dtype) {
    case HVD_UINT8:
    case HVD_INT8:
    case HVD_BOOL:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    case HVD_UINT16:
    case HVD_INT16:
        ((int16_t *)data)[i] = (int16_t)value;
        break;
    case HVD_INT32:
        ((int32_t *)data)[i] = value;
        break;
    case HVD_INT64:
        ((int64_t *)data)[i] = value;
        break;
    case HVD_FLOAT16:
        ((uint16_t *)data)[i] = reference_narrow(&reference_float16, (float)value);
        break;
    case HVD_BFLOAT16:
        ((uint16_t *)data)[i] = reference_narrow(&reference_bfloat16, (float)value);
        break;
    case HVD_FLOAT32:
        ((float *)data)[i] = (float)value;
        break;
    case HVD_FLOAT64:
        ((double *)data)[i] = (double)value;
        break;
    }
}

/* `data` is `pattern` over and over. */
static bool repeats(const char *data, size_t count, size_t element, const char *pattern)
{
    size_t period = PERIOD * element, nbytes = count * element;
    for (size_t at = 0; at < nbytes; at += period)
        if (memcmp(data + at, pattern, nbytes - at < period ? nbytes - at : period) != 0)
            return false;
    return true;
}

static void fill(char *data, size_t count, enum hvd_dtype dtype, enum hvd_op op, int rank)
{
    size_t period = PERIOD * hvd_dtype_size(dtype), nbytes = count * hvd_dtype_size(dtype);
    for (size_t i = 0; i < count && i < PERIOD; i++)
        store(data, i, dtype, sample(rank, i, dtype, op));
    for (size_t at = period; at < nbytes; at += period)
        memcpy(data + at, data, nbytes - at < period ? nbytes - at : period);
}

static _Alignas(8) char pattern[PERIOD * 8], other[PERIOD * 8];

/* The result that an allreduce must have, in `pattern`. */
static void expect_reduced(enum hvd_dtype dtype, enum hvd_op op, int size)
{
    fill(pattern, PERIOD, dtype, op, 0);
    for (int rank = 1; rank < size; rank++) {
        enum hvd_op step = op == HVD_AVERAGE && rank < size - 1 ? HVD_SUM : op;
        fill(other, PERIOD, dtype, op, rank);
        reference_reduce(dtype, step, size, pattern, pattern, other, PERIOD);
    }
}

static void check_allreduce(size_t count, enum hvd_dtype dtype, enum hvd_op op, bool in_place)
{
    size_t element = hvd_dtype_size(dtype), nbytes = (count + 1) * element;
    char *input = malloc(nbytes), *separate = malloc(nbytes), *output = in_place ? input : separate;
    fill(input, count, dtype, op, hvd_rank());
    require(hvd_allreduce("grad", input, output, count, dtype, op) == HVD_OK, "hvd_allreduce");
    expect_reduced(dtype, op, hvd_size());
    require(repeats(output, count, element, pattern), "the result of hvd_allreduce");
    free(input);
    free(separate);
}

static void check_broadcast(size_t count, enum hvd_dtype dtype, int root)
{
    size_t element = hvd_dtype_size(dtype);
    char *data = malloc((count + 1) * element);
    fill(data, count, dtype, HVD_SUM, hvd_rank());
    require(hvd_broadcast("weights", data, count, dtype, root) == HVD_OK, "hvd_broadcast");
    fill(pattern, PERIOD, dtype, HVD_SUM, root);
    require(repeats(data, count, element, pattern), "what was broadcast");
    free(data);
}

static void check_allgather(size_t count, enum hvd_dtype dtype, bool in_place)
{
    size_t element = hvd_dtype_size(dtype), part = count * element;
    char *all = malloc(part * (size_t)hvd_size() + 1), *separate = malloc(part + 1);
    char *own = in_place ? all + part * (size_t)hvd_rank() : separate;
    fill(own, count, dtype, HVD_SUM, hvd_rank());
    require(hvd_allgather("parts", own, all, count, dtype) == HVD_OK, "hvd_allgather");
    for (int rank = 0; rank < hvd_size(); rank++) {
        fill(pattern, PERIOD, dtype, HVD_SUM, rank);
        require(repeats(all + part * (size_t)rank, count, element, pattern), "what was gathered");
    }
    free(all);
    free(separate);
}

static void check_type(size_t count, enum hvd_dtype dtype)
{
    for (int o = 0; o < REFERENCE_OPS; o++) {
        if (dtype == HVD_BOOL && reference_ops[o] == HVD_AVERAGE)
            continue;
        check_allreduce(count, dtype, reference_ops[o], true);
        check_allreduce(count, dtype, reference_ops[o], false);
    }
    for (int root = 0; root < hvd_size(); root++)
        check_broadcast(count, dtype, root);
    check_allgather(count, dtype, true);
    check_allgather(count, dtype, false);
}

static void act_collectives(const char *argument)
{
    static const size_t counts[] = { 0, 1, 2, 3, 17, 289, 100003 };
    (void)argument;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int d = 0; d < REFERENCE_DTYPES; d++)
            check_type(counts[c], reference_dtypes[d]);
    check_allreduce(1000003, HVD_FLOAT32, HVD_SUM, true);
    require(hvd_allreduce("any", pattern, pattern, 1, HVD_BOOL, HVD_AVERAGE) == HVD_ERR_INVALID,
            "the average of bool");
    require(hvd_barrier() == HVD_OK, "hvd_barrier");
}

/* Of the sum of two ranks it depends on the distance of their processors whether the memory is
 * shared; what is copied only is always read where it lies. */
static void act_shared(const char *argument)
{
    enum { COUNT = 1 << 20, TIMES = 4 };
    size_t element = hvd_dtype_size(HVD_FLOAT32);
    char *data = hvd_alloc(COUNT * element);
    (void)argument;
    require(data != NULL, "hvd_alloc");
    for (int i = 0; i < TIMES; i++) {
        fill(data, COUNT, HVD_FLOAT32, HVD_SUM, hvd_rank());
        require(hvd_allreduce("shared", data, data, COUNT, HVD_FLOAT32, HVD_SUM) == HVD_OK,
                "hvd_allreduce of memory that can be shared");
        expect_reduced(HVD_FLOAT32, HVD_SUM, hvd_size());
        require(repeats(data, COUNT, element, pattern), "its result");
    }
    require(hvd_broadcast("shared, copied", data, COUNT, HVD_FLOAT32, 0) == HVD_OK,
            "hvd_broadcast of memory that can be shared");
    require(repeats(data, COUNT, element, pattern), "its result");
    hvd_free(data);
}

/* The descriptors that act_full() has opened. */
static int taken[1024], ntaken;

static void act_full(const char *argument)
{
    (void)argument;
    int fd;
    while (ntaken < (int)(sizeof taken / sizeof *taken) &&
           (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        taken[ntaken++] = fd;
    errno = 0;
    require(open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 && errno == EMFILE, "too many descriptors");
}

static void act_room(const char *argument)
{
    (void)argument;
    while (ntaken > 0)
        close(taken[--ntaken]);
}

static void act_mismatch(const char *argument)
{
    float data[64] = { 0 };
    size_t count = 10 + (size_t)hvd_rank();
    (void)argument;
    int status = hvd_allreduce("grad", data, data, count, HVD_FLOAT32, HVD_SUM);
    require(status == HVD_ERR_MISMATCH, "a mismatch");
    printf("%s\n", hvd_last_error());
    require(hvd_barrier() == HVD_OK, "after a mismatch");
}

/* What there is and 64 MiB. */
static void limit_memory(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    require(file && fscanf(file, "%ld", &pages) == 1, "/proc/self/statm");
    fclose(file);
    rlim_t most = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (64 << 20);
    require(setrlimit(RLIMIT_AS, &(struct rlimit){ most, RLIM_INFINITY }) == 0, "setrlimit");
}

static void act_swamp(const char *argument)
{
    int64_t much = 256 << 20, splits[2] = { 0, hvd_rank() == 0 ? much : 0 };
    char *rows = hvd_rank() == 0 ? calloc(1, (size_t)much) : NULL;
    struct hvd_result result = { 0 };
    struct hvd_tensor tensor = {
        .name = "swamp", .input = rows, .dtype = HVD_UINT8, .ndims = 1, .dims = &splits[1]
    };
    (void)argument;
    require(hvd_size() == 2 && (rows || hvd_rank() == 1), "two ranks, and memory for the first");
    if (hvd_rank() == 1)
        limit_memory();
    require(hvd_alltoall(&tensor, splits, 2, NULL, &result) == HVD_ERR_NOMEM, "no memory");
    printf("%s\n", hvd_last_error());
    fflush(stdout);
    free(rows);
}

static void act_allreduces(const char *argument)
{
    float data[1000] = { 0 };
    for (int i = atoi(argument); i > 0; i--)
        require(hvd_allreduce("reduced", data, data, 1000, HVD_FLOAT32, HVD_SUM) == HVD_OK,
                "an allreduce");
}

static void act_expect(const char *argument)
{
    static const struct {
        const char *name;
        int status;
    } statuses[] = {
        { "PEER_LOST", HVD_ERR_PEER_LOST }, { "PEER_LEFT", HVD_ERR_PEER_LEFT },
        { "SHUT_DOWN", HVD_ERR_SHUT_DOWN }, { "INVALID", HVD_ERR_INVALID },
        { "SYSTEM", HVD_ERR_SYSTEM },
    };
    static float data[1 << 20];
    int expected = 1;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(argument, statuses[i].name) == 0)
            expected = statuses[i].status;
    int status = hvd_allreduce("next", data, data, 1 << 20, HVD_FLOAT32, HVD_SUM);
    printf("%s\n", hvd_last_error());
    fflush(stdout);
    require(status == expected, "what was expected");
    require(hvd_barrier() == expected, "the same once more");
}

static void act_barriers(const char *argument)
{
    for (int n = atoi(argument); n > 0; n--)
        require(hvd_barrier() == HVD_OK, "hvd_barrier");
}

static void act_print(const char *argument)
{
    printf("%s\n", argument);
    fflush(stdout);
}

/* The ranks stop after the same allreduce: a sum tells whether anybody has seen the file. */
static void act_stream(const char *argument)
{
    enum { COUNT = 1 << 22 };
    static float data[COUNT];
    for (int n = 0; data[0] == 0; n++) {
        data[0] = access(argument, F_OK) == 0;
        require(hvd_allreduce("stream", data, data, COUNT, HVD_FLOAT32, HVD_SUM) == HVD_OK,
                "hvd_allreduce");
        if (n == 2)
            act_print("streaming");
    }
}

/* The ranks agree on what some of them see. */
static int elastic_step(const char *file, bool *over)
{
    int32_t word[2] = { access(file, F_OK) == 0, hvd_hosts_updated() != 0 };
    int rc = hvd_allreduce("word", word, word, 2, HVD_INT32, HVD_MAX);
    *over = rc == HVD_OK && word[0];
    return rc == HVD_OK && word[1] && !word[0] ? HVD_HOSTS_UPDATED : rc;
}

static int elastic_world(const char *file, bool *over)
{
    int rc = hvd_barrier();
    if (rc == HVD_OK)
        printf("epoch %d: rank %d of %d\n", hvd_epoch(), hvd_rank(), hvd_size());
    fflush(stdout);
    while (rc == HVD_OK && !*over)
        rc = elastic_step(file, over);
    return rc;
}

static void act_elastic(const char *argument)
{
    for (bool over = false; !over;) {
        int rc = hvd_init();
        if (rc == HVD_OK)
            rc = elastic_world(argument, &over);
        if (rc == HVD_ERR_REMOVED) {
            act_print("removed");
            return;
        }
        require(over || rc == HVD_HOSTS_UPDATED || rc == HVD_ERR_PEER_LOST ||
                    rc == HVD_ERR_PEER_LEFT,
                "an elastic world");
        require(hvd_shutdown() == HVD_OK, "hvd_shutdown");
    }
}

static void act_fork(const char *argument)
{
    (void)argument;
    pid_t pid = fork();
    if (pid == 0)
        exit(hvd_barrier() == HVD_ERR_FORKED && hvd_rank() == HVD_ERR_FORKED ? 0 : 1);
    int status = 1;
    waitpid(pid, &status, 0);
    require(status == 0, "a forked child");
}

static void act_shutdown(const char *argument)
{
    (void)argument;
    require(hvd_shutdown() == HVD_OK && hvd_shutdown() == HVD_OK, "hvd_shutdown");
    require(hvd_is_initialized() == 0, "hvd_is_initialized");
}

static void act_wait(const char *argument)
{
    while (access(argument, F_OK) < 0)
        usleep(1000);
}

static void act_patient(const char *argument)
{
    (void)argument;
    signal(SIGTERM, SIG_IGN);
}

static void *wait_for_ever(void *nothing)
{
    while (pause() < 0)
        continue;
    return nothing;
}

static void act_threads(const char *argument)
{
    pthread_t thread;
    for (int i = atoi(argument); i > 0; i--)
        require(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0, "pthread_create");
}

static void act_stay(const char *argument)
{
    (void)argument;
    for (;;)
        pause();
}

static void act_become(const char *argument)
{
    execl("/bin/sh", "sh", "-c", argument, (char *)NULL);
}

static void act_die(const char *argument)
{
    raise(atoi(argument));
}

static void act_exit(const char *argument)
{
    fflush(stdout);
    _exit(atoi(argument));
}

static void act_return(const char *argument)
{
    exit(atoi(argument));
}

static const struct {
    const char *name;
    void (*act)(const char *argument);
    bool takes_argument;
} acts[] = {
    { "init", act_init, false },         { "place", act_place, false },
    { "alone", act_alone, false },       { "collectives", act_collectives, false },
    { "shared", act_shared, false },     { "full", act_full, false },
    { "room", act_room, false },         { "swamp", act_swamp, false },
    { "mismatch", act_mismatch, false }, { "allreduces", act_allreduces, true },
    { "expect", act_expect, true },      { "barriers", act_barriers, true },
    { "stream", act_stream, true },      { "elastic", act_elastic, true },
    { "fork", act_fork, false },         { "shutdown", act_shutdown, false },
    { "print", act_print, true },        { "wait", act_wait, true },
    { "patient", act_patient, false },   { "stay", act_stay, false },
    { "become", act_become, true },      { "die", act_die, true },
    { "exit", act_exit, true },          { "return", act_return, true },
    { "threads", act_threads, true },
};

/* Performs, or only counts, the act that argument[0] names; returns how many arguments it took. */
static int perform(char **argument, bool skip)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(argument[0], acts[i].name) != 0)
            continue;
        if (!skip)
            acts[i].act(acts[i].takes_argument ? argument[1] : NULL);
        return acts[i].takes_argument ? 2 : 1;
    }
    fprintf(stderr, "world: what is '%s'?\n", argument[0]);
    exit(2);
}

/* As the environment has it, or the service. */
static int own_rank(void)
{
    return getenv("HOROVOD_RANK") ? from_environment("HOROVOD_RANK") : hvd_rank();
}

int main(int argc, char **argv)
{
    bool skip = false;
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "all") == 0) {
            skip = false;
            i++;
        } else if (strcmp(argv[i], "only") == 0 || strcmp(argv[i], "but") == 0) {
            skip = (own_rank() == atoi(argv[i + 1])) == (argv[i][0] == 'b');
            i += 2;
        } else {
            i += perform(argv + i, skip);
        }
    }
    return 0;
}
