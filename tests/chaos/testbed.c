/* SPDX-License-Identifier: Apache-2.0 */
/* Entering hosts; see place.h. */
#include "tests/chaos/testbed.h"

#include "tests/chaos/census.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool place_add(struct place *place, const char *text)
{
    char *equals = strdup(text), *end = NULL;
    char *sign = equals ? strchr(equals, '=') : NULL;
    long pid = sign ? strtol(sign + 1, &end, 10) : 0;
    if (!sign || sign == equals || *end != '\0' || pid <= 0 || place->nhosts == PLACE_HOSTS_MAX ||
        census_namespace((pid_t)pid) == 0) {
        free(equals);
        return false;
    }
    *sign = '\0';
    place->hosts[place->nhosts++] =
        (struct place_host){ equals, (pid_t)pid, census_namespace((pid_t)pid) };
    return true;
}

bool place_adopt(struct place *place)
{
    if (place->nhosts == 0)
        return true;
    place->first = (int)syscall(SYS_pidfd_open, place->hosts[0].init, 0);
    return place->first >= 0 && setns(place->first, CLONE_NEWPID) == 0;
}

bool place_enter(const struct place *place)
{
    char folder[4096];
    if (place->nhosts == 0)
        return true;
    return getcwd(folder, sizeof folder) &&
           setns(place->first, CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET) == 0 &&
           chdir(folder) == 0;
}

int place_of(const struct place *place, unsigned long namespace)
{
    for (int i = 0; i < place->nhosts; i++)
        if (place->hosts[i].namespace == namespace)
            return i;
    return -1;
}
