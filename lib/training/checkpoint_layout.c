/* SPDX-License-Identifier: Apache-2.0 */
/* Head and list of a checkpoint; see checkpoint_layout.h.
 *
 * Writing fails when memory runs out, and when the list is too long. Reading fails, in this order,
 * on another magic number, on another version, when the file's size is not the size in its head,
 * and when the list does not fit into the file or is impossible. */
#include "lib/training/checkpoint_layout.h"

#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <string.h>

enum { MAGIC_SIZE = 7, ENTRY_SIZE_MIN = 4 + 4 + 1 };

static const char magic[MAGIC_SIZE + 1] = "HVDCKPT";

bool checkpoint_entry_measure(struct checkpoint_entry *entry)
{
    uint64_t nbytes = dtype_size((int)entry->dtype);
    bool fits = true, empty = false;
    for (int i = 0; i < entry->ndims; i++) {
        empty |= entry->dims[i] == 0;
        fits &= !__builtin_mul_overflow(nbytes, (uint64_t)entry->dims[i], &nbytes);
    }
    entry->nbytes = empty ? 0 : nbytes;
    return empty || (fits && nbytes <= INT64_MAX);
}

/* ---- writing ---- */

static void put_entry(struct wire_writer *writer, const struct checkpoint_entry *entry)
{
    wire_put_u8(writer, (uint8_t)entry->kind);
    wire_put_u8(writer, (uint8_t)entry->dtype);
    wire_put_u8(writer, (uint8_t)entry->ndims);
    wire_put_u8(writer, 0);
    for (int i = 0; i < entry->ndims; i++)
        wire_put_u64(writer, (uint64_t)entry->dims[i]);
    wire_put_string(writer, entry->name);
}

static bool add_data(uint64_t *size, const struct checkpoint_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(*size, entries[i].nbytes, size))
            return false;
    return *size <= INT64_MAX;
}

static int encode(struct wire_writer *writer, const struct wire_writer *list,
                  const struct checkpoint_entry *entries, size_t count, struct err *err)
{
    uint64_t size = CHECKPOINT_SIZE_MIN + list->length;
    if (list->length > UINT32_MAX || !add_data(&size, entries, count))
        return fail(err, HVD_ERR_INVALID, "more than a checkpoint can hold");
    wire_put_bytes(writer, magic, MAGIC_SIZE);
    wire_put_u8(writer, CHECKPOINT_VERSION);
    wire_put_u64(writer, size);
    wire_put_u32(writer, (uint32_t)list->length);
    wire_put_u32(writer, (uint32_t)count);
    wire_put_bytes(writer, list->data, list->length);
    return list->failed || writer->failed ? fail(err, HVD_ERR_NOMEM, "out of memory") : HVD_OK;
}

int checkpoint_layout_encode(struct wire_writer *writer, const struct checkpoint_entry *entries,
                             size_t count, struct err *err)
{
    struct wire_writer list = { 0 };
    for (size_t i = 0; i < count; i++)
        put_entry(&list, &entries[i]);
    int rc = encode(writer, &list, entries, count, err);
    wire_writer_fini(&list);
    return rc;
}

/* ---- reading ---- */

static int check_size(const struct checkpoint_head *head, uint64_t file_size, struct err *err)
{
    if (file_size < head->size)
        return fail(err, HVD_ERR_INVALID, "is cut off: %" PRIu64 " bytes, expected %" PRIu64,
                    file_size, head->size);
    if (file_size > head->size)
        return fail(err, HVD_ERR_INVALID, "is too long: %" PRIu64 " bytes, expected %" PRIu64,
                    file_size, head->size);
    return HVD_OK;
}

static int check_list_size(const struct checkpoint_head *head, struct err *err)
{
    if (head->list_size > head->size - CHECKPOINT_SIZE_MIN ||
        head->count > head->list_size / ENTRY_SIZE_MIN)
        return fail(err, HVD_ERR_INVALID, "is damaged: its list cannot be in it");
    return HVD_OK;
}

int checkpoint_head_decode(struct checkpoint_head *head, const void *bytes, uint64_t file_size,
                           struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, bytes, CHECKPOINT_HEAD_SIZE);
    const void *mark = wire_get_bytes(&reader, MAGIC_SIZE);
    if (memcmp(mark, magic, file_size < MAGIC_SIZE ? (size_t)file_size : MAGIC_SIZE) != 0)
        return fail(err, HVD_ERR_INVALID, "is no checkpoint");
    unsigned version = wire_get_u8(&reader);
    if (file_size > MAGIC_SIZE && version != CHECKPOINT_VERSION)
        return fail(err, HVD_ERR_INVALID, "is a checkpoint of version %u, expected version %d",
                    version, CHECKPOINT_VERSION);
    if (file_size < CHECKPOINT_SIZE_MIN)
        return fail(err, HVD_ERR_INVALID, "is cut off: %" PRIu64 " bytes, expected at least %d",
                    file_size, CHECKPOINT_SIZE_MIN);
    head->size = wire_get_u64(&reader);
    head->list_size = wire_get_u32(&reader);
    head->count = wire_get_u32(&reader);
    int rc = check_size(head, file_size, err);
    return rc < 0 ? rc : check_list_size(head, err);
}

static bool get_dims(struct checkpoint_entry *entry, struct wire_reader *reader)
{
    bool good = entry->ndims <= HVD_DIMS_MAX;
    for (int i = 0; good && i < entry->ndims; i++) {
        uint64_t dim = wire_get_u64(reader);
        good = dim <= INT64_MAX;
        entry->dims[i] = good ? (int64_t)dim : 0;
    }
    return good;
}

static bool get_entry(struct checkpoint_entry *entry, struct wire_reader *reader)
{
    *entry = (struct checkpoint_entry){ .kind = wire_get_u8(reader) };
    entry->dtype = wire_get_u8(reader);
    entry->ndims = wire_get_u8(reader);
    bool good = wire_get_u8(reader) == 0 && get_dims(entry, reader);
    wire_get_string(reader, entry->name, sizeof entry->name);
    return good && !reader->failed && entry->name[0] != '\0' && entry->kind <= CHECKPOINT_SCALAR &&
           (entry->kind == CHECKPOINT_TENSOR || entry->ndims == 0) &&
           dtype_size((int)entry->dtype) > 0 && checkpoint_entry_measure(entry);
}

int checkpoint_list_decode(struct checkpoint_entry *entries, const struct checkpoint_head *head,
                           const void *bytes, struct err *err)
{
    struct wire_reader reader;
    uint64_t offset = CHECKPOINT_HEAD_SIZE + (uint64_t)head->list_size;
    uint64_t end = head->size - CHECKPOINT_DIGEST_SIZE;
    wire_reader_init(&reader, bytes, head->list_size);
    for (uint32_t i = 0; i < head->count; i++) {
        if (!get_entry(&entries[i], &reader) || entries[i].nbytes > end - offset)
            return fail(err, HVD_ERR_INVALID, "is damaged: entry %" PRIu32 " of its list cannot be",
                        i);
        entries[i].offset = offset;
        offset += entries[i].nbytes;
    }
    if (!wire_reader_finished(&reader) || offset != end)
        return fail(err, HVD_ERR_INVALID, "is damaged: its list is not what is in it");
    return HVD_OK;
}
