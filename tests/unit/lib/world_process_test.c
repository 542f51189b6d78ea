/* SPDX-License-Identifier: Apache-2.0 */
/* The library in a process that is not its own: forks, descriptors, threads, signals, the ends of
 * processes, and their secrets. */
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD_PROBES = 64 };

static int count_fds(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* --- forks --- */

static int in_the_child(int fds_before)
{
    int32_t sum = 0;
    int64_t handle;
    REQUIRE_STATUS(hvd_rank(), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_barrier(), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_allreduce("a", &sum, &sum, 1, HVD_INT32, HVD_SUM), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_barrier_async(NULL, &handle), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_add_process_set(&(int){ 0 }, 1), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_init(), HVD_ERR_FORKED);
    REQUIRE_STATUS(hvd_shutdown(), HVD_ERR_FORKED);
    REQUIRE(hvd_is_initialized() == 0);
    require_text("forked");
    REQUIRE(count_fds() == fds_before); /* none of the world's are left */
    return 0;
}

static int fork_in_the_middle(int rank)
{
    (void)rank;
    int fds = count_fds(), status;
    int32_t sum;
    init_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    pid_t pid = fork();
    if (pid == 0)
        exit(in_the_child(fds));
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    REQUIRE_STATUS(sum_of_ranks("b", &sum), HVD_OK);
    leave_world();
    REQUIRE(count_fds() == fds);
    return 0;
}

/* The allocators of GCC's sanitizers do not guard their locks against fork(): a child whose parent
 * had another thread inside one hangs at its first malloc(). */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { FORK_WITH_THREADS = 0 };
#else
enum { FORK_WITH_THREADS = 1 };
#endif

START_TEST(a_forked_child_holds_no_world_and_does_no_harm)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fork_in_the_middle);
}
END_TEST

static void *join_world(void *unused)
{
    (void)unused;
    init_world();
    return NULL;
}

/* Rank 0 forks while another thread of it waits in hvd_init() for rank 1. */
static int fork_while_joining(int rank)
{
    int fds = count_fds(), status;
    pthread_t thread;
    if (rank == 1) {
        wait_for(0, 1);
        init_world();
        REQUIRE_STATUS(hvd_barrier(), HVD_OK);
        return leave_world();
    }
    REQUIRE(pthread_create(&thread, NULL, join_world, NULL) == 0);
    while (count_fds() == fds)
        sched_yield();
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_the_child(fds)); /* its copy of a half-joined world is nobody's */
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    atomic_fetch_add(&shared->counters[0], 1);
    pthread_join(thread, NULL);
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return leave_world();
}

START_TEST(a_child_forked_while_the_world_is_joined_holds_none_either)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fork_while_joining);
}
END_TEST

static void *sum_until_stopped(void *stop)
{
    int32_t sum;
    while (!atomic_load((atomic_int *)stop))
        if (sum_of_ranks("s", &sum) != HVD_OK)
            break;
    return NULL;
}

/* Forks hit the engine in the middle of its work, with its locks held. */
static int fork_while_summing(int rank)
{
    int fds = count_fds(), status;
    atomic_int stop = 0;
    pthread_t thread;
    init_world();
    REQUIRE(pthread_create(&thread, NULL, sum_until_stopped, &stop) == 0);
    for (int i = 0; i < 20 && rank == 0; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(in_the_child(fds));
        REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    }
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    atomic_store(&stop, 1);
    leave_world(); /* wakes the thread if the other rank has stopped first */
    pthread_join(thread, NULL);
    return 0;
}

START_TEST(forks_in_the_middle_of_a_collective_do_no_harm)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fork_while_summing);
}
END_TEST

/* --- descriptors --- */

static void *write_to_standard_streams(void *stop)
{
    while (!atomic_load((atomic_int *)stop))
        for (int fd = 0; fd < 3; fd++)
            (void)!write(fd, "a word that nobody reads", 24);
    return NULL;
}

static int without_standard_streams(int rank)
{
    (void)rank;
    atomic_int stop = 0;
    pthread_t thread;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    init_world();
    for (int fd = 0; fd < 3; fd++)
        REQUIRE(fcntl(fd, F_GETFD) < 0);
    REQUIRE(pthread_create(&thread, NULL, write_to_standard_streams, &stop) == 0);
    for (int i = 0; i < 20; i++)
        check_collectives(1000);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    return leave_world();
}

START_TEST(what_a_program_writes_to_closed_standard_streams_reaches_no_link)
{
    ranks_run(&(struct mini_options){ .size = _i }, without_standard_streams);
}
END_TEST

/* Whatever is open and was not before. */
static int check_what_is_opened(int rank)
{
    (void)rank;
    bool before[FD_PROBES];
    int found = 0;
    for (int fd = 0; fd < FD_PROBES; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    init_world();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    for (int fd = 0; fd < FD_PROBES; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (before[fd] || flags < 0)
            continue;
        REQUIRE(flags == FD_CLOEXEC);
        REQUIRE(fcntl(fd, F_GETFL) & O_NONBLOCK);
        found++;
    }
    REQUIRE(found >= 5);
    return leave_world();
}

START_TEST(an_exec_of_the_program_inherits_nothing_from_us)
{
    ranks_run(&(struct mini_options){ .size = 2 }, check_what_is_opened);
}
END_TEST

enum { FDS_CLOSED = 1024 };

/* What was not open `before`, as closefrom() does it. By the bare call: a thread sanitizer would
 * say that this is a race with who uses them, and be right. */
static void close_new(const bool before[FDS_CLOSED])
{
    for (int fd = 3; fd < FDS_CLOSED; fd++)
        if (!before[fd])
            syscall(SYS_close, fd);
}

/* Rank 1 hears of it when the process ends. */
static int leave_without_descriptors(int rank)
{
    bool before[FDS_CLOSED];
    int32_t sum;
    for (int fd = 0; fd < FDS_CLOSED; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    init_world();
    REQUIRE_STATUS(sum_of_ranks("a", &sum), HVD_OK);
    if (rank == 1) {
        REQUIRE(sum_of_ranks("b", &sum) != HVD_OK);
        require_text("rank 0");
        return leave_world();
    }
    close_new(before);
    REQUIRE_STATUS(hvd_shutdown(), HVD_OK);
    REQUIRE(hvd_is_initialized() == 0);
    return 0;
}

START_TEST(who_has_closed_all_descriptors_can_leave)
{
    ranks_run(&(struct mini_options){ .size = 2 }, leave_without_descriptors);
}
END_TEST

/* The first that has been opened is the one that wakes whoever waits. */
static void close_first_event(void)
{
    for (int fd = 3; fd < FD_PROBES; fd++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "[eventfd]")) {
            close(fd);
            return;
        }
    }
    REQUIRE(!"an eventfd");
}

static int without_the_event(int rank)
{
    init_world();
    if (rank == 0) {
        close_first_event();
        atomic_store(&shared->counters[0], getpid());
    } else {
        wait_for(0, 1);
        wait_until_asleep(atomic_load(&shared->counters[0]));
    }
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    return leave_world();
}

START_TEST(who_waits_sleeps_even_when_its_event_was_closed)
{
    ranks_run(&(struct mini_options){ .size = 2 }, without_the_event);
}
END_TEST

/* --- threads --- */

/* Is a thread of this process one of the library's? Then `*blocked` is a mask of 64 bits of the
 * signals that it blocks. */
static bool is_ours(const char *thread, unsigned long long *blocked)
{
    char path[300], line[128];
    bool ours = false;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        ours |= strncmp(line, "Name:\thvd-", 10) == 0;
        sscanf(line, "SigBlk: %llx", blocked);
    }
    if (file)
        fclose(file);
    return ours;
}

/* How many threads of the library there are; `*blocked`: what all of them block. */
static int count_threads(unsigned long long *blocked)
{
    int count = 0;
    DIR *threads = opendir("/proc/self/task");
    *blocked = ~0ull;
    for (const struct dirent *thread; (thread = readdir(threads));) {
        unsigned long long of_one = 0;
        if (!is_ours(thread->d_name, &of_one))
            continue;
        *blocked &= of_one;
        count++;
    }
    closedir(threads);
    return count;
}

static int with_signals(int rank)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF };
    (void)rank;
    sigset_t mine;
    unsigned long long blocked;
    init_world();
    REQUIRE(count_threads(&blocked) == 2); /* the engine's, and the one that listens for news */
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        REQUIRE(blocked >> (signals[i] - 1) & 1);
        REQUIRE(!sigismember(&mine, signals[i]));
    }
    return leave_world();
}

START_TEST(no_thread_of_ours_takes_the_signals_of_the_program)
{
    ranks_run(&(struct mini_options){ .size = 2 }, with_signals);
}
END_TEST

/* Links to everybody, of two process sets and an alltoall, are closed with the others. */
static int use_and_leave(int rank)
{
    static const int sets[][2] = { { 0, 2 }, { 1, 2 } };
    unsigned long long unused;
    int fds = count_fds();
    int32_t rows[3] = { rank, rank, rank }, received[3];
    struct hvd_tensor tensor = { .name = "a",
                                 .input = rows,
                                 .output = received,
                                 .output_size = sizeof received,
                                 .dtype = HVD_INT32,
                                 .ndims = 1,
                                 .dims = &(int64_t){ 3 } };
    int64_t handle;
    init_world();
    for (int i = 0; i < 2; i++)
        REQUIRE(hvd_add_process_set(sets[i], 2) == i + 1);
    REQUIRE_STATUS(hvd_alltoall_async(&tensor, NULL, 0, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    for (int i = 0; i < 3; i++)
        REQUIRE(received[i] == i);
    leave_world();
    REQUIRE(count_fds() == fds);
    while (count_threads(&unused) > 0)
        sched_yield(); /* the kernel takes a moment to bury a thread that was joined */
    return 0;
}

START_TEST(nothing_is_left_open_or_running_after_shutdown)
{
    ranks_run(&(struct mini_options){ .size = 3 }, use_and_leave);
}
END_TEST

/* --- memory that no other process may read --- */

/* Other memory where the kernel has none of that kind. */
static float *get_secret(size_t nbytes)
{
    void *memory = MAP_FAILED;
#ifdef SYS_memfd_secret
    int fd = (int)syscall(SYS_memfd_secret, 0);
    if (fd >= 0 && ftruncate(fd, (off_t)nbytes) == 0)
        memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
#endif
    if (memory == MAP_FAILED)
        memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
}

/* Large enough to be read at its address, if it could be. */
static int sum_secrets(int rank)
{
    enum { COUNT = 4 << 20 };
    float *secret = get_secret(COUNT * sizeof *secret);
    init_world();
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < COUNT; i++)
            secret[i] = (float)((rank + 1) * round + i % 100);
        REQUIRE_STATUS(hvd_allreduce("secret", secret, secret, COUNT, HVD_FLOAT32, HVD_SUM),
                       HVD_OK);
        for (int i = 0; i < COUNT; i++)
            if (secret[i] != (float)(3 * round + i % 100 * 2))
                REQUIRE(!"the sum");
    }
    munmap(secret, COUNT * sizeof *secret);
    return leave_world();
}

START_TEST(tensors_may_lie_in_memory_that_no_other_process_can_read)
{
    ranks_run(&(struct mini_options){ .size = 2 }, sum_secrets);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_process");
    TCase *tcase = tcase_create("world_process");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    if (FORK_WITH_THREADS) {
        tcase_add_test(tcase, a_forked_child_holds_no_world_and_does_no_harm);
        tcase_add_test(tcase, a_child_forked_while_the_world_is_joined_holds_none_either);
        tcase_add_test(tcase, forks_in_the_middle_of_a_collective_do_no_harm);
    }
    tcase_add_loop_test(tcase, what_a_program_writes_to_closed_standard_streams_reaches_no_link, 2,
                        5);
    tcase_add_test(tcase, an_exec_of_the_program_inherits_nothing_from_us);
    tcase_add_test(tcase, who_has_closed_all_descriptors_can_leave);
    tcase_add_test(tcase, who_waits_sleeps_even_when_its_event_was_closed);
    tcase_add_test(tcase, nothing_is_left_open_or_running_after_shutdown);
    tcase_add_test(tcase, no_thread_of_ours_takes_the_signals_of_the_program);
    tcase_add_test(tcase, tensors_may_lie_in_memory_that_no_other_process_can_read);
    return unit_run(suite);
}
