/* SPDX-License-Identifier: Apache-2.0 */
/* Whether links are encrypted; see encryption.h. */
#include "lib/base/encryption.h"

#include <stddef.h>
#include <strings.h>

static const char *const names[] = {
    [ENCRYPTION_OFF] = "off",
    [ENCRYPTION_AUTO] = "auto",
    [ENCRYPTION_REQUIRE] = "require",
};

bool encryption_parse(const char *text, enum encryption *encryption)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i]) == 0) {
            *encryption = (enum encryption)i;
            return true;
        }
    return false;
}

const char *encryption_name(enum encryption encryption)
{
    return names[encryption];
}

enum encryption_verdict encryption_judge(enum encryption one, enum encryption other,
                                         bool between_hosts)
{
    bool is_required = one == ENCRYPTION_REQUIRE || other == ENCRYPTION_REQUIRE;
    if (one == ENCRYPTION_OFF || other == ENCRYPTION_OFF)
        return is_required ? LINK_REFUSED : LINK_PLAIN;
    return is_required || between_hosts ? LINK_ENCRYPTED : LINK_PLAIN;
}
