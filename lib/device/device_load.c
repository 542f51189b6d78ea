/* SPDX-License-Identifier: Apache-2.0 */
/* See device_load.h.
 *
 *   library file -> its folder -> hvdrun/hvd_cuda.so there -> hvd_device_module() -> open -> register
 */
#include "lib/device/device_load.h"

#include "lib/device/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char module_file[] = "hvdrun/hvd_cuda.so";

struct opened {
    int device;
    void *context;
    struct opened *next;
};

static struct {
    pthread_mutex_t lock;
    const struct device_module *module;
    struct opened *first;
} loaded = { .lock = PTHREAD_MUTEX_INITIALIZER };

void device_load_use(const struct device_module *module)
{
    pthread_mutex_lock(&loaded.lock);
    loaded.module = module;
    pthread_mutex_unlock(&loaded.lock);
}

/* Beside this library, wherever it was installed. A relative path would depend on the working
 * directory, where anybody may have put a file of this name. */
static int module_path(char path[PATH_MAX], struct err *err)
{
    Dl_info info;
    char quoted[QUOTED_SIZE];
    if (!dladdr((void *)device_load_open, &info) || !info.dli_fname)
        return fail(err, HVD_ERR_SYSTEM, "cannot tell where this library lies");
    if (*info.dli_fname != '/')
        return fail(err, HVD_ERR_SYSTEM, "%s is looked for beside '%s', whose path is not absolute",
                    module_file,
                    quote_token(quoted, sizeof quoted, info.dli_fname, strlen(info.dli_fname)));
    int folder = (int)(strrchr(info.dli_fname, '/') + 1 - info.dli_fname);
    if (snprintf(path, PATH_MAX, "%.*s%s", folder, info.dli_fname, module_file) >= PATH_MAX)
        return fail(err, HVD_ERR_SYSTEM, "the path of %s is too long", module_file);
    return HVD_OK;
}

static int module_load(struct err *err)
{
    char path[PATH_MAX];
    device_module_fn *get;
    int rc = module_path(path, err);
    if (rc < 0)
        return rc;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return fail(err, HVD_ERR_SYSTEM, "%s", dlerror());
    void *symbol = dlsym(library, DEVICE_MODULE_SYMBOL);
    memcpy(&get, &symbol, sizeof symbol);
    if (!symbol || get()->version != DEVICE_MODULE_VERSION)
        return fail(err, HVD_ERR_SYSTEM, "%s belongs to another version of this library", path);
    loaded.module = get();
    return HVD_OK;
}

/* Called under the lock. */
static int open_and_register(const struct device_module_options *options, struct opened *opened,
                             struct err *err)
{
    struct hvd_device table;
    struct hvd_device_extension extension;
    int rc = loaded.module ? HVD_OK : module_load(err);
    if (rc == HVD_OK)
        rc = loaded.module->open(options, &table, &extension, err);
    if (rc < 0)
        return rc;
    opened->context = table.context;
    opened->device = rc = device_register(&table, err);
    if (rc > 0 && (rc = device_extend(opened->device, &extension, err)) < 0)
        device_unregister(opened->device, &(struct err){ 0 });
    if (rc < 0) {
        loaded.module->close(table.context);
        return rc;
    }
    loaded.module->number(table.context, opened->device);
    opened->next = loaded.first;
    loaded.first = opened;
    return HVD_OK;
}

int device_load_open(const struct device_module_options *options, int *device, struct err *err)
{
    struct opened *opened = calloc(1, sizeof *opened);
    if (!opened)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    pthread_mutex_lock(&loaded.lock);
    int rc = open_and_register(options, opened, err);
    pthread_mutex_unlock(&loaded.lock);
    if (rc < 0)
        free(opened);
    else
        *device = opened->device;
    return rc;
}

/* Called under the lock: the link to what was opened, or to NULL. */
static struct opened **device_load_find(int device)
{
    struct opened **link = &loaded.first;
    while (*link && (*link)->device != device)
        link = &(*link)->next;
    return link;
}

void *device_load_enter(int device, const struct device_module **module, struct err *err)
{
    pthread_mutex_lock(&loaded.lock);
    const struct opened *opened = *device_load_find(device);
    *module = loaded.module;
    if (opened)
        return opened->context;
    pthread_mutex_unlock(&loaded.lock);
    fail(err, HVD_ERR_INVALID, "device %d is none of CUDA", device);
    return NULL;
}

void device_load_leave(void)
{
    pthread_mutex_unlock(&loaded.lock);
}

void device_load_set_removed(int process_set, int serial)
{
    pthread_mutex_lock(&loaded.lock);
    for (const struct opened *opened = loaded.first; opened; opened = opened->next)
        loaded.module->set_removed(opened->context, process_set, serial);
    pthread_mutex_unlock(&loaded.lock);
}

int device_load_close(int device, struct err *err)
{
    pthread_mutex_lock(&loaded.lock);
    struct opened **link = device_load_find(device);
    struct opened *opened = *link;
    int rc = opened ? device_unregister(device, err)
                    : fail(err, HVD_ERR_INVALID, "close cuda device: %d is none", device);
    if (rc == HVD_OK) {
        *link = opened->next;
        loaded.module->close(opened->context);
        free(opened);
    }
    pthread_mutex_unlock(&loaded.lock);
    return rc;
}
