/* SPDX-License-Identifier: Apache-2.0 */
/* Transports between ranks of one host; see transport.h. */
#include "lib/base/transport.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = {
    [TRANSPORT_AUTO] = "auto",
    [TRANSPORT_SHM] = "shm",
    [TRANSPORT_UNIX] = "unix",
    [TRANSPORT_TCP] = "tcp",
};

bool transport_parse(const char *text, enum transport *transport)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i]) == 0) {
            *transport = (enum transport)i;
            return true;
        }
    return false;
}

const char *transport_name(enum transport transport)
{
    return names[transport];
}

int transport_read(enum transport *transport, environment_get_fn *get, struct err *err)
{
    const char *text = get(ENV_TRANSPORT);
    char quoted[QUOTED_SIZE];
    *transport = TRANSPORT_AUTO;
    if (!text || transport_parse(text, transport))
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not auto, shm, unix or tcp", ENV_TRANSPORT,
                quote_token(quoted, sizeof quoted, text, strlen(text)));
}

enum transport_verdict transport_judge(enum transport wanted, enum transport is)
{
    if (wanted == TRANSPORT_TCP || is == TRANSPORT_SHM)
        return TRANSPORT_FINE;
    if (wanted == TRANSPORT_SHM)
        return TRANSPORT_REFUSED;
    return wanted == TRANSPORT_UNIX && is == TRANSPORT_UNIX ? TRANSPORT_FINE : TRANSPORT_LESSER;
}
