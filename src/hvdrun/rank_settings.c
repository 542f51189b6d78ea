/* SPDX-License-Identifier: Apache-2.0 */
/* Checking the variables of ranks by the library's tables; see rank_settings.h. */
#include "src/hvdrun/rank_settings.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/xalloc.h"
#include "lib/base/cuda_settings.h"
#include "lib/base/transport.h"
#include "lib/base/unknown_variable.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct string_list *over; /* for the callback, which has no context */

const char *rank_settings_variable(const struct string_list *set, const char *name)
{
    const char *value = string_list_variable(set, name);
    return value ? value : getenv(name);
}

static const char *get(const char *name)
{
    return rank_settings_variable(over, name);
}

int rank_settings_read(struct settings *settings, const struct string_list *set, struct err *err)
{
    over = set;
    int rc = settings_read(settings, get, err);
    over = NULL;
    return rc;
}

int rank_settings_check(const struct string_list *set, struct err *err)
{
    struct settings settings;
    struct cuda_settings cuda;
    enum transport transport;
    struct err inner = { 0 };
    over = set;
    int rc = settings_read(&settings, get, &inner);
    if (rc == HVD_OK)
        rc = transport_read(&transport, get, &inner);
    if (rc == HVD_OK && settings.device == SETTINGS_DEVICE_CUDA)
        rc = cuda_settings_read(&cuda, get, &inner);
    over = NULL;
    return rc < 0 ? bad_input(err, NULL, "$%s", inner.text) : HVD_OK;
}

/* What a variable of the environment sets anew has had its warning. */
static bool is_in_environment(const char *entry)
{
    char *name = xstrndup(entry, strcspn(entry, "="));
    bool is = getenv(name);
    free(name);
    return is;
}

void rank_settings_warn(struct string_list *warnings, const struct string_list *set)
{
    char text[UNKNOWN_VARIABLE_TEXT];
    for (char **entry = environ; entry && *entry; entry++)
        if (unknown_variable_text(text, *entry))
            string_list_take(warnings, xasprintf("$%s", text));
    for (size_t i = 0; i < set->count; i++)
        if (unknown_variable_text(text, set->items[i]) && !is_in_environment(set->items[i]))
            string_list_take(warnings, xasprintf("-x: %s", text));
}
