/* SPDX-License-Identifier: Apache-2.0 */
/* A position in the parts of a vectored call: bytes are gathered from there, or scattered to
 * there. */
#ifndef LIB_LINK_PARTS_H
#define LIB_LINK_PARTS_H

#include "lib/memory/copy.h"

#include <stddef.h>
#include <sys/uio.h>

struct parts {
    const struct iovec *at; /* borrowed */
    int count;
    size_t used; /* of *at; less than its length unless count is 0 */
};

static inline void parts_skip(struct parts *parts, size_t nbytes)
{
    parts->used += nbytes;
    while (parts->count > 0 && parts->used >= parts->at->iov_len) {
        parts->used -= parts->at->iov_len;
        parts->at++;
        parts->count--;
    }
}

static inline struct parts parts_begin(const struct iovec *at, int count)
{
    struct parts parts = { at, count, 0 };
    parts_skip(&parts, 0);
    return parts;
}

/* The bytes that lie in one piece. */
static inline unsigned char *parts_piece(const struct parts *parts, size_t *nbytes)
{
    *nbytes = parts->count > 0 ? parts->at->iov_len - parts->used : 0;
    return parts->count > 0 ? (unsigned char *)parts->at->iov_base + parts->used : NULL;
}

/* The number of bytes; a result of `most` means at least `most`. */
static inline size_t parts_size(const struct parts *parts, size_t most)
{
    size_t size;
    parts_piece(parts, &size);
    for (int i = 1; i < parts->count && size < most; i++)
        size += parts->at[i].iov_len;
    return size < most ? size : most;
}

/* All advance by `nbytes`, which must be there. */
static inline void parts_gather_by(struct parts *from, void *to, size_t nbytes,
                                   void (*copy)(void *to, const void *from, size_t nbytes))
{
    unsigned char *at = to;
    for (size_t size; nbytes > 0; nbytes -= size, at += size) {
        const unsigned char *piece = parts_piece(from, &size);
        size = size < nbytes ? size : nbytes;
        copy(at, piece, size);
        parts_skip(from, size);
    }
}

/* For data that may come from a core that shares no cache. */
static inline void parts_copy(void *to, const void *from, size_t nbytes)
{
    if (nbytes < 2 * COPY_VECTORS)
        copy_cached(to, from, nbytes);
    else
        memcpy(to, from, nbytes);
}

static inline void parts_gather(struct parts *from, void *to, size_t nbytes)
{
    parts_gather_by(from, to, nbytes, parts_copy);
}

static inline void parts_scatter_by(struct parts *to, const void *from, size_t nbytes,
                                    void (*copy)(void *to, const void *from, size_t nbytes))
{
    const unsigned char *at = from;
    for (size_t size; nbytes > 0; nbytes -= size, at += size) {
        unsigned char *piece = parts_piece(to, &size);
        size = size < nbytes ? size : nbytes;
        copy(piece, at, size);
        parts_skip(to, size);
    }
}

static inline void parts_scatter(struct parts *to, const void *from, size_t nbytes)
{
    parts_scatter_by(to, from, nbytes, parts_copy);
}

#endif
