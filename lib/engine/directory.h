/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of the world: for each rank a record of its host and its addresses (struct
 * join_peer). Records lie one behind the other in order of rank, so that the records of a subtree
 * are contiguous. They are kept as they were received, since a world may be large.
 *
 * Fails with HVD_ERR_PROTOCOL when records are not those of the expected ranks, and
 * HVD_ERR_NOMEM. */
#ifndef LIB_ENGINE_DIRECTORY_H
#define LIB_ENGINE_DIRECTORY_H

#include "lib/base/join_protocol.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct directory;

/* Checks that these are the records of the ranks [first, end), and nothing else. */
int directory_check(const void *records, size_t nbytes, int first, int end, struct err *err);

/* The directory of all ranks of a world; `records` is copied. NULL and `err` on failure. */
struct directory *directory_create(const void *records, size_t nbytes, int size, struct err *err);
void directory_destroy(struct directory *directory); /* NULL is fine */

void directory_find(const struct directory *directory, int rank, struct join_peer *peer);

/* The number of a rank's host: hosts count from 0, in the order in which they appear. */
int directory_host(const struct directory *directory, int rank);

/* True if every rank has an address. */
bool directory_is_everywhere(const struct directory *directory);

#endif
