/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of simulated processes: numbers beyond any real one, each of them an end of a stream,
 * or nothing, as /dev/null. A copy is a descriptor of its own; closing one lets go of its end. A
 * process that dies has let go of all (sim_release_all()). */
#include "tests/simulator/pool.h"
#include "tests/simulator/uv.h"

enum { FD_BASE = 1 << 20 };

static struct descriptor {
    struct sim_process *process;
    struct sim_end *end;
    bool open;
} * descriptors;
static int ndescriptors, room;

void sim_descriptors_reset(void)
{
    ndescriptors = 0;
}

static struct descriptor *descriptor(int fd)
{
    return sim_is_descriptor(fd) ? &descriptors[fd - FD_BASE] : NULL;
}

bool sim_is_descriptor(int fd)
{
    return fd >= FD_BASE && fd < FD_BASE + ndescriptors;
}

int sim_descriptor(struct sim_process *process, struct sim_end *end)
{
    if (ndescriptors == room) {
        room = room ? 2 * room : 64;
        descriptors = sim_grow(descriptors, (size_t)room * sizeof *descriptors);
    }
    if (end)
        sim_hold(process, end);
    descriptors[ndescriptors] = (struct descriptor){ process, end, true };
    return FD_BASE + ndescriptors++;
}

struct sim_end *sim_descriptor_end(int fd)
{
    return sim_is_descriptor(fd) && descriptor(fd)->open ? descriptor(fd)->end : NULL;
}

int sim_descriptor_copy(int fd)
{
    return sim_descriptor(descriptor(fd)->process, descriptor(fd)->end);
}

void sim_descriptor_close(int fd)
{
    struct descriptor *at = descriptor(fd);
    if (at->open && at->end && at->process->alive)
        sim_release(at->process, at->end);
    at->open = false;
}
