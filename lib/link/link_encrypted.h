/* SPDX-License-Identifier: Apache-2.0 */
/* An encrypted link: another link, usually TCP, whose bytes are records (record.h). Up to four
 * records are sealed and sent, and received, at a time.
 *
 * A record that the inner link takes in part must be completed, and only the caller of try_send()
 * can do that. So the last byte of such records is reported as not taken: the caller tries again,
 * and the byte is counted when the records are complete. Therefore a caller that has sent bytes in
 * part must go on with the next byte of the same message, as it must with any link.
 *
 * Fails as the inner link does, and with HVD_ERR_PROTOCOL when a record was changed, dropped,
 * repeated or moved on the way, for good. A record that is cut is HVD_ERR_PEER_LOST, as the
 * connection has ended. */
#ifndef LIB_LINK_LINK_ENCRYPTED_H
#define LIB_LINK_LINK_ENCRYPTED_H

#include "lib/link/link.h"
#include "lib/link/record.h"

/* The keys of a link, as one side has them. */
struct link_keys {
    enum cipher cipher;
    struct record_keys send, receive;
};

/* Takes over `inner`, which only copies. The caller wipes `keys`. NULL when out of memory; then
 * `inner` still belongs to the caller. */
struct link *link_encrypted_create(struct link *inner, const struct link_keys *keys);

/* For tests: replaces the cipher's keys after so many records. Both sides need the same number. */
void link_encrypted_use_keys(struct link *link, uint64_t uses);

#endif
