/* SPDX-License-Identifier: Apache-2.0 */
/* The two messages of negotiation.
 *
 * Up: the names that a subtree has ready; each section is present if its flag is set:
 *
 *   0 flags u8
 *     BITS     runs u32; each: first word u32, words u32, that many u64: a bit for each cache slot
 *              whose name all ranks of the subtree submit as before; then, in order of slot, the
 *              reduced data of those slots that carry some
 *     ITEMS    count u32; each: flags u8, slot u32 (ITEM_SLOT) or name and variants; then, if
 *              flagged, a reduction as u32 length and bytes, or a list (contribution.h)
 *     JOINS    count u32; each: a rank u32 that has joined
 *     RETIRED  number u32 of the retirement that the subtree has carried out
 *
 * Down: records until the end, each beginning with its u8 type:
 *
 *     RUN      algorithm u8 (algorithm.h), piece u8 (piece.h), count u32, tensors
 *     DONE     tensor
 *     FAILED   name, status i32, text
 *     RETIRE   number u32, count u32, slots u32
 *     JOINED   the last rank u32
 *     STEADY   count u32; each: algorithm i32, negative for none (schedule.h), piece u8, which is 0
 *              without an algorithm, count u32, slots u32: the operations from now on, round by
 *              round (steady.h)
 *
 *   tensor: flags u8, slot u32 (TENSOR_SLOT or TENSOR_ASSIGN: the name gets this slot), name and
 *   description (unless TENSOR_SLOT), then a reduction or list as above. TENSOR_ABSENT: data that
 *   devices could reduce among themselves is moved over the links, since a rank that has joined has
 *   no device memory to take part with.
 *
 * A name is a u8 length, as many bytes, and a NUL. */
#ifndef LIB_NEGOTIATION_MESSAGE_H
#define LIB_NEGOTIATION_MESSAGE_H

#include "lib/base/wire.h"

enum { UP_BITS = 1, UP_ITEMS = 2, UP_JOINS = 4, UP_RETIRED = 8, UP_KNOWN = 15 };

enum { ITEM_SLOT = 1, ITEM_COMPLETE = 2, ITEM_REDUCTION = 4, ITEM_LIST = 8, ITEM_KNOWN = 15 };

enum { DOWN_RUN = 1, DOWN_DONE, DOWN_FAILED, DOWN_RETIRE, DOWN_JOINED, DOWN_STEADY };

enum {
    TENSOR_SLOT = 1,
    TENSOR_ASSIGN = 2,
    TENSOR_COMPLETE = 4, /* with ASSIGN */
    TENSOR_REDUCTION = 8,
    TENSOR_LIST = 16,
    TENSOR_ABSENT = 32, /* with RUN */
    TENSOR_KNOWN = 63
};

/* A message that is longer than this gets no further record. */
enum { MESSAGE_ENOUGH = 1024 * 1024 };

void message_put_name(struct wire_writer *writer, const char *name, size_t length);

/* Terminated, borrowed from the reader's bytes; the reader fails if the name is empty or holds a
 * NUL. */
struct wire_text message_get_name(struct wire_reader *reader);

#endif
