/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in shared memory; see shm_ring.h.
 *
 * The writer stores the contents of an entry, then its word; the reader loads the word, then the
 * contents: release and acquire. The reader loads the contents before it stores its own word, which
 * the writer loads before it writes to the same place again. Both words are stored and loaded
 * sequentially consistently, since the peer may be about to sleep (shm_doorbell.h).
 *
 * Fails with HVD_ERR_PROTOCOL when a reader claims to have read entries that were not written, or
 * fewer than before; and when an entry is longer than the memory, or empty, or is a reference of a
 * wrong length. */
#include "lib/link/shm_ring.h"

#include "lib/base/min.h"
#include "lib/memory/copy.h"
#include "lib/memory/segment.h"

enum {
    BULK_LINES = SHM_BULK / SHM_LINE,
    SMALL_LINES = SHM_SMALL_BYTES / SHM_LINE,
    LARGE_LEAST = 4096,             /* so many bytes or more do not belong in the small part */
    MUCH_ENTRIES = SHM_ENTRIES / 4, /* the reader reports after so many entries, or bytes */
    MUCH_BYTES = 64 * 1024
};

enum { KIND_AT = 16, INLINE_AT = 18, BULK_AT = 24, LINE_AT = 40, CLASS_AT = 56, END_AT = 64 };

_Static_assert(sizeof(struct shm_entry) == SHM_LINE, "an entry is a cache line");
_Static_assert(SHM_PIECE < 1 << 16 && BULK_LINES <= 1 << 16, "they fit into the word");
_Static_assert(sizeof(struct shm_reference) <= SHM_INLINE, "a reference fits into an entry");
_Static_assert(MUCH_BYTES < SHM_FIRST / 2, "much is told before there is no room");

/* ---- the writer ---- */

void shm_writer_init(struct shm_writer *writer, struct shm_ring *ring, const _Atomic uint32_t *read)
{
    *writer = (struct shm_writer){
        .ring = ring,
        .read = read,
        .parts = { [SHM_SMALL] = { .first = 0, .most = SMALL_LINES, .lines = SMALL_LINES },
                   [SHM_LARGE] = { .first = SMALL_LINES,
                                   .most = BULK_LINES - SMALL_LINES,
                                   .lines = SHM_FIRST / SHM_LINE } },
    };
}

void shm_writer_populates(struct shm_writer *writer)
{
    writer->parts[SHM_LARGE].bulk = writer->ring->bulk;
}

void shm_writer_limit(struct shm_writer *writer, size_t nbytes)
{
    struct shm_part *part = &writer->parts[SHM_LARGE];
    part->most = (uint32_t)size_min(part->most, nbytes / SHM_LINE);
    part->lines = (uint32_t)size_min(part->lines, part->most);
}

/* Loads how far the reader is: never beyond the writer, never back. */
static int check_reader(struct shm_writer *writer, struct err *err)
{
    uint32_t read = atomic_load_explicit(writer->read, memory_order_acquire);
    if (writer->entries - read > writer->entries - writer->seen)
        return fail(err, HVD_ERR_PROTOCOL, "shared memory: more was read than was written");
    if (read == writer->seen)
        return HVD_OK;
    for (int i = 0; i < SHM_PARTS; i++)
        writer->parts[i].freed = writer->ends[(read - 1) % SHM_ENTRIES][i];
    writer->seen = read;
    return HVD_OK;
}

static bool has_entry(const struct shm_writer *writer)
{
    return writer->entries - writer->seen < SHM_ENTRIES;
}

static uint32_t lines_of(size_t nbytes)
{
    return (uint32_t)((nbytes + SHM_LINE - 1) / SHM_LINE);
}

/* Lines that can be used at once: up to the end. */
static uint32_t free_lines(const struct shm_part *part)
{
    return (uint32_t)size_min(part->lines - (part->used - part->freed), part->lines - part->at);
}

bool shm_writer_has_room(const struct shm_writer *writer)
{
    return atomic_load(writer->read) != writer->seen ||
           (has_entry(writer) && free_lines(&writer->parts[SHM_LARGE]) > 0);
}

/* Lines of the part up to `end` may be written. */
static bool shm_ring_may_use(const struct shm_part *part, uint32_t end)
{
    struct segment bulk = { -1, part->bulk, SHM_BULK };
    size_t offset = (size_t)(part->first + part->lines) * SHM_LINE;
    size_t nbytes = (size_t)(end - part->lines) * SHM_LINE;
    return !part->bulk || segment_populate(&bulk, offset, nbytes, NULL) == HVD_OK;
}

/* At the end of a lap, when the unread lines lie directly before: the next lap goes farther. */
static void shm_ring_grow(struct shm_part *part)
{
    uint32_t lines = (uint32_t)size_min(2 * part->lines, part->most);
    if (shm_ring_may_use(part, lines))
        part->lines = lines;
    else
        part->most = part->lines;
    part->laps = 0;
}

static void use_lines(struct shm_part *part, uint32_t lines)
{
    part->at += lines;
    part->used += lines;
    if (part->at == part->lines && ++part->laps >= SHM_LAPS)
        shm_ring_grow(part);
    if (part->at == part->lines)
        part->at = 0;
}

/* All used lines do not suffice: more lines can be used at once if a lap has just ended, else
 * soon. */
static void want_more(struct shm_part *part)
{
    part->laps = SHM_LAPS;
    if (part->at > 0 || part->lines == part->most)
        return;
    uint32_t lines = part->lines;
    shm_ring_grow(part);
    part->at = part->lines > lines ? lines : 0;
}

/* Finds room for all of it in one piece, if need be at the start: small data is not split. */
static bool fits_small(struct shm_part *part, size_t nbytes)
{
    uint32_t lines = lines_of(nbytes), before_end = part->lines - part->at;
    if (nbytes >= LARGE_LEAST)
        return false;
    if (lines > before_end && free_lines(part) == before_end)
        use_lines(part, before_end);
    return lines <= free_lines(part);
}

/* The place for up to `*nbytes`, which becomes how many have room. Loads the reader's word when
 * there seems to be too little. */
static int find_room(struct shm_writer *writer, size_t *nbytes, struct err *err)
{
    struct shm_part *parts = writer->parts;
    bool is_small = fits_small(&parts[SHM_SMALL], *nbytes);
    bool is_large = *nbytes >= LARGE_LEAST && lines_of(*nbytes) <= free_lines(&parts[SHM_LARGE]);
    if (!has_entry(writer) || !(is_small || is_large)) {
        int rc = check_reader(writer, err);
        if (rc < 0)
            return rc;
        is_small = fits_small(&parts[SHM_SMALL], *nbytes);
        if (!is_small && free_lines(&parts[SHM_LARGE]) == 0)
            want_more(&parts[SHM_LARGE]);
    }
    int part = is_small ? SHM_SMALL : SHM_LARGE;
    *nbytes = size_min(*nbytes, (size_t)free_lines(&parts[part]) * SHM_LINE);
    return part;
}

static struct shm_entry *shm_ring_next_entry(const struct shm_writer *writer)
{
    return &writer->ring->entries[writer->entries % SHM_ENTRIES];
}

static void publish(struct shm_writer *writer, enum shm_kind kind, size_t inline_size,
                    size_t bulk_size, size_t line)
{
    struct shm_entry *entry = shm_ring_next_entry(writer);
    for (int i = 0; i < SHM_PARTS; i++)
        writer->ends[writer->entries % SHM_ENTRIES][i] = writer->parts[i].used;
    uint64_t word = (uint16_t)++writer->entries;
    word |= (uint64_t)kind << KIND_AT | (uint64_t)inline_size << INLINE_AT;
    word |= (uint64_t)bulk_size << BULK_AT | (uint64_t)line << LINE_AT;
    word |= (uint64_t)writer->cost_class << CLASS_AT;
    atomic_store(&entry->word, word);
}

/* Copies bytes to free lines. Returns the first line. */
static size_t put_bulk(struct shm_writer *writer, struct shm_part *part, struct parts *parts,
                       size_t nbytes)
{
    size_t line = part->first + part->at;
    bool streams = writer->streams && part == &writer->parts[SHM_LARGE];
    parts_gather_by(parts, writer->ring->bulk + line * SHM_LINE, nbytes,
                    streams        ? copy_streaming
                    : writer->near ? copy_cached
                                   : parts_copy);
    use_lines(part, lines_of(nbytes));
    return line;
}

/* How much of the parts goes into the entry itself. */
static size_t choose_inline(const struct parts *parts, size_t size)
{
    size_t first;
    parts_piece(parts, &first);
    if (size <= SHM_INLINE)
        return size;
    return first <= SHM_INLINE ? first : 0;
}

ssize_t shm_writer_put(struct shm_writer *writer, struct parts *parts, struct err *err)
{
    size_t size = parts_size(parts, SHM_INLINE + SHM_PIECE);
    size_t inline_size = choose_inline(parts, size);
    size_t bulk_size = size_min(size - inline_size, SHM_PIECE);
    int part = find_room(writer, &bulk_size, err);
    if (part < 0)
        return part;
    if (!has_entry(writer) || inline_size + bulk_size == 0)
        return 0;
    parts_gather(parts, shm_ring_next_entry(writer)->bytes, inline_size);
    size_t line = bulk_size ? put_bulk(writer, &writer->parts[part], parts, bulk_size) : 0;
    publish(writer, SHM_BYTES, inline_size, bulk_size, line);
    return (ssize_t)(inline_size + bulk_size);
}

int shm_writer_refer(struct shm_writer *writer, enum shm_kind kind,
                     const struct shm_reference *reference, struct err *err)
{
    int rc = has_entry(writer) ? HVD_OK : check_reader(writer, err);
    if (rc < 0 || !has_entry(writer))
        return rc;
    memcpy(shm_ring_next_entry(writer)->bytes, reference, sizeof *reference);
    publish(writer, kind, sizeof *reference, 0, 0);
    return 1;
}

/* ---- the reader ---- */

void shm_reader_init(struct shm_reader *reader, struct shm_ring *ring, _Atomic uint32_t *read)
{
    *reader = (struct shm_reader){ .ring = ring, .read = read, .much = MUCH_BYTES };
}

void shm_reader_limit(struct shm_reader *reader, size_t nbytes)
{
    reader->much = (uint32_t)size_min(nbytes / 4, MUCH_BYTES);
}

static struct shm_entry *current_entry(const struct shm_reader *reader)
{
    return &reader->ring->entries[reader->entries % SHM_ENTRIES];
}

/* The word of the next entry, or 0 when the entry has not come. */
static uint64_t shm_ring_next_word(const struct shm_reader *reader)
{
    uint64_t word = atomic_load(&current_entry(reader)->word);
    return (uint16_t)word == (uint16_t)(reader->entries + 1) ? word : 0;
}

bool shm_reader_has_entry(const struct shm_reader *reader)
{
    return reader->open || shm_ring_next_word(reader) != 0;
}

static uint32_t field(uint64_t word, int at, int end)
{
    return (uint32_t)(word >> at & ((UINT64_C(1) << (end - at)) - 1));
}

static bool shm_ring_is_possible(const struct shm_reader *reader)
{
    if (reader->kind != SHM_BYTES)
        return reader->inline_left == sizeof reader->reference && reader->bulk_left == 0;
    return reader->inline_left <= SHM_INLINE && reader->inline_left + reader->bulk_left > 0 &&
           reader->bulk_at + reader->bulk_left <= SHM_BULK;
}

int shm_reader_open(struct shm_reader *reader, struct err *err)
{
    uint64_t word = reader->open ? 0 : shm_ring_next_word(reader);
    if (word == 0)
        return reader->open;
    reader->kind = (enum shm_kind)field(word, KIND_AT, INLINE_AT);
    reader->inline_left = field(word, INLINE_AT, BULK_AT);
    reader->bulk_left = field(word, BULK_AT, LINE_AT);
    reader->inline_at = 0;
    reader->bulk_at = field(word, LINE_AT, CLASS_AT) * SHM_LINE;
    reader->cost_class = (uint8_t)field(word, CLASS_AT, END_AT);
    if (!shm_ring_is_possible(reader))
        return fail(err, HVD_ERR_PROTOCOL, "shared memory: an entry that cannot be (%016llx)",
                    (unsigned long long)word);
    if (reader->kind != SHM_BYTES)
        memcpy(&reader->reference, current_entry(reader)->bytes, sizeof reader->reference);
    reader->open = true;
    return 1;
}

const unsigned char *shm_reader_look(const struct shm_reader *reader, size_t *nbytes)
{
    bool is_inline = reader->inline_left > 0;
    *nbytes = is_inline ? reader->inline_left : reader->bulk_left;
    return is_inline ? current_entry(reader)->bytes + reader->inline_at
                     : reader->ring->bulk + reader->bulk_at;
}

void shm_reader_close(struct shm_reader *reader)
{
    reader->entries++;
    reader->open = false;
}

void shm_reader_skip(struct shm_reader *reader, size_t nbytes)
{
    bool is_inline = reader->inline_left > 0;
    *(is_inline ? &reader->inline_left : &reader->bulk_left) -= (uint32_t)nbytes;
    *(is_inline ? &reader->inline_at : &reader->bulk_at) += (uint32_t)nbytes;
    reader->untold += (uint32_t)nbytes;
    if (reader->inline_left + reader->bulk_left == 0)
        shm_reader_close(reader);
}

bool shm_reader_tell(struct shm_reader *reader, bool only_much)
{
    uint32_t entries = reader->entries - reader->told;
    if (entries == 0 || (only_much && entries < MUCH_ENTRIES && reader->untold < reader->much))
        return false;
    reader->told = reader->entries;
    reader->untold = 0;
    atomic_store(reader->read, reader->entries);
    return true;
}

void shm_reader_mention(const struct shm_reader *reader)
{
    if (reader->entries != reader->told)
        atomic_store_explicit(reader->read, reader->entries, memory_order_release);
}
