/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a stream; see wire_fault.h. Running out of memory ends the program: it is a test's. */
#include "tests/proxy/wire_fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint64_t usual, least, most; /* of its argument; most 0: it has none */
} acts[WIRE_ACTS] = {
    [WIRE_NOTHING] = { "pass", 0, 0, 0 },
    [WIRE_CUT] = { "cut", 0, 0, 0 },
    [WIRE_RESET] = { "reset", 0, 0, 0 },
    [WIRE_FLIP] = { "flip", 0, 0, 7 },
    [WIRE_DOUBLE] = { "double", 1, 1, WIRE_RANGE_MAX },
    [WIRE_DROP] = { "drop", 1, 1, WIRE_RANGE_MAX },
    [WIRE_GARBAGE] = { "garbage", 1, 1, WIRE_RANGE_MAX },
    [WIRE_STALL] = { "stall", 0, 0, 3600000 },
};

const char *wire_act_name(enum wire_act act)
{
    return acts[act].name;
}

/* Decimal digits up to `end`, which the number must reach. */
static bool parse_number(const char *text, const char *end, uint64_t *number)
{
    char *stop;
    errno = 0;
    *number = strtoull(text, &stop, 10);
    return text[0] >= '0' && text[0] <= '9' && stop == end && errno == 0;
}

static const char *parse_argument(struct wire_fault *fault, const char *text)
{
    uint64_t least = acts[fault->act].least, most = acts[fault->act].most;
    fault->argument = acts[fault->act].usual;
    if (!*text)
        return NULL;
    if (most == 0)
        return "nothing behind this fault";
    if (!parse_number(text + 1, text + strlen(text), &fault->argument) || fault->argument < least ||
        fault->argument > most)
        return "a number that is in its range behind '='";
    return NULL;
}

const char *wire_fault_parse(struct wire_fault *fault, const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon || !parse_number(text, colon, &fault->offset))
        return "OFFSET:FAULT";
    const char *name = colon + 1;
    size_t length = strcspn(name, "=");
    for (int act = 0; act < WIRE_ACTS; act++)
        if (strlen(acts[act].name) == length && strncmp(acts[act].name, name, length) == 0) {
            fault->act = (enum wire_act)act;
            return parse_argument(fault, name + length);
        }
    return "cut, reset, flip, double, drop, garbage, stall or pass behind the offset";
}

void wire_stream_fini(struct wire_stream *stream)
{
    free(stream->copied);
    stream->copied = NULL;
}

static void append(struct wire_bytes *out, const unsigned char *data, size_t nbytes)
{
    if (nbytes == 0)
        return;
    if (out->length + nbytes > out->capacity) {
        out->capacity = 2 * (out->length + nbytes);
        out->data = realloc(out->data, out->capacity);
        if (!out->data)
            abort();
    }
    memcpy(out->data + out->length, data, nbytes);
    out->length += nbytes;
}

/* Bytes that look like nothing, and always the same. */
static void append_garbage(struct wire_bytes *out, uint64_t nbytes)
{
    uint32_t state = 1;
    for (uint64_t i = 0; i < nbytes; i++) {
        state = state * 1664525u + 1013904223u;
        unsigned char byte = (unsigned char)(state >> 24);
        append(out, &byte, 1);
    }
}

static void keep_copy(struct wire_stream *stream, uint64_t index, unsigned char byte)
{
    if (!stream->copied && !(stream->copied = malloc(stream->fault.argument)))
        abort();
    stream->copied[index] = byte;
}

/* One byte of those that the fault is about: number `index`, 0 at the offset. */
static void take_struck(struct wire_stream *stream, uint64_t index, unsigned char byte,
                        struct wire_bytes *out)
{
    const struct wire_fault *fault = &stream->fault;
    bool in_range = index < fault->argument;
    if (fault->act == WIRE_GARBAGE && index == 0)
        append_garbage(out, fault->argument);
    if (fault->act == WIRE_FLIP && index == 0)
        byte ^= (unsigned char)(1u << fault->argument);
    if (fault->act != WIRE_DROP || !in_range)
        append(out, &byte, 1);
    if (fault->act != WIRE_DOUBLE || !in_range)
        return;
    keep_copy(stream, index, byte);
    if (index + 1 == fault->argument)
        append(out, stream->copied, (size_t)fault->argument);
}

static enum wire_verdict strike(enum wire_act act)
{
    switch (act) {
    case WIRE_CUT:
        return WIRE_IS_CUT;
    case WIRE_RESET:
        return WIRE_IS_RESET;
    case WIRE_STALL:
        return WIRE_STALLS;
    default:
        return WIRE_GOES_ON;
    }
}

/* How far the fault reaches behind its offset, as far as bytes matter. */
static uint64_t reach(const struct wire_fault *fault)
{
    return fault->act == WIRE_DROP || fault->act == WIRE_DOUBLE ? fault->argument : 1;
}

enum wire_verdict wire_stream_take(struct wire_stream *stream, const unsigned char *data,
                                   size_t nbytes, struct wire_bytes *out, size_t *prompt)
{
    const struct wire_fault *fault = &stream->fault;
    enum wire_verdict verdict = WIRE_GOES_ON;
    size_t i = 0;
    for (; i < nbytes && stream->came < fault->offset + reach(fault); i++, stream->came++) {
        if (stream->came < fault->offset) {
            append(out, data + i, 1);
            continue;
        }
        if (stream->came == fault->offset) {
            verdict = strike(fault->act);
            *prompt = out->length;
        }
        if (verdict == WIRE_IS_CUT || verdict == WIRE_IS_RESET)
            return verdict;
        take_struck(stream, stream->came - fault->offset, data[i], out);
    }
    append(out, data + i, nbytes - i);
    stream->came += nbytes - i;
    return verdict;
}
