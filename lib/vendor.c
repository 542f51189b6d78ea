/* SPDX-License-Identifier: Apache-2.0 */
/* See vendor.h. */
#include "lib/vendor.h"

#include "lib/base/env_names.h"
#include "lib/base/log.h"
#include "lib/device/device_load.h"
#include "lib/engine/engine.h"
#include "lib/hvd.h"
#include "lib/process.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_int default_device;

static const char *vendor_variable(const char *name)
{
    return getenv(name);
}

static int vendor_world_is_broken(void)
{
    struct world *world = process_enter(NULL);
    if (!world)
        return 1;
    bool broken = world_is_broken(world);
    process_exit();
    return broken;
}

static int vendor_process_set_serial(int process_set)
{
    struct err err;
    struct world *world = process_enter(&err);
    int serial = world ? engine_set_serial(world_engine(world), process_set, &err) : err.code;
    if (world)
        process_exit();
    return process_answer(serial, &err);
}

static int vendor_process_set_has_ended(int process_set, int serial)
{
    struct world *world = process_enter(NULL);
    if (!world)
        return 1;
    bool ended = engine_set_has_ended(world_engine(world), process_set, serial);
    process_exit();
    return ended;
}

/* Without a world the rank is -1, which leaves it out. */
static void vendor_log_info(const char *text)
{
    struct world *world = process_enter(NULL);
    int rank = world ? world_rank_info(world)->rank : -1;
    if (world)
        process_exit();
    log_line(LOG_INFO, rank, "%s", text);
}

int vendor_open_cuda(const struct vendor_place *place, int *device, struct err *err)
{
    static const struct device_module_library library = {
        .allgather = hvd_allgather_tensor,
        .allreduce = hvd_allreduce_tensor,
        .alltoall = hvd_alltoall,
        .alltoall_async = hvd_alltoall_async,
        .wait = hvd_wait,
        .broadcast = hvd_broadcast_tensor,
        .reducescatter = hvd_reducescatter,
        .process_set_ranks = hvd_process_set_ranks,
        .process_set_rank = hvd_process_set_rank,
        .process_set_serial = vendor_process_set_serial,
        .process_set_has_ended = vendor_process_set_has_ended,
        .dtype_size = hvd_dtype_size,
        .epoch = hvd_epoch,
        .last_error = hvd_last_error,
        .world_is_broken = vendor_world_is_broken,
        .log_info = vendor_log_info,
    };
    const struct device_module_options options = {
        .ordinal = place->ordinal,
        .local_rank = place->local_rank,
        .local_size = place->local_size,
        .library = &library,
        .get = vendor_variable,
    };
    return device_load_open(&options, device, err);
}

/* One thread joins a world at a time. */
int vendor_open_default(enum settings_device wanted, int local_rank, int local_size,
                        struct err *err)
{
    int device;
    const struct vendor_place place = { -1, local_rank, local_size };
    if (wanted == SETTINGS_DEVICE_NONE || vendor_default_device() > 0)
        return HVD_OK;
    int rc = vendor_open_cuda(&place, &device, err);
    if (rc < 0)
        return fail_context(err, "%s=cuda", ENV_DEVICE);
    atomic_store(&default_device, device);
    return HVD_OK;
}

void vendor_forget(int device)
{
    atomic_compare_exchange_strong(&default_device, &device, 0);
}

int vendor_default_device(void)
{
    return atomic_load(&default_device);
}
