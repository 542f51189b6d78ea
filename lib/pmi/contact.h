/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a job meet, as rank 0 publishes it through the process manager:
 *
 *   hvd1,KEY,HOST,ADDRESS[,ADDRESS]...
 *
 * KEY is the key of the job, 64 hexadecimal digits, or "-" when every rank has it in HVD_JOB_KEY.
 * "failed" in its place, and nothing behind HOST: rank 0 cannot serve the rendezvous.
 * HOST is rank 0's host, for messages; the addresses are those at which rank 0 listens, as in
 * join_protocol.h, best first. The text is printable and has no blank, ';' or '='. "1" is its
 * version. */
#ifndef LIB_PMI_CONTACT_H
#define LIB_PMI_CONTACT_H

#include "lib/base/auth.h"
#include "lib/base/join_protocol.h"
#include "lib/pmi/process_manager.h"

enum { CONTACT_HOST_SIZE = 81 };

struct contact {
    bool has_key; /* or else HVD_JOB_KEY is meant */
    struct job_key key;
    char host[CONTACT_HOST_SIZE];
    struct join_addresses addresses; /* at least one */
};

/* Leaves out the last addresses if there is no room, and unix sockets. A host name is cut, and what
 * it may not have becomes '?'. With a `status` that is a failure, the text says that rank 0 cannot
 * serve. */
void contact_format(char text[PROCESS_MANAGER_VALUE_MAX], const struct contact *contact,
                    int status);

/* HVD_ERR_PROTOCOL, without a byte of the text in it; HVD_ERR_PEER_LOST when rank 0 cannot
 * serve. */
int contact_parse(struct contact *contact, const char *text, struct err *err);

#endif
