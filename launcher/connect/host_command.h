/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the command that connects to a host, "COMMAND HOST /bin/sh": the user's own command
 * (--remote-shell), or the external ssh with the options that hvdrun was given. */
#ifndef LAUNCHER_CONNECT_HOST_COMMAND_H
#define LAUNCHER_CONNECT_HOST_COMMAND_H

#include "launcher/base/string_list.h"
#include "launcher/connect/host_transport.h"

/* Fills `words`, which must be all zero before; the caller releases it in either case.
 * HVD_ERR_INVALID if the user's command is malformed. */
int host_command_words(struct string_list *words, const struct host_transport_job *job,
                       struct err *err);

#endif
