/* SPDX-License-Identifier: Apache-2.0 */
/* Forked ranks; see world.h. */
#include "bench/support/world.h"

#include "bench/support/sample.h"

#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MAX = 1024 };

struct common {
    atomic_int arrived, turn; /* of the barrier */
    double times[RANKS_MAX];
};

static struct common *common;
static struct world self;

void *world_memory(size_t nbytes)
{
    void *memory =
        mmap(NULL, nbytes ? nbytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        err(1, "%zu bytes of shared memory", nbytes);
    return memory;
}

/* As a launcher binds: a core for each rank, if there are enough. */
static void pin(int rank, int size)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < size)
        return;
    size_t core = 0;
    for (int left = rank; !CPU_ISSET(core, &all) || left-- > 0;)
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static int cores(void)
{
    cpu_set_t all;
    return sched_getaffinity(0, sizeof all, &all) == 0 ? CPU_COUNT(&all) : 1;
}

/* Waits for all ranks; the first that fails takes the others along. */
static void watch(pid_t *ranks, int size)
{
    int status, failed = 0;
    for (pid_t ended; (ended = wait(&status)) > 0;) {
        bool first = status != 0 && !failed++;
        for (int i = 0; i < size; i++) {
            if (ranks[i] == ended)
                ranks[i] = 0;
            else if (first && ranks[i] > 0)
                kill(ranks[i], SIGTERM);
        }
    }
    exit(failed > 0);
}

int world_ranks(int *argc, char ***argv)
{
    if (*argc < 2)
        errx(2, "expected the number of ranks");
    int ranks = (int)number_argument("RANKS", (*argv)[1], 1, RANKS_MAX);
    (*argv)[1] = (*argv)[0];
    ++*argv;
    --*argc;
    return ranks;
}

void world_fork(struct world *world, int size)
{
    static pid_t ranks[RANKS_MAX];
    common = world_memory(sizeof *common);
    self = (struct world){ .size = size, .crowded = size > cores() };
    pid_t parent = getpid();
    for (int rank = 0; rank < size; rank++) {
        ranks[rank] = fork();
        if (ranks[rank] < 0)
            err(1, "fork");
        if (ranks[rank] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        self.rank = rank;
        pin(rank, size);
        *world = self;
        return;
    }
    watch(ranks, size);
}

void world_relax(const struct world *world)
{
    if (world->crowded)
        sched_yield();
#if defined __x86_64__
    else
        __builtin_ia32_pause();
#endif
}

void world_barrier(void)
{
    int turn = atomic_load(&common->turn);
    if (atomic_fetch_add(&common->arrived, 1) + 1 == self.size) {
        atomic_store(&common->arrived, 0);
        atomic_store(&common->turn, turn + 1);
        return;
    }
    while (atomic_load(&common->turn) == turn)
        world_relax(&self);
}

double world_slowest(double mine)
{
    double slowest = mine;
    common->times[self.rank] = mine;
    world_barrier();
    for (int i = 0; i < self.size; i++)
        if (common->times[i] > slowest)
            slowest = common->times[i];
    world_barrier();
    return slowest;
}
