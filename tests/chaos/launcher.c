/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of launchers; see launcher.h. One rank on the first host and on the last, two on
 * those between. */
#include "tests/chaos/launcher.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LOCAL_NP = 3, ELASTIC_NP = 4 };

static char *word(const char *text)
{
    return (char *)(uintptr_t)text; /* as execv() wants it */
}

static void add(char *words[LAUNCHER_WORDS_MAX], const char *const *added)
{
    int count = 0;
    while (words[count])
        count++;
    for (; *added && count < LAUNCHER_WORDS_MAX - 1; added++)
        words[count++] = word(*added);
    words[count] = NULL;
}

#define ADD(words, ...) add(words, (const char *const[]){ __VA_ARGS__, NULL })

static int slots(const struct testbed *testbed, int host)
{
    return host == 0 || host == testbed->nhosts - 1 ? 1 : 2;
}

int launcher_np(const struct testbed *testbed, bool elastic)
{
    int count = 0;
    for (int i = 0; i < testbed->nhosts; i++)
        count += slots(testbed, i);
    return testbed->nhosts ? count : elastic ? ELASTIC_NP : LOCAL_NP;
}

/* "host0:1,host1:2" */
static void list_hosts(struct job_words *job)
{
    size_t used = 0;
    job->hosts[0] = '\0';
    for (int i = 0; i < job->testbed->nhosts && used < sizeof job->hosts; i++)
        used += (size_t)snprintf(job->hosts + used, sizeof job->hosts - used, "%s%s:%d",
                                 i ? "," : "", job->testbed->hosts[i].name, slots(job->testbed, i));
}

static const char *number(int value)
{
    static const char digits[][2] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
    return digits[value % 10];
}

/* A short grace, so that many trials take little. */
static void put_hvdrun(struct job_words *job, char *words[LAUNCHER_WORDS_MAX])
{
    ADD(words, job->program, "--grace", "1", "-np", number(job->np));
    if (job->testbed->nhosts > 0)
        ADD(words, "-H", job->hosts);
    else if (job->elastic)
        ADD(words, "-H", "localhost:2,127.0.0.2:2");
    if (job->elastic)
        ADD(words, "--min-np", "1");
    if (job->comes_back)
        ADD(words, "--blacklist-cooldown-range", "1", "1");
    if (job->testbed->nhosts > 0 && job->remote_shell)
        ADD(words, "--remote-shell", "ssh %h");
}

static void put_mpirun(struct job_words *job, char *words[LAUNCHER_WORDS_MAX])
{
    ADD(words, job->program, "--allow-run-as-root", "--oversubscribe", "-np", number(job->np), "-x",
        job->token);
    if (job->testbed->nhosts > 0)
        ADD(words, "--host", job->hosts, "--mca", "oob_tcp_if_include", "eth0", "--mca",
            "btl_tcp_if_include", "eth0");
}

static void put_hydra(struct job_words *job, char *words[LAUNCHER_WORDS_MAX])
{
    ADD(words, job->program, "-n", number(job->np));
    if (job->testbed->nhosts > 0)
        ADD(words, "-hosts", job->hosts, "-launcher", "ssh", "-iface", "eth0");
}

static const struct launcher launchers[] = {
    { "hvdrun", "hvdrun", "hvdagent", true, put_hvdrun },
    { "mpirun", "mpirun", "orted", false, put_mpirun },
    { "mpiexec.mpich", "mpiexec.mpich", "hydra_pmi_proxy", false, put_hydra },
};

const struct launcher *launcher_find(const char *name)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(launchers[i].name, name) == 0)
            return &launchers[i];
    return NULL;
}

void launcher_words(const struct launcher *launcher, struct job_words *job,
                    char *words[LAUNCHER_WORDS_MAX])
{
    words[0] = NULL;
    list_hosts(job);
    launcher->put(job, words);
    ADD(words, job->worker, job->kind);
    if (job->life)
        ADD(words, job->life);
}
