/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements for what a static hvdagent must not, or cannot, load:
 *   a look into the user database, which would load shared libraries of the very libc it was linked
 *   with; libuv has a call that needs it and that hvdagent never makes;
 *   plugins of hwloc, which are shared libraries too;
 *   libudev, which has no static library; hwloc asks it about disks only.
 * configure checks that this is enough, and whether the program can be position-independent. */
#include <errno.h>
#include <pwd.h>
#include <stddef.h>

int getpwuid_r(uid_t uid, struct passwd *entry, char *memory, size_t size, struct passwd **result)
{
    (void)uid;
    (void)entry;
    (void)memory;
    (void)size;
    *result = NULL;
    return ENOSYS;
}

void *__wrap_dlopen(const char *path, int mode);
void *__wrap_dlopen(const char *path, int mode)
{
    (void)path;
    (void)mode;
    return NULL;
}

/* Without a context no other function of libudev is called. */
void *udev_new(void);
void *udev_new(void)
{
    return NULL;
}

void *udev_unref(void *udev);
void *udev_unref(void *udev)
{
    (void)udev;
    return NULL;
}

void *udev_device_new_from_subsystem_sysname(void *udev, const char *subsystem, const char *name);
void *udev_device_new_from_subsystem_sysname(void *udev, const char *subsystem, const char *name)
{
    (void)udev;
    (void)subsystem;
    (void)name;
    return NULL;
}

const char *udev_device_get_property_value(void *device, const char *key);
const char *udev_device_get_property_value(void *device, const char *key)
{
    (void)device;
    (void)key;
    return NULL;
}

void *udev_device_unref(void *device);
void *udev_device_unref(void *device)
{
    (void)device;
    return NULL;
}
