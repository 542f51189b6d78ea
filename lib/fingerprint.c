/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank believes it is doing; see fingerprint.h. */
#include "lib/fingerprint.h"

#include "lib/base/place.h"
#include "lib/base/wire.h"
#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {
    [COLLECTIVE_ALLREDUCE] = "allreduce",
    [COLLECTIVE_BROADCAST] = "broadcast",
    [COLLECTIVE_ALLGATHER] = "allgather",
    [COLLECTIVE_BARRIER] = "barrier",
};

/* FNV-1a: apart from accidents, equal only for equal names. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

static size_t shown_length(const struct fingerprint *print)
{
    return print->name_length < FINGERPRINT_NAME ? print->name_length : FINGERPRINT_NAME;
}

void fingerprint_set_name(struct fingerprint *print, const char *name)
{
    print->name_length = strlen(name);
    print->name_hash = hash_of(name);
    memset(print->name, 0, sizeof print->name);
    memcpy(print->name, name, shown_length(print));
}

void fingerprint_encode(unsigned char bytes[FINGERPRINT_SIZE], const struct fingerprint *print)
{
    struct wire_writer writer = { .data = bytes, .capacity = FINGERPRINT_SIZE };
    wire_put_bytes(&writer, "HVDC", 4);
    wire_put_u8(&writer, (uint8_t)print->kind);
    wire_put_u8(&writer, (uint8_t)print->dtype);
    wire_put_u8(&writer, (uint8_t)print->op);
    wire_put_u8(&writer, (uint8_t)print->name_length);
    wire_put_u64(&writer, print->number);
    wire_put_u64(&writer, print->count);
    wire_put_i32(&writer, print->root);
    wire_put_i32(&writer, print->rank);
    wire_put_u64(&writer, print->name_hash);
    wire_put_bytes(&writer, print->name, FINGERPRINT_NAME);
}

int fingerprint_decode(struct fingerprint *print, const unsigned char bytes[FINGERPRINT_SIZE],
                       struct err *err)
{
    struct wire_reader reader;
    wire_reader_init(&reader, bytes, FINGERPRINT_SIZE);
    if (memcmp(wire_get_bytes(&reader, 4), "HVDC", 4) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "what came is not the beginning of a collective");
    print->kind = wire_get_u8(&reader);
    print->dtype = wire_get_u8(&reader);
    print->op = wire_get_u8(&reader);
    print->name_length = wire_get_u8(&reader);
    print->number = wire_get_u64(&reader);
    print->count = wire_get_u64(&reader);
    print->root = wire_get_i32(&reader);
    print->rank = wire_get_i32(&reader);
    print->name_hash = wire_get_u64(&reader);
    memcpy(print->name, wire_get_bytes(&reader, FINGERPRINT_NAME), FINGERPRINT_NAME);
    if (print->kind < COLLECTIVE_ALLREDUCE || print->kind > COLLECTIVE_BARRIER)
        return fail(err, HVD_ERR_PROTOCOL, "an unknown kind of collective, %d", (int)print->kind);
    return HVD_OK;
}

char *fingerprint_label(char label[FINGERPRINT_LABEL], const struct fingerprint *print)
{
    char quoted[QUOTED_SIZE];
    size_t shown = shown_length(print);
    quote_token(quoted, sizeof quoted, print->name, shown);
    if (print->name_length == 0)
        snprintf(label, FINGERPRINT_LABEL, "%s", kinds[print->kind]);
    else
        snprintf(label, FINGERPRINT_LABEL, "%s '%s%s'", kinds[print->kind], quoted,
                 shown < print->name_length ? "..." : "");
    return label;
}

static bool same_call(const struct fingerprint *a, const struct fingerprint *b)
{
    return a->kind == b->kind && a->name_hash == b->name_hash && a->name_length == b->name_length;
}

/* `a` has the lower rank. */
static int compare_in_order(const struct fingerprint *a, const struct fingerprint *b,
                            struct err *err)
{
    char label[FINGERPRINT_LABEL], label_b[FINGERPRINT_LABEL];
    fingerprint_label(label, a);
    if (a->number != b->number)
        return fail(err, HVD_ERR_PROTOCOL,
                    "rank %d is at collective %" PRIu64 ", rank %d at %" PRIu64, a->rank, a->number,
                    b->rank, b->number);
    if (!same_call(a, b))
        return fail(err, HVD_ERR_MISMATCH, "rank %d called %s, rank %d called %s", a->rank, label,
                    b->rank, fingerprint_label(label_b, b));
    if (a->count != b->count || a->dtype != b->dtype)
        return fail(err, HVD_ERR_MISMATCH,
                    "%s: rank %d has %" PRIu64 " %s, rank %d has %" PRIu64 " %s", label, a->rank,
                    a->count, dtype_name(a->dtype), b->rank, b->count, dtype_name(b->dtype));
    if (a->op != b->op)
        return fail(err, HVD_ERR_MISMATCH, "%s: rank %d wants the %s, rank %d the %s", label,
                    a->rank, op_name(a->op), b->rank, op_name(b->op));
    if (a->root != b->root)
        return fail(err, HVD_ERR_MISMATCH, "%s: rank %d has root %d, rank %d has root %d", label,
                    a->rank, a->root, b->rank, b->root);
    return HVD_OK;
}

int fingerprint_compare(const struct fingerprint *own, const struct fingerprint *other,
                        struct err *err)
{
    return own->rank < other->rank ? compare_in_order(own, other, err)
                                   : compare_in_order(other, own, err);
}
