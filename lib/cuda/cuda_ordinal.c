/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_ordinal.h. */
#include "lib/cuda/cuda_ordinal.h"

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

/* 0, 1, or -1 and `err`. */
static int may_share(const char *text, struct err *err)
{
    char quoted[QUOTED_SIZE];
    if (!text || strcmp(text, "0") == 0)
        return 0;
    if (strcmp(text, "1") == 0)
        return 1;
    fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not 0 or 1", CUDA_ENV_SHARE,
         quote_token(quoted, sizeof quoted, text, strlen(text)));
    return -1;
}

int cuda_ordinal_choose(const struct device_module_options *options, int gpus, struct err *err)
{
    char text[VISIBLE_TEXT];
    const char *visible = options->get(CUDA_ENV_VISIBLE);
    int share = may_share(options->get(CUDA_ENV_SHARE), err);
    if (share < 0)
        return err->code;
    if (options->ordinal >= gpus)
        return fail(err, HVD_ERR_INVALID, "there is no GPU %d, the driver shows %d%s",
                    options->ordinal, gpus, visible_text(text, visible));
    if (options->ordinal >= 0)
        return options->ordinal;
    if (options->local_rank < gpus)
        return options->local_rank;
    bool names_one = visible && *visible != '\0' && !strchr(visible, ',');
    if (share || (gpus == 1 && names_one))
        return options->local_rank % gpus;
    return fail(err, HVD_ERR_ENVIRONMENT,
                "local rank %d of %d has no GPU of its own, the driver shows %d%s; %s=1 lets ranks "
                "share a GPU",
                options->local_rank, options->local_size, gpus, visible_text(text, visible),
                CUDA_ENV_SHARE);
}
