/* SPDX-License-Identifier: Apache-2.0 */
/* The home of a rank; see home_processor.h. A rank whose affinity cannot be read or changed has no
 * home. */
#include "lib/engine/home_processor.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int home_processor_choose(const cpu_set_t *own, const cpu_set_t *all, int processors,
                          int local_rank, int local_size)
{
    if (local_size <= processors || processors < 2 || CPU_COUNT(own) != processors ||
        !CPU_EQUAL(own, all))
        return -1;
    int left = (int)((int64_t)local_rank * processors / local_size);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, own) && left-- == 0)
            return i;
    return -1;
}

bool home_processor_is_one_node(const char *online)
{
    return !strpbrk(online, ",-");
}

static bool home_processor_host_is_one_node(void)
{
    char text[64] = "";
    int fd = open("/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    bool is_read = read(fd, text, sizeof text - 1) >= 0;
    close(fd);
    return is_read && home_processor_is_one_node(text);
}

void home_processor_init(struct home_processor *home, int processors, int local_rank,
                         int local_size)
{
    cpu_set_t all;
    int chosen = -1;
    if (local_size > processors && home_processor_host_is_one_node() &&
        sched_getaffinity(1, sizeof all, &all) == 0 &&
        sched_getaffinity(0, sizeof home->allowed, &home->allowed) == 0)
        chosen = home_processor_choose(&home->allowed, &all, processors, local_rank, local_size);
    atomic_init(&home->processor, chosen);
    atomic_init(&home->looked_ns, 0);
}

/* True for one thread at a time, at most once in HOME_AGAIN_NS. */
static bool home_processor_is_due(struct home_processor *home, uint64_t now_ns)
{
    uint64_t before = atomic_load_explicit(&home->looked_ns, memory_order_relaxed);
    if (before != 0 && (now_ns <= before || now_ns - before < HOME_AGAIN_NS))
        return false;
    return atomic_compare_exchange_strong_explicit(&home->looked_ns, &before, now_ns,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* The system takes from all processors those that the thread's cpuset has. If they are others than
 * before, someone had bound the first process and so this rank. */
static bool home_processor_unbind(const cpu_set_t *allowed)
{
    cpu_set_t all, now;
    memset(&all, 0xff, sizeof all);
    bool is_free =
        sched_setaffinity(0, sizeof all, &all) == 0 || sched_setaffinity(0, sizeof all, &all) == 0;
    if (is_free && sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, allowed))
        return true;
    (void)sched_setaffinity(0, sizeof *allowed, allowed);
    return false;
}

void home_processor_move(struct home_processor *home, uint64_t now_ns)
{
    cpu_set_t now, only;
    int processor = atomic_load_explicit(&home->processor, memory_order_relaxed);
    if (processor < 0 || !home_processor_is_due(home, now_ns) ||
        sched_getaffinity(0, sizeof now, &now) < 0 || !CPU_EQUAL(&now, &home->allowed))
        return;
    CPU_ZERO(&only);
    CPU_SET((size_t)processor, &only);
    if (sched_setaffinity(0, sizeof only, &only) < 0 || !home_processor_unbind(&home->allowed))
        atomic_store_explicit(&home->processor, -1, memory_order_relaxed);
}
