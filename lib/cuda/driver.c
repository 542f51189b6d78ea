/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the CUDA driver; see driver.h. */
#include "lib/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char driver_file[] = "libcuda.so.1";

static struct {
    pthread_mutex_t lock;
    bool open;
    struct cuda_driver driver;
} loaded = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The first symbol that the library lacks, or NULL. */
static const char *driver_look_up(struct cuda_driver *driver)
{
    const struct {
        const char *symbol;
        void *member;
    } entries[] = {
#define ENTRY(member, name, suffix, parameters) { #name suffix, &driver->member },
        CUDA_CALLS(ENTRY)
#undef ENTRY
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *address = dlsym(driver->library, entries[i].symbol);
        if (!address)
            return entries[i].symbol;
        memcpy(entries[i].member, &address, sizeof address);
    }
    return NULL;
}

int cuda_driver_fail(const struct cuda_driver *driver, int result, const char *call,
                     struct err *err)
{
    const char *name = NULL, *text = NULL;
    driver->get_error_name(result, &name);
    driver->get_error_string(result, &text);
    return fail(err, HVD_ERR_SYSTEM, "%s: %s (%s)", call, text ? text : "unknown error",
                name ? name : "a number that this driver does not know");
}

/* A driver that is too old may lack an entry point, so its version is asked first. */
static int driver_check_version(struct cuda_driver *driver, struct err *err)
{
    int (*get_version)(int *version);
    void *address = dlsym(driver->library, "cuDriverGetVersion");
    memcpy(&get_version, &address, sizeof address);
    if (!address || get_version(&driver->version) != CUDA_OK)
        return fail(err, HVD_ERR_SYSTEM, "%s does not tell its version", driver_file);
    if (driver->version < CUDA_DRIVER_LEAST)
        return fail(err, HVD_ERR_SYSTEM,
                    "the driver is that of CUDA %d.%d, at least %d.%d is needed",
                    driver->version / 1000, driver->version % 1000 / 10, CUDA_DRIVER_LEAST / 1000,
                    CUDA_DRIVER_LEAST % 1000 / 10);
    return HVD_OK;
}

static int driver_start(struct cuda_driver *driver, struct err *err)
{
    const char *hidden = getenv("CUDA_VISIBLE_DEVICES");
    int result = driver->init(0);
    if (result != CUDA_OK && result != CUDA_NO_DEVICE)
        return cuda_driver_fail(driver, result, "cuInit", err);
    if (result == CUDA_OK && (result = driver->device_get_count(&driver->gpus)) != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuDeviceGetCount", err);
    if (result == CUDA_OK && driver->gpus > 0)
        return HVD_OK;
    char quoted[QUOTED_SIZE];
    if (hidden)
        return fail(err, HVD_ERR_SYSTEM, "the driver shows no GPU (CUDA_VISIBLE_DEVICES is '%s')",
                    quote_token(quoted, sizeof quoted, hidden, strlen(hidden)));
    return fail(err, HVD_ERR_SYSTEM, "the driver finds no GPU");
}

static int driver_load(struct cuda_driver *driver, struct err *err)
{
    driver->library = dlopen(driver_file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!driver->library)
        return fail(err, HVD_ERR_SYSTEM, "no driver: %s", dlerror());
    int rc = driver_check_version(driver, err);
    const char *lacks = rc < 0 ? NULL : driver_look_up(driver);
    if (lacks)
        rc = fail(err, HVD_ERR_SYSTEM, "%s of CUDA %d.%d has no %s", driver_file,
                  driver->version / 1000, driver->version % 1000 / 10, lacks);
    return rc < 0 ? rc : driver_start(driver, err);
}

const struct cuda_driver *cuda_driver_open(struct err *err)
{
    pthread_mutex_lock(&loaded.lock);
    if (!loaded.open)
        loaded.open = driver_load(&loaded.driver, err) == HVD_OK;
    bool open = loaded.open;
    pthread_mutex_unlock(&loaded.lock);
    return open ? &loaded.driver : NULL;
}
