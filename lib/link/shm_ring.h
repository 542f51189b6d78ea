/* SPDX-License-Identifier: Apache-2.0 */
/* One direction of a pair: entries in memory that one process writes and another reads. Bytes in,
 * bytes out, over plain memory; shm_doorbell.h does sleeping and waking.
 *
 *   entry, a cache line   0 word   8 up to 56 bytes
 *   word   0 number, 16 bits   16 kind, 2   18 bytes in the entry itself, 6
 *          24 bytes in the bulk, 16   40 where they begin there, in cache lines, 16   56 class, 8
 *
 * The class is one of shm_costs.h and means nothing to the ring.
 *
 * Entry n, from 0, has index n % SHM_ENTRIES; the writer sets its word to n + 1. So a reader that
 * loads the word gets small data in the same cache line; nothing else has to come from the other
 * processor. The bytes in an entry come before its bytes in the bulk. The reader seldom stores how
 * many entries it has read, and the writer loads this number only when it seems to have no room.
 *
 * The writer chooses where in the bulk bytes go. Small data cycle through a small part, so that a
 * pair with little traffic shares little memory. Large data cycle through the rest. Lines that have
 * left the reader's own cache since it read them are written several times faster than lines that
 * are still there, so the rest should be larger than that cache; but all rings of a host together
 * should stay in the cache that its processors share (shm_method.h). And fresh memory costs more
 * than a copy, so the writer uses only SHM_FIRST of it at first, and doubles that part after
 * SHM_LAPS rounds, or when it does not suffice. Where the system does not overcommit memory
 * (segment.h), pages are allocated before they are used; a ring that gets no more pages keeps its
 * size.
 *
 * Each side copies and checks every number from shared memory before it uses the number; an
 * impossible one is HVD_ERR_PROTOCOL. A malicious peer may change bytes while this side reads them
 * in place. */
#ifndef LIB_LINK_SHM_RING_H
#define LIB_LINK_SHM_RING_H

#include "lib/base/status.h"
#include "lib/link/parts.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SHM_LINE = 64,
    SHM_ENTRIES = 128,
    SHM_INLINE = SHM_LINE - 8,
    SHM_BULK = 4 * 1024 * 1024,
    SHM_SMALL_BYTES = 32 * 1024,
    SHM_FIRST = 256 * 1024,
    SHM_LAPS = 32,
    SHM_PIECE = 32 * 1024 /* most bytes of an entry: the reader can begin with them */
};

struct shm_entry {
    alignas(SHM_LINE) _Atomic uint64_t word;
    unsigned char bytes[SHM_INLINE];
};

/* Zeros are an empty one. */
struct shm_ring {
    struct shm_entry entries[SHM_ENTRIES];
    alignas(4096) unsigned char bulk[SHM_BULK];
};

/* The part of a ring that is used from the beginning. */
enum { SHM_RING_FIRST = offsetof(struct shm_ring, bulk) + SHM_SMALL_BYTES + SHM_FIRST };

enum shm_kind { SHM_BYTES, SHM_SEGMENT, SHM_MAPPED, SHM_PRIVATE };

/* The contents of an entry that is not bytes. SHM_PRIVATE, which is read at the writer's address,
 * may also lie in a segment that the reader has refused. The caller checks its meaning. */
struct shm_reference {
    uint64_t at; /* SHM_MAPPED: offset in the segment; SHM_PRIVATE: address in the writer */
    uint64_t nbytes;
    uint64_t slot; /* SHM_SEGMENT, SHM_MAPPED */
};

/* ---- the writer ---- */

/* Lines of the bulk that are used one after the other, around the end. */
struct shm_part {
    uint32_t first, most; /* of the bulk */
    uint32_t lines, laps; /* lines in use at present, and laps around them */
    uint32_t at;          /* of these: where the next bytes go */
    uint32_t used, freed; /* ever; wrap around */
    unsigned char *bulk;  /* whose pages are allocated before more is used, or NULL */
};

enum { SHM_SMALL, SHM_LARGE, SHM_PARTS };

struct shm_writer {
    struct shm_ring *ring;
    const _Atomic uint32_t *read;          /* the reader's word */
    bool streams;                          /* the caller's: large data bypass the caches (copy.h) */
    bool near;                             /* the caller's: the reader shares a cache */
    uint8_t cost_class;                    /* the caller's: of what is written next */
    uint32_t entries, seen;                /* ever written; read, as far as we know; wrap around */
    struct shm_part parts[SHM_PARTS];      /* of the bulk */
    uint32_t ends[SHM_ENTRIES][SHM_PARTS]; /* the use of each part when an entry was written */
};

void shm_writer_init(struct shm_writer *writer, struct shm_ring *ring,
                     const _Atomic uint32_t *read);

/* From now on, pages beyond SHM_RING_FIRST are allocated before they are used. */
void shm_writer_populates(struct shm_writer *writer);

/* Of the large part, at most `nbytes` are used, whole pages, at least twice SHM_PIECE; called
 * before anything is written. */
void shm_writer_limit(struct shm_writer *writer, size_t nbytes);

/* Writes one entry with as many bytes as it takes and there is room for. Returns how many, 0 for
 * none now, or a negative status. A small first part lies in the entry, and the rest begins at a
 * cache line. */
ssize_t shm_writer_put(struct shm_writer *writer, struct parts *parts, struct err *err);

/* 1, 0 for not now, or a negative status. */
int shm_writer_refer(struct shm_writer *writer, enum shm_kind kind,
                     const struct shm_reference *reference, struct err *err);

/* True if there is room, or more than at the last check. */
bool shm_writer_has_room(const struct shm_writer *writer);

/* ---- the reader ---- */

struct shm_reader {
    struct shm_ring *ring;
    _Atomic uint32_t *read; /* our word */
    uint32_t entries, told; /* done with, ever; as in our word */
    uint32_t untold, much;  /* bytes taken since the writer was told; it is told after so many */

    /* The entry that is being read. */
    bool open;
    enum shm_kind kind;
    uint8_t cost_class; /* any number: the caller checks it */
    uint32_t inline_left, bulk_left;
    uint32_t inline_at, bulk_at;    /* where the next of them are */
    struct shm_reference reference; /* unless `kind` is SHM_BYTES */
};

void shm_reader_init(struct shm_reader *reader, struct shm_ring *ring, _Atomic uint32_t *read);

/* Notes the limit that the writer's side has. */
void shm_reader_limit(struct shm_reader *reader, size_t nbytes);

/* True if there is something to read. */
bool shm_reader_has_entry(const struct shm_reader *reader);

/* Opens the next entry, unless one is open: 1. 0 if none has come, or a negative status. */
int shm_reader_open(struct shm_reader *reader, struct err *err);

/* The next bytes of the open entry that lie in one piece, at least 1, until they are skipped. */
const unsigned char *shm_reader_look(const struct shm_reader *reader, size_t *nbytes);
void shm_reader_skip(struct shm_reader *reader, size_t nbytes); /* all skipped: not open any more */

/* Ends reading the open entry, which is a reference. */
void shm_reader_close(struct shm_reader *reader);

/* Stores how far we are, if this is new, or only if it is much. True if it did: the writer may
 * sleep. A writer without room gets it when everything was read, and much was reported. */
bool shm_reader_tell(struct shm_reader *reader, bool only_much);

/* Stores how far we are in passing, before writing something that the peer will read. A sleeping
 * writer need not notice: tell() does not know of this store. */
void shm_reader_mention(const struct shm_reader *reader);

#endif
