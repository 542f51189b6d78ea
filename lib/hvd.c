/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd.h, except collectives and process sets: joining and leaving the world,
 * the rank info of this process, and errors. */
#include "lib/hvd.h"

#include "lib/base/status.h"
#include "lib/process.h"
#include "lib/reduce/reduce.h"

#include <stddef.h>

int hvd_init(void)
{
    struct err err;
    return process_answer(process_join(&err), &err);
}

int hvd_shutdown(void)
{
    struct err err;
    int rc = process_check_caller(&err);
    if (rc == HVD_OK)
        process_part(false);
    return process_answer(rc, &err);
}

int hvd_is_initialized(void)
{
    struct world *world = process_enter(NULL);
    if (world)
        process_exit();
    return world != NULL;
}

/* Returns a number of the rank info, by its offset. */
static int fact(size_t offset)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int value = *(const int *)((const char *)world_rank_info(world) + offset);
    process_exit();
    return value;
}

int hvd_rank(void)
{
    return fact(offsetof(struct rank_info, rank));
}

int hvd_size(void)
{
    return fact(offsetof(struct rank_info, size));
}

int hvd_local_rank(void)
{
    return fact(offsetof(struct rank_info, local_rank));
}

int hvd_local_size(void)
{
    return fact(offsetof(struct rank_info, local_size));
}

int hvd_cross_rank(void)
{
    return fact(offsetof(struct rank_info, cross_rank));
}

int hvd_cross_size(void)
{
    return fact(offsetof(struct rank_info, cross_size));
}

int hvd_is_homogeneous(void)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int homogeneous = world_is_homogeneous(world);
    process_exit();
    return homogeneous;
}

int hvd_epoch(void)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int epoch = world_epoch(world);
    process_exit();
    return epoch;
}

int hvd_hosts_updated(void)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int updated = world_hosts_updated(world);
    process_exit();
    return updated;
}

int hvd_start_timeline(const char *file, int mark_cycles)
{
    struct err err;
    if (!file || *file == '\0')
        return process_answer(fail(&err, HVD_ERR_INVALID, "start timeline: no file is named"),
                              &err);
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int rc = engine_start_timeline(world_engine(world), file, mark_cycles != 0, &err);
    process_exit();
    return process_answer(rc, &err);
}

int hvd_stop_timeline(void)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int rc = engine_stop_timeline(world_engine(world));
    process_exit();
    return rc;
}

int64_t hvd_bytes_sent(void)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int64_t nbytes = engine_bytes_sent(world_engine(world));
    process_exit();
    return nbytes;
}

const char *hvd_strstatus(int status)
{
    return status_text(status);
}

const char *hvd_last_error(void)
{
    return process_last_error();
}

size_t hvd_dtype_size(enum hvd_dtype dtype)
{
    return dtype_size((int)dtype);
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *hvd_version(void)
{
    return VERSION_TEXT(HVD_VERSION_MAJOR, HVD_VERSION_MINOR, HVD_VERSION_PATCH);
}
