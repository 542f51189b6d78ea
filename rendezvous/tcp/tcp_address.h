/* SPDX-License-Identifier: Apache-2.0 */
/* An address and a port as a user writes them: "127.0.0.1:29400", "[::1]:0", "localhost:29400",
 * which is 127.0.0.1. Other names are refused, because the listening address must not depend on a
 * name server. */
#ifndef RENDEZVOUS_TCP_TCP_ADDRESS_H
#define RENDEZVOUS_TCP_TCP_ADDRESS_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <sys/socket.h>

enum { TCP_ADDRESS_SIZE = 80 };

/* HVD_ERR_INVALID, and one line that quotes the text. */
int tcp_address_parse(struct sockaddr_storage *address, const char *text, struct err *err);

/* Writes the address in the same form, with numbers only. */
void tcp_address_format(char text[TCP_ADDRESS_SIZE], const struct sockaddr_storage *address);

socklen_t tcp_address_length(const struct sockaddr_storage *address);
int tcp_address_port(const struct sockaddr_storage *address);

/* Can the address be reached from this machine only? */
bool tcp_address_is_loopback(const struct sockaddr_storage *address);

#endif
