/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd_cuda.h. */
#include "lib/hvd_cuda.h"

#include "lib/device/device_load.h"
#include "lib/process.h"
#include "lib/vendor.h"

/* Finds the place of this process on its host; not known without a world. */
static int read_place(int ordinal, struct vendor_place *place, struct err *err)
{
    struct world *world = process_enter(err);
    *place = (struct vendor_place){ .ordinal = ordinal, .local_rank = -1 };
    if (!world)
        return ordinal == HVD_CUDA_BY_LOCAL_RANK ? err->code : HVD_OK;
    place->local_rank = world_rank_info(world)->local_rank;
    place->local_size = world_rank_info(world)->local_size;
    process_exit();
    return HVD_OK;
}

static int cuda_open(int ordinal, int *device, struct err *err)
{
    struct vendor_place place;
    if (!device)
        return fail(err, HVD_ERR_INVALID, "device is NULL");
    if (ordinal < HVD_CUDA_BY_LOCAL_RANK)
        return fail(err, HVD_ERR_INVALID, "ordinal %d is not 0 or more", ordinal);
    int rc = process_check_caller(err);
    if (rc == HVD_OK)
        rc = read_place(ordinal, &place, err);
    return rc < 0 ? rc : vendor_open_cuda(&place, device, err);
}

int hvd_cuda_open(int ordinal, int *device)
{
    struct err err;
    int rc = cuda_open(ordinal, device, &err);
    if (rc < 0)
        fail_context(&err, "open cuda device");
    return process_answer(rc, &err);
}

int hvd_cuda_close(int device)
{
    struct err err;
    int rc = device > 0
                 ? process_check_caller(&err)
                 : fail(&err, HVD_ERR_INVALID, "close cuda device: there is no device %d", device);
    if (rc == HVD_OK && (rc = device_load_close(device, &err)) == HVD_OK)
        vendor_forget(device);
    return process_answer(rc, &err);
}
