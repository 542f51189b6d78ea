/* SPDX-License-Identifier: Apache-2.0 */
/* The home of a rank; see home_processor.h. A rank whose affinity cannot be read or changed has no
 * home. */
#include "lib/engine/home_processor.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int home_processor_choose(const cpu_set_t *allowed, int processors, int local_rank, int local_size)
{
    if (local_size <= processors || CPU_COUNT(allowed) != processors || processors < 2)
        return -1;
    int left = (int)((int64_t)local_rank * processors / local_size);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, allowed) && left-- == 0)
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
    cpu_set_t allowed;
    *home = (struct home_processor){ .processor = -1 };
    if (local_size <= processors || sched_getaffinity(0, sizeof allowed, &allowed) < 0 ||
        !home_processor_host_is_one_node())
        return;
    home->processor = home_processor_choose(&allowed, processors, local_rank, local_size);
    home->allowed = CPU_COUNT(&allowed);
}

void home_processor_move(struct home_processor *home, uint64_t now_ns)
{
    cpu_set_t allowed, only;
    if (home->moved_ns != 0 && now_ns - home->moved_ns < HOME_AGAIN_NS)
        return;
    home->moved_ns = now_ns;
    CPU_ZERO(&only);
    CPU_SET((size_t)home->processor, &only);
    bool is_free = sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
                   CPU_ISSET((size_t)home->processor, &allowed) &&
                   CPU_COUNT(&allowed) == home->allowed;
    if (!is_free || sched_setaffinity(0, sizeof only, &only) < 0 ||
        sched_setaffinity(0, sizeof allowed, &allowed) < 0)
        home->processor = -1;
}
