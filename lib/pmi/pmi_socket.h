/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of a PMI wire protocol, whose number is in PMI_FD: a request, then its answer. The
 * descriptor belongs to the process, which may also hand it to other libraries: it is used, not
 * configured, and never closed. No call waits beyond its deadline.
 *
 * Fails (HVD_ERR_ENVIRONMENT) when PMI_FD is no number, or no socket that is open, and when the
 * process manager has closed it. */
#ifndef LIB_PMI_PMI_SOCKET_H
#define LIB_PMI_PMI_SOCKET_H

#include "lib/base/env_names.h"
#include "lib/base/status.h"
#include "lib/pmi/pmi_message.h"

#include <stddef.h>
#include <stdint.h>

struct pmi_socket {
    int fd; /* borrowed */
    enum pmi_dialect dialect;
    char input[PMI_MESSAGE_MAX]; /* bytes that have come beyond the last message */
    size_t length;
};

int pmi_socket_init(struct pmi_socket *socket, environment_get_fn *get, struct err *err);

/* Sends the message, which it completes, and reads the answer. The request must not have failed
 * for another reason than its length. */
int pmi_socket_ask(struct pmi_socket *socket, struct pmi_writer *request,
                   struct pmi_message *answer, uint64_t deadline_ms, struct err *err);

/* A number of the environment from `low` to `high`; HVD_ERR_ENVIRONMENT with its name. */
int pmi_variable(environment_get_fn *get, const char *name, int low, int high, int *number,
                 struct err *err);

#endif
