/* SPDX-License-Identifier: Apache-2.0 */
/* Where everybody in the world is: a record for each rank, of its host and where it can be dialled
 * (struct join_peer). Records lie one behind the other, in order of rank, so that those of a subtree
 * are one piece; they are kept as they came, since a world may be large.
 *
 * Fails with HVD_ERR_PROTOCOL when they are not the records of the ranks that they should be of,
 * HVD_ERR_NOMEM. */
#ifndef LIB_ENGINE_DIRECTORY_H
#define LIB_ENGINE_DIRECTORY_H

#include "lib/base/join_protocol.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct directory;

/* Are these the records of the ranks [first, end), and nothing else? */
int directory_check(const void *records, size_t nbytes, int first, int end, struct err *err);

/* Of all ranks of a world; `records` is copied. NULL and `err` on failure. */
struct directory *directory_create(const void *records, size_t nbytes, int size, struct err *err);
void directory_destroy(struct directory *directory); /* NULL is fine */

void directory_find(const struct directory *directory, int rank, struct join_peer *peer);

/* The number of a rank's host: hosts count from 0, in the order in which they appear. */
int directory_host(const struct directory *directory, int rank);

/* Can everybody be dialled? */
bool directory_is_everywhere(const struct directory *directory);

#endif
