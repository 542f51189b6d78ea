/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a worker, as libhvd reads it.
 *
 *   lines NAME=VALUE; of a name that is there twice the first counts
 *
 * Whatever it says: it is read, or refused by one line of printable ASCII that names a variable
 * which is set; whether HVD_TUNING's file can be read is not asked. What is read is within its
 * bounds: ranks below their sizes, ports that are ports, texts that end. */
#include "lib/base/env_names.h"
#include "lib/base/settings.h"
#include "lib/join/environment.h"
#include "lib/link/link_striped.h"
#include "lib/reduce/thread_pool.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { LINES = 64 };

static char *lines[LINES];
static int nlines;

static const char *get(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < nlines; i++)
        if (strncmp(lines[i], name, length) == 0 && lines[i][length] == '=')
            return lines[i] + length + 1;
    return NULL;
}

/* Does the message begin with the name of something that is there? */
static void check_refusal(int rc, const struct err *err)
{
    char name[64] = "";
    size_t length = strcspn(err->text, ": ");
    PROMISE(rc == HVD_ERR_ENVIRONMENT && err->code == rc);
    fuzz_check_line(err->text, "");
    PROMISE(length > 0 && length < sizeof name);
    memcpy(name, err->text, length);
    PROMISE(get(name));
}

static void check_settings(const struct settings *settings)
{
    PROMISE(settings->cycle_time_us <= 60000000);
    PROMISE(settings->cache_capacity >= 0 && settings->cache_capacity <= 1 << 20);
    PROMISE(settings->threads >= 0 && settings->threads <= THREAD_POOL_MAX);
    PROMISE(settings->streams >= 1 && settings->streams <= STREAMS_MAX);
    PROMISE(settings->stall_check_s >= 1);
    PROMISE(!settings->stall_check || settings->stall_shutdown_s == 0 ||
            settings->stall_shutdown_s >= settings->stall_check_s);
    PROMISE(memchr(settings->timeline, '\0', sizeof settings->timeline));
    PROMISE(memchr(settings->tuning, '\0', sizeof settings->tuning));
    PROMISE(memchr(settings->autotune_log, '\0', sizeof settings->autotune_log));
    PROMISE(settings->autotune_noise <= 1000);
    PROMISE(settings->log_level <= LOG_FATAL);
}

static void check_rank_info(const struct rank_info *rank_info, bool given)
{
    PROMISE(rank_info->size >= 1 && rank_info->size <= WORLD_SIZE_MAX);
    PROMISE(rank_info->rank < rank_info->size &&
            (rank_info->rank >= 0 || (!given && rank_info->rank == -1)));
    PROMISE(rank_info->local_rank >= 0 && rank_info->local_rank < rank_info->local_size);
    PROMISE(rank_info->cross_rank >= 0 && rank_info->cross_rank < rank_info->cross_size);
    PROMISE(rank_info->local_size <= rank_info->size && rank_info->cross_size <= rank_info->size);
}

static void check_environment(const struct environment *environment)
{
    check_rank_info(&environment->rank_info, !environment->is_service);
    PROMISE(environment->has_rendezvous || environment->rank_info.size == 1);
    PROMISE(!environment->has_rendezvous || *environment->rendezvous_host);
    PROMISE(!environment->has_rendezvous ||
            (environment->rendezvous_port >= 1 && environment->rendezvous_port <= 65535));
    PROMISE(environment->join_timeout_s >= 1 && environment->join_timeout_s <= JOIN_TIMEOUT_MAX_S);
    PROMISE(memchr(environment->host, '\0', sizeof environment->host) && *environment->host);
    PROMISE(!*environment->job || job_id_valid(environment->job, strlen(environment->job)));
    PROMISE(environment->ports.first <= environment->ports.last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct settings settings;
    static struct environment environment;
    struct fuzz_input input = fuzz_begin(data, size);
    struct err err = { .code = HVD_OK };
    char *text = fuzz_rest_text(&input), *rest = text, *line;
    for (nlines = 0; nlines < LINES && (line = fuzz_line(&rest)); nlines++)
        lines[nlines] = line;
    int rc = settings_read(&settings, get, &err);
    if (rc < 0)
        check_refusal(rc, &err);
    else
        check_settings(&settings);
    err = (struct err){ .code = HVD_OK };
    rc = environment_read(&environment, get, &err);
    if (rc < 0)
        check_refusal(rc, &err);
    else
        check_environment(&environment);
    free(text);
    return 0;
}
