/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_ordinal.h. */
#include "lib/cuda/cuda_ordinal.h"

#include "lib/base/cuda_settings.h"
#include "lib/cuda/cuda_device.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { VISIBLE_TEXT = QUOTED_SIZE + 64 };

/* " (CUDA_VISIBLE_DEVICES is '0,1')", or "". */
static const char *visible_text(char text[VISIBLE_TEXT], const char *visible)
{
    char quoted[QUOTED_SIZE];
    if (!visible)
        return "";
    snprintf(text, VISIBLE_TEXT, " (%s is '%s')", CUDA_ENV_VISIBLE,
             quote_token(quoted, sizeof quoted, visible, strlen(visible)));
    return text;
}

int cuda_ordinal_choose(const struct device_module_options *options, int gpus, struct err *err)
{
    char text[VISIBLE_TEXT];
    const char *visible = options->get(CUDA_ENV_VISIBLE);
    struct cuda_settings settings;
    int rc = cuda_settings_read(&settings, options->get, err);
    if (rc < 0)
        return rc;
    if (options->ordinal >= gpus)
        return fail(err, HVD_ERR_INVALID, "there is no GPU %d, the driver shows %d%s",
                    options->ordinal, gpus, visible_text(text, visible));
    if (options->ordinal >= 0)
        return options->ordinal;
    if (options->local_rank < gpus)
        return options->local_rank;
    bool names_one = visible && *visible != '\0' && !strchr(visible, ',');
    if (settings.share == CUDA_SWITCH_ON || (gpus == 1 && names_one))
        return options->local_rank % gpus;
    return fail(err, HVD_ERR_ENVIRONMENT,
                "local rank %d of %d has no GPU of its own, the driver shows %d%s; %s=1 lets ranks "
                "share a GPU",
                options->local_rank, options->local_size, gpus, visible_text(text, visible),
                ENV_CUDA_SHARE);
}
