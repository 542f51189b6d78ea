/* SPDX-License-Identifier: Apache-2.0 */
/* Entering hosts; see testbed.h. */
#include "tests/chaos/testbed.h"

#include "tests/chaos/census.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool testbed_add(struct testbed *testbed, const char *text)
{
    char *equals = strdup(text), *end = NULL;
    char *sign = equals ? strchr(equals, '=') : NULL;
    long pid = sign ? strtol(sign + 1, &end, 10) : 0;
    if (!sign || sign == equals || *end != '\0' || pid <= 0 ||
        testbed->nhosts == TESTBED_HOSTS_MAX || census_namespace((pid_t)pid) == 0) {
        free(equals);
        return false;
    }
    *sign = '\0';
    testbed->hosts[testbed->nhosts++] =
        (struct testbed_host){ equals, (pid_t)pid, census_namespace((pid_t)pid) };
    return true;
}

bool testbed_adopt(struct testbed *testbed)
{
    if (testbed->nhosts == 0)
        return true;
    testbed->first = (int)syscall(SYS_pidfd_open, testbed->hosts[0].init, 0);
    return testbed->first >= 0 && setns(testbed->first, CLONE_NEWPID) == 0;
}

bool testbed_enter(const struct testbed *testbed)
{
    char folder[4096];
    if (testbed->nhosts == 0)
        return true;
    return getcwd(folder, sizeof folder) &&
           setns(testbed->first, CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET) == 0 &&
           chdir(folder) == 0;
}

int testbed_find_host(const struct testbed *testbed, unsigned long namespace)
{
    for (int i = 0; i < testbed->nhosts; i++)
        if (testbed->hosts[i].namespace == namespace)
            return i;
    return -1;
}
