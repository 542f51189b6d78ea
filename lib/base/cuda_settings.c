/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_settings.h. */
#include "lib/base/cuda_settings.h"

#include "lib/base/boolean.h"

#include <string.h>

static int cuda_settings_refuse(const char *name, const char *text, const char *expected,
                                struct err *err)
{
    char quoted[QUOTED_SIZE];
    return fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not %s", name,
                quote_token(quoted, sizeof quoted, text, strlen(text)), expected);
}

static int read_switch(enum cuda_switch *value, const char *name, environment_get_fn *get,
                       struct err *err)
{
    const char *text = get(name);
    *value = CUDA_SWITCH_UNSET;
    if (!text)
        return HVD_OK;
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return cuda_settings_refuse(name, text, "0 or 1", err);
    *value = *text == '1' ? CUDA_SWITCH_ON : CUDA_SWITCH_OFF;
    return HVD_OK;
}

static int read_hierarchical(bool *hierarchical, environment_get_fn *get, struct err *err)
{
    const char *text = get(ENV_HIERARCHICAL_ALLREDUCE);
    *hierarchical = false;
    if (!text || !*text || boolean_parse(text, hierarchical))
        return HVD_OK;
    return cuda_settings_refuse(ENV_HIERARCHICAL_ALLREDUCE, text, "0, 1, true or false", err);
}

int cuda_settings_read(struct cuda_settings *settings, environment_get_fn *get, struct err *err)
{
    int rc;
    if ((rc = read_switch(&settings->nccl, ENV_CUDA_NCCL, get, err)) < 0 ||
        (rc = read_switch(&settings->ipc, ENV_CUDA_IPC, get, err)) < 0 ||
        (rc = read_switch(&settings->share, ENV_CUDA_SHARE, get, err)) < 0)
        return rc;
    return read_hierarchical(&settings->hierarchical, get, err);
}
