/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd_device.h. They need no world. A child that was forked from a process with
 * a world gets HVD_ERR_FORKED, as in all other calls. */
#include "lib/hvd_device.h"

#include "lib/device/device.h"
#include "lib/process.h"
#include "lib/vendor.h"

int hvd_register_device(const struct hvd_device *device)
{
    struct err err;
    int rc = device_check(device, &err);
    if (rc == HVD_OK)
        rc = process_check_caller(&err);
    return process_answer(rc < 0 ? rc : device_register(device, &err), &err);
}

int hvd_extend_device(int device, const struct hvd_device_extension *extension)
{
    struct err err;
    int rc = process_check_caller(&err);
    return process_answer(rc < 0 ? rc : device_extend(device, extension, &err), &err);
}

int hvd_unregister_device(int device)
{
    struct err err;
    int rc = device > 0
                 ? process_check_caller(&err)
                 : fail(&err, HVD_ERR_INVALID, "unregister device: there is no device %d", device);
    return process_answer(rc < 0 ? rc : device_unregister(device, &err), &err);
}

int hvd_default_device(void)
{
    return vendor_default_device();
}
