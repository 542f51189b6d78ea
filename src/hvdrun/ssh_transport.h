/* SPDX-License-Identifier: Apache-2.0 */
/* The way to other machines by libssh2, as far as this program has it: hvdrun-ssh does, hvdrun does
 * not, and becomes hvdrun-ssh when it needs it. */
#ifndef SRC_HVDRUN_SSH_TRANSPORT_H
#define SRC_HVDRUN_SSH_TRANSPORT_H

#include "launcher/connect/host_transport.h"

/* NULL if this program has none. */
const struct host_transport *ssh_transport(void);

#endif
