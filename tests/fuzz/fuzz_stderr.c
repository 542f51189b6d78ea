/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank writes to stderr, read for a failure (stderr_failure.h).
 *
 *   u8 size of the pieces; u8: bit 0 a line as long as is read comes before the text, bits 1 to 7 seconds by which the
 *   clock moves on in the middle; u16 where the middle is; the text
 *
 * Whatever it is: nothing behind a piece is read; the failure is the same however the text is cut
 * into pieces; it has begun at a time at which bytes came, or there is none; a second end changes
 * nothing. */
#include "launcher/verdict/stderr_failure.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define BEGIN_US ((uint64_t)1000 * 1000)

struct text {
    char *bytes;
    size_t length, middle;
    uint64_t later_us;
};

static void feed_piece(struct stderr_reader *reader, const char *bytes, size_t length,
                       uint64_t now_us)
{
    char *copy = malloc(length); /* so that a read beyond it is seen */
    PROMISE(copy);
    memcpy(copy, bytes, length);
    stderr_reader_feed(reader, copy, length, now_us);
    PROMISE(reader->length <= STDERR_LINE_MAX && reader->failure.kind < STDERR_FAILURE_KINDS);
    free(copy);
}

static struct stderr_failure read_failure(const struct text *text, size_t piece)
{
    struct stderr_reader reader = { .length = 0 };
    for (size_t at = 0, length; at < text->length; at += length) {
        size_t end = at < text->middle ? text->middle : text->length;
        length = end - at < piece ? end - at : piece;
        feed_piece(&reader, text->bytes + at, length,
                   at < text->middle ? BEGIN_US : text->later_us);
    }
    stderr_reader_end(&reader);
    struct stderr_failure failure = reader.failure;
    stderr_reader_end(&reader);
    PROMISE(reader.failure.kind == failure.kind && reader.failure.began_us == failure.began_us);
    return failure;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    size_t piece = 1 + (size_t)fuzz_u8(&input);
    uint8_t how = fuzz_u8(&input);
    size_t middle = fuzz_u16(&input), filler = how & 1 ? STDERR_LINE_MAX : 0;
    struct text text = { .bytes = malloc(filler + input.left + 1),
                         .length = filler + input.left,
                         .later_us = BEGIN_US + (uint64_t)(how >> 1) * 1000 * 1000 };
    PROMISE(text.bytes);
    memset(text.bytes, 'x', filler);
    if (input.left > 0)
        memcpy(text.bytes + filler, input.at, input.left);
    text.middle = middle < text.length ? middle : text.length;
    struct stderr_failure whole = read_failure(&text, text.length),
                          pieces = read_failure(&text, piece);
    PROMISE(whole.kind == pieces.kind && whole.began_us == pieces.began_us);
    PROMISE(whole.kind == STDERR_NO_FAILURE
                ? whole.began_us == 0
                : whole.began_us == BEGIN_US || whole.began_us == text.later_us);
    free(text.bytes);
    return 0;
}
