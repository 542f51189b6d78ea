/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in a byte stream; see frame.h. */
#include "lib/base/frame.h"

#include "lib/base/checksum.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char magic[4] = { 'H', 'V', 'D', '1' };

enum { READ_SIZE = 64 * 1024 };

void frame_header_encode(unsigned char header[FRAME_HEADER_SIZE], uint16_t type, uint32_t length)
{
    memcpy(header, magic, sizeof magic);
    header[4] = (unsigned char)type;
    header[5] = (unsigned char)(type >> 8);
    header[6] = header[7] = 0;
    for (int i = 0; i < 4; i++)
        header[8 + i] = (unsigned char)(length >> (8 * i));
}

size_t frame_begin(struct wire_writer *writer, uint16_t type)
{
    unsigned char header[FRAME_HEADER_SIZE];
    frame_header_encode(header, type, 0);
    size_t begin = writer->length;
    wire_put_bytes(writer, header, sizeof header);
    return begin;
}

void frame_end(struct wire_writer *writer, size_t begin)
{
    if (writer->failed)
        return;
    size_t length = writer->length - begin - FRAME_HEADER_SIZE;
    for (int i = 0; i < 4; i++)
        writer->data[begin + 8 + (size_t)i] = (unsigned char)(length >> (8 * i));
}

/* The sum of the fields behind the magic, except the flags. */
static uint16_t header_sum(uint16_t type, uint32_t length)
{
    return (uint16_t)checksum_word((uint64_t)length << 16 | type, 16);
}

/* How much of a body of `length` bytes is summed. */
static size_t summed_bytes(uint16_t type, size_t length)
{
    return type & FRAME_WITH_DATA && length > FRAME_SUMMED_HEAD ? FRAME_SUMMED_HEAD : length;
}

void frame_header_encode_summed(unsigned char header[FRAME_HEADER_SIZE], uint16_t type,
                                uint32_t length)
{
    uint16_t sum = header_sum(type, length + FRAME_SUM_SIZE);
    frame_header_encode(header, type, length + FRAME_SUM_SIZE);
    header[6] = (unsigned char)sum;
    header[7] = (unsigned char)(sum >> 8);
}

void frame_sum_encode(unsigned char sum[FRAME_SUM_SIZE], const void *head, size_t nbytes)
{
    uint32_t value = htole32(checksum_bytes(head, nbytes));
    memcpy(sum, &value, sizeof value);
}

void frame_end_summed(struct wire_writer *writer, size_t begin)
{
    unsigned char sum[FRAME_SUM_SIZE];
    if (writer->failed)
        return;
    const unsigned char *header = writer->data + begin, *body = header + FRAME_HEADER_SIZE;
    uint16_t type = (uint16_t)(header[4] | header[5] << 8);
    size_t length = writer->length - begin - FRAME_HEADER_SIZE;
    frame_sum_encode(sum, body, summed_bytes(type, length));
    wire_put_bytes(writer, sum, sizeof sum);
    if (!writer->failed)
        frame_header_encode_summed(writer->data + begin, type, (uint32_t)length);
}

void frame_put(struct wire_writer *writer, uint16_t type, const void *body, size_t length)
{
    size_t begin = frame_begin(writer, type);
    wire_put_bytes(writer, body, length);
    frame_end(writer, begin);
}

void frame_reader_init(struct frame_reader *reader, size_t body_max)
{
    *reader = (struct frame_reader){ .body_max = body_max };
}

void frame_reader_fini(struct frame_reader *reader)
{
    if (reader->secret && reader->end > 0) /* behind the end nothing has been, or it was wiped */
        explicit_bzero(reader->data, reader->end);
    free(reader->data);
    *reader = (struct frame_reader){ 0 };
}

/* The length of the first frame, or 0 while its header is incomplete or unchecked. */
static size_t pending_size(const struct frame_reader *reader)
{
    if (reader->end - reader->start < FRAME_HEADER_SIZE)
        return 0;
    struct wire_reader header;
    wire_reader_init(&header, reader->data + reader->start + 8, 4);
    size_t length = wire_get_u32(&header);
    return length > reader->body_max ? 0 : FRAME_HEADER_SIZE + length;
}

/* Moves the bytes to the start of the buffer. */
static void move_unread(struct frame_reader *reader)
{
    size_t unread = reader->end - reader->start;
    if (unread > 0 && reader->start > 0)
        memmove(reader->data, reader->data + reader->start, unread);
    if (reader->secret && reader->start > 0)
        explicit_bzero(reader->data + unread, reader->end - unread);
    reader->start = 0;
    reader->end = unread;
}

static unsigned char *enlarge(struct frame_reader *reader, size_t capacity)
{
    if (!reader->secret)
        return realloc(reader->data, capacity);
    unsigned char *data = malloc(capacity);
    if (data && reader->capacity > 0) {
        memcpy(data, reader->data, reader->end);
        explicit_bzero(reader->data, reader->end);
        free(reader->data);
    }
    return data;
}

void *frame_reader_space(struct frame_reader *reader, size_t *size)
{
    move_unread(reader);
    size_t unread = reader->end;
    if (unread == 0 && reader->capacity >= READ_SIZE) {
        *size = reader->capacity;
        return reader->data;
    }
    size_t wanted = pending_size(reader);
    if (wanted < reader->end + READ_SIZE)
        wanted = reader->end + READ_SIZE;
    if (wanted > reader->capacity) {
        unsigned char *data = enlarge(reader, wanted);
        if (!data)
            return NULL;
        reader->data = data;
        reader->capacity = wanted;
    }
    *size = reader->capacity - reader->end;
    return reader->data + reader->end;
}

void frame_reader_commit(struct frame_reader *reader, size_t nbytes)
{
    reader->end += nbytes;
}

/* Checks a header and describes what is wrong. */
static int check_header(const struct frame_reader *reader, uint16_t type, uint16_t flags,
                        uint32_t length, struct err *err)
{
    if (reader->is_summed && flags != header_sum(type, length))
        return fail(err, HVD_ERR_PROTOCOL, "the header of a frame has been changed on the way");
    if (!reader->is_summed && flags != 0)
        return fail(err, HVD_ERR_PROTOCOL, "frame of type %u with unknown flags 0x%04x", type,
                    flags);
    if (length > reader->body_max)
        return fail(err, HVD_ERR_PROTOCOL,
                    "frame of type %u with %u bytes, at most %zu are allowed", type, length,
                    reader->body_max);
    return HVD_OK;
}

/* Removes the sum. */
static int check_body(struct frame *frame, struct err *err)
{
    struct wire_reader sum;
    if (frame->length < FRAME_SUM_SIZE)
        return fail(err, HVD_ERR_PROTOCOL, "frame of type %u without a sum", frame->type);
    frame->length -= FRAME_SUM_SIZE;
    wire_reader_init(&sum, frame->body + frame->length, FRAME_SUM_SIZE);
    size_t nbytes = summed_bytes(frame->type, frame->length);
    if (wire_get_u32(&sum) == checksum_bytes(frame->body, nbytes))
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "a frame of type %u has been changed on the way",
                frame->type);
}

int frame_reader_next(struct frame_reader *reader, struct frame *frame, struct err *err)
{
    size_t unread = reader->end - reader->start;
    if (reader->secret && reader->start > 0) /* the frames before this one have been used */
        explicit_bzero(reader->data, reader->start);
    if (unread == 0)
        return 0;
    const unsigned char *at = reader->data + reader->start;
    if (memcmp(at, magic, unread < sizeof magic ? unread : sizeof magic) != 0) {
        char quoted[QUOTED_SIZE];
        return fail(
            err, HVD_ERR_PROTOCOL, "not a frame: '%s'",
            quote_token(quoted, sizeof quoted, (const char *)at, unread < 32 ? unread : 32));
    }
    if (unread < FRAME_HEADER_SIZE)
        return 0;
    struct wire_reader header;
    wire_reader_init(&header, at + sizeof magic, FRAME_HEADER_SIZE - sizeof magic);
    uint16_t type = wire_get_u16(&header);
    uint16_t flags = wire_get_u16(&header);
    uint32_t length = wire_get_u32(&header);
    int rc = check_header(reader, type, flags, length, err);
    if (rc < 0)
        return rc;
    if (unread < FRAME_HEADER_SIZE + (size_t)length)
        return 0;
    *frame = (struct frame){ type, length, at + FRAME_HEADER_SIZE };
    reader->start += FRAME_HEADER_SIZE + (size_t)length;
    rc = reader->is_summed ? check_body(frame, err) : HVD_OK;
    return rc < 0 ? rc : 1;
}
