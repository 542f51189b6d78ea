/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets share; see fuzz.h. */
#include "tests/fuzz/fuzz.h"

#include "lib/base/text.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_broken(const char *promise, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
    abort();
}

/* ---- random numbers that are not ---- */

static uint64_t numbers_given;

static const char *random_name(void)
{
    return "the same numbers each time";
}

static uint32_t random_number(void)
{
    return (uint32_t)((++numbers_given * 0x9e3779b97f4a7c15U) >> 32);
}

static void random_fill(void *const buffer, const size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)buffer)[i] = (unsigned char)random_number();
}

static struct randombytes_implementation not_random = {
    .implementation_name = random_name,
    .random = random_number,
    .buf = random_fill,
};

static void start_sodium(void)
{
    static bool started;
    if (!started && (randombytes_set_implementation(&not_random) != 0 || sodium_init() < 0))
        abort();
    started = true;
}

/* ---- drawing from the input ---- */

struct fuzz_input fuzz_begin(const uint8_t *data, size_t size)
{
    start_sodium();
    numbers_given = 0;
    return (struct fuzz_input){ data, size };
}

uint8_t fuzz_u8(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

uint16_t fuzz_u16(struct fuzz_input *input)
{
    uint16_t low = fuzz_u8(input);
    return (uint16_t)(low | fuzz_u8(input) << 8);
}

int32_t fuzz_i32(struct fuzz_input *input)
{
    uint32_t low = fuzz_u16(input);
    return (int32_t)(low | (uint32_t)fuzz_u16(input) << 16);
}

uint8_t *fuzz_bytes(struct fuzz_input *input, size_t *length)
{
    *length = fuzz_u8(input);
    if (*length > input->left)
        *length = input->left;
    uint8_t *bytes = malloc(*length);
    if (!bytes && *length > 0)
        abort();
    if (*length > 0)
        memcpy(bytes, input->at, *length);
    input->at += *length;
    input->left -= *length;
    return bytes;
}

void fuzz_text(struct fuzz_input *input, char *text, size_t size)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    if (length > size - 1)
        length = size - 1;
    if (length > 0)
        memcpy(text, bytes, length);
    text[length] = '\0';
    free(bytes);
}

uint8_t *fuzz_rest(struct fuzz_input *input, size_t *length)
{
    uint8_t *bytes = malloc(input->left);
    *length = input->left;
    if (!bytes && *length > 0)
        abort();
    if (*length > 0)
        memcpy(bytes, input->at, *length);
    input->at += *length;
    input->left = 0;
    return bytes;
}

char *fuzz_rest_text(struct fuzz_input *input)
{
    char *text = strndup((const char *)input->at, input->left);
    if (!text)
        abort();
    input->at += input->left;
    input->left = 0;
    return text;
}

char *fuzz_line(char **text)
{
    char *line = *text && **text ? *text : NULL;
    char *end = line ? strchr(line, '\n') : NULL;
    if (end)
        *end++ = '\0';
    *text = end;
    return line;
}

void fuzz_check_text(const char *text)
{
    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        length = text_utf8_length(text, left);
        PROMISE(length > 0 && (unsigned char)*text >= ' ' && *text != 0x7f);
    }
}

void fuzz_check_line(const char *line, const char *start)
{
    PROMISE(strncmp(line, start, strlen(start)) == 0);
    PROMISE(strlen(line) > strlen(start));
    for (; *line; line++)
        PROMISE(*line >= ' ' && *line <= '~');
}

/* ---- messages ---- */

void fuzz_round_trip(fuzz_again_fn *again, const void *body, size_t length)
{
    struct wire_reader reader;
    struct wire_writer once = { 0 }, twice = { 0 };
    wire_reader_init(&reader, body, length);
    if (again(&reader, &once)) {
        wire_reader_init(&reader, once.data, once.length);
        PROMISE(again(&reader, &twice));
        PROMISE(once.length == twice.length);
        PROMISE(once.length == 0 || memcmp(once.data, twice.data, once.length) == 0);
    }
    wire_writer_fini(&once);
    wire_writer_fini(&twice);
}
