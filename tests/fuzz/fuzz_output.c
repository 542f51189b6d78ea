/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank prints, on its way to people: records with a prefix (output_lines.h), and the last
 * words that a message quotes (last_line.h).
 *
 *   u8: bit 0 a time stamp; bits 1 to 7, if all are set, the text comes at the end of a record that is as long as
 *   may be; u8 size of the pieces; the text
 *
 * Whatever it is: the records are the same however the text is cut into pieces; with prefixes and
 * marks taken away it is the same bytes, none lost, none added. The last words are the same however
 * it is cut, short, printable, UTF-8, and something that was said. */
#include "launcher/output/last_line.h"
#include "launcher/output/output_lines.h"
#include "lib/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char stamp[] = "Fri Nov 20 21:03:09 2026", prefix[] = "[3]<stderr>:";

/* ---- records ---- */

static void feed(struct text_buffer *out, const struct text_buffer *text, size_t piece,
                 const char *with_stamp)
{
    struct output_lines lines;
    output_lines_init(&lines, 3, "stderr");
    for (size_t at = 0; at < text->length; at += piece) {
        size_t left = text->length - at, length = left < piece ? left : piece;
        char *copy = malloc(length); /* so that a read beyond it is seen */
        PROMISE(copy);
        memcpy(copy, text->data + at, length);
        output_lines_feed(&lines, copy, length, with_stamp, out);
        PROMISE(lines.partial.length <= OUTPUT_RECORD_MAX);
        free(copy);
    }
    output_lines_end(&lines, with_stamp, out);
    output_lines_fini(&lines);
}

/* Is there `start` at `*at`? Goes on behind it. */
static bool take(const struct text_buffer *out, size_t *at, const char *start)
{
    size_t length = strlen(start);
    if (out->length - *at < length || memcmp(out->data + *at, start, length) != 0)
        return false;
    *at += length;
    return true;
}

/* How long the record at `at` is, of the text that it must be. */
static size_t record_length(const char *text, size_t left)
{
    size_t length = 0;
    while (length < left && length < OUTPUT_RECORD_MAX && text[length] != '\n' &&
           text[length] != '\r')
        length++;
    bool ends = length < left && (text[length] == '\n' || text[length] == '\r');
    return length + ends;
}

static void check_records(const struct text_buffer *out, const struct text_buffer *text,
                          const char *with_stamp)
{
    size_t at = 0, done = 0;
    while (done < text->length) {
        const char *expected = text->data + done;
        size_t left = text->length - done, length = record_length(expected, left);
        char last = expected[length - 1];
        bool cut = length < left && last != '\n' && last != '\r';
        PROMISE(!with_stamp || take(out, &at, with_stamp));
        PROMISE(take(out, &at, prefix));
        PROMISE(out->length - at >= length && memcmp(out->data + at, expected, length) == 0);
        at += length;
        PROMISE(!cut || take(out, &at, "\\\n"));
        done += length;
    }
    PROMISE(at == out->length);
}

/* ---- last words ---- */

static void say(char *said, const struct text_buffer *text, size_t piece)
{
    struct last_line words = { .length = 0 };
    for (size_t at = 0; at < text->length; at += piece) {
        size_t left = text->length - at;
        last_line_feed(&words, text->data + at, left < piece ? left : piece);
    }
    const char *last = last_line_text(&words);
    PROMISE(strlen(last) <= LAST_LINE_MAX);
    strcpy(said, last);
}

static void check_words(const char *said)
{
    for (size_t left = strlen(said), length; left > 0; said += length, left -= length) {
        length = text_utf8_length(said, left);
        PROMISE(length > 0);
        PROMISE((unsigned char)*said >= ' ' && *said != 0x7f);
    }
}

static void take_words(const struct text_buffer *text, size_t piece)
{
    enum { ALL_IS_SEEN = 16 * 1024 };
    char whole[LAST_LINE_MAX + 1], pieces[LAST_LINE_MAX + 1];
    say(whole, text, text->length);
    say(pieces, text, piece);
    check_words(whole);
    check_words(pieces);
    PROMISE(text->length > ALL_IS_SEEN || strcmp(whole, pieces) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    struct text_buffer text = { 0 }, whole = { 0 }, pieces = { 0 };
    uint8_t how = fuzz_u8(&input);
    size_t piece = 1 + fuzz_u8(&input), filler = how >> 1 == 127 ? OUTPUT_RECORD_MAX - 1 : 0;
    const char *with_stamp = how & 1 ? stamp : NULL;
    if (filler > 0) { /* a record at the limit of what fits */
        memset(text_buffer_reserve(&text, filler), 'x', filler);
        text.length += filler;
        piece *= 8192;
    }
    text_buffer_put(&text, input.at, input.left);
    if (text.length > 0) {
        feed(&whole, &text, text.length, with_stamp);
        feed(&pieces, &text, piece, with_stamp);
        PROMISE(whole.length == pieces.length);
        PROMISE(memcmp(whole.data, pieces.data, whole.length) == 0);
        check_records(&whole, &text, with_stamp);
        take_words(&text, piece);
    }
    text_buffer_fini(&text);
    text_buffer_fini(&whole);
    text_buffer_fini(&pieces);
    return 0;
}
