/* SPDX-License-Identifier: Apache-2.0 */
/* The transport to other machines by libssh2, if this program has it: hvdrun-ssh has it, hvdrun
 * does not, and executes hvdrun-ssh when it needs the transport. */
#ifndef SRC_HVDRUN_SSH_TRANSPORT_H
#define SRC_HVDRUN_SSH_TRANSPORT_H

#include "launcher/connect/host_transport.h"

/* NULL if this program has no such transport. */
const struct host_transport *ssh_transport(void);

#endif
