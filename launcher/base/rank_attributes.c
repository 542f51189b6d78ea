/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding and decoding the attributes of ranks; see rank_attributes.h. Fails on a value that no
 * option gives. */
#include "launcher/base/rank_attributes.h"

#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>

void rank_attributes_inherit(struct rank_attributes *attributes)
{
    struct sigaction hup;
    mode_t mask = umask(0); /* umask() is the only way to read the mask */
    umask(mask);
    sigaction(SIGHUP, NULL, &hup);
    attributes->umask = (uint16_t)mask;
    attributes->ignore_hup = hup.sa_handler == SIG_IGN;
}

void rank_attributes_encode(struct wire_writer *writer, const struct rank_attributes *attributes)
{
    wire_put_u16(writer, attributes->umask);
    wire_put_u8(writer, attributes->ignore_hup);
    wire_put_u8(writer, (uint8_t)attributes->bind_to);
    wire_put_u8(writer, attributes->report_bindings);
    wire_put_u8(writer, attributes->torch_env);
    wire_put_u8(writer, attributes->stack_traces);
}

int rank_attributes_decode(struct rank_attributes *attributes, struct wire_reader *reader,
                           struct err *err)
{
    attributes->umask = wire_get_u16(reader) & 0777;
    attributes->ignore_hup = wire_get_u8(reader) != 0;
    attributes->bind_to = wire_get_u8(reader);
    attributes->report_bindings = wire_get_u8(reader) != 0;
    attributes->torch_env = wire_get_u8(reader) != 0;
    attributes->stack_traces = wire_get_u8(reader) != 0;
    if (attributes->bind_to >= BIND_TO_COUNT)
        return fail(err, HVD_ERR_PROTOCOL, "binding %d does not exist", attributes->bind_to);
    return HVD_OK;
}
