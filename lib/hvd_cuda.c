/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd_cuda.h. */
#include "lib/hvd_cuda.h"

#include "lib/device/device_load.h"
#include "lib/process.h"
#include "lib/vendor.h"

#include <stdio.h>

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

/* ---- memory ---- */

/* Asks the module under device_load_enter(). */
static void *cuda_enter(int device, const struct device_module **module, struct err *err)
{
    return process_check_caller(err) == HVD_OK ? device_load_enter(device, module, err) : NULL;
}

static int cuda_leave(int rc, const char *call, struct err *err)
{
    device_load_leave();
    if (rc < 0)
        fail_context(err, "%s", call);
    return process_answer(rc, err);
}

static int cuda_refuse(const char *call, struct err *err)
{
    fail_context(err, "%s", call);
    return process_answer(err->code, err);
}

int hvd_cuda_describe(int device, int *ordinal, char *name, size_t size)
{
    static const char call[] = "describe cuda device";
    const struct device_module *module;
    struct err err;
    char whole[128];
    int number;
    void *context = cuda_enter(device, &module, &err);
    if (!context)
        return cuda_refuse(call, &err);
    int rc = module->describe(context, &number, whole, sizeof whole, &err);
    if (rc == HVD_OK && ordinal)
        *ordinal = number;
    if (rc == HVD_OK && size > 0)
        snprintf(name, size, "%s", whole);
    return cuda_leave(rc, call, &err);
}

int hvd_cuda_alloc(int device, size_t nbytes, void **memory)
{
    static const char call[] = "allocate cuda memory";
    const struct device_module *module;
    struct err err;
    if (!memory || nbytes == 0) {
        fail(&err, HVD_ERR_INVALID, memory ? "of 0 bytes" : "memory is NULL");
        return cuda_refuse(call, &err);
    }
    void *context = cuda_enter(device, &module, &err);
    if (!context)
        return cuda_refuse(call, &err);
    int rc = module->alloc(context, nbytes, memory, &err);
    if (rc < 0)
        fail_context(&err, "%zu bytes", nbytes);
    return cuda_leave(rc, call, &err);
}

int hvd_cuda_free(int device, void *memory)
{
    static const char call[] = "free cuda memory";
    const struct device_module *module;
    struct err err;
    void *context = cuda_enter(device, &module, &err);
    if (!context)
        return cuda_refuse(call, &err);
    return cuda_leave(memory ? module->free(context, memory, &err) : HVD_OK, call, &err);
}

int hvd_cuda_copy(int device, void *to, const void *from, size_t nbytes)
{
    static const char call[] = "copy cuda memory";
    const struct device_module *module;
    struct err err;
    void *context = cuda_enter(device, &module, &err);
    if (!context)
        return cuda_refuse(call, &err);
    return cuda_leave(nbytes ? module->copy(context, to, from, nbytes, &err) : HVD_OK, call, &err);
}
