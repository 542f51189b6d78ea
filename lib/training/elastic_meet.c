/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of an elastic job meet: all make the same call, a commit with the same values, and know
 * equally whether hosts were added or removed.
 *
 *   One allreduce (MAX) of what was heard of hosts, and of a key and its complement. If these are
 *   complements of each other afterwards, the keys of all ranks were equal. Only if they were not,
 *   the ranks compare lines of text, so that the error names ranks and values.
 *
 * All calls use this one collective, so a rank that ends its training while others commit is an
 * error and not a deadlock. Fails as collectives do, and with HVD_ERR_MISMATCH. */
#include "lib/training/elastic_impl.h"

#include "lib/base/auth.h"
#include "lib/reduce/reduce.h"
#include "lib/training/agreement.h"
#include "lib/training/call.h"
#include "lib/training/parameters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct comparison {
    unsigned char removed, added; /* 0 or 1 */
    struct comparison_key {
        unsigned char call, values[DIGEST_SIZE];
    } key;
    unsigned char complement[sizeof(struct comparison_key)];
};

static const char *call_name(enum elastic_call call)
{
    static const char *const names[] = { [ELASTIC_COMMIT] = "commit",
                                         [ELASTIC_CHECK] = "check of host updates",
                                         [ELASTIC_END] = "end of training" };
    return names[call];
}

static void comparison_init(struct comparison *comparison, const struct hvd_elastic_state *state,
                            enum elastic_call call, int updated)
{
    *comparison = (struct comparison){ .removed = (updated & HVD_HOSTS_REMOVED) != 0,
                                       .added = (updated & HVD_HOSTS_ADDED) != 0 };
    comparison->key.call = (unsigned char)call;
    if (call == ELASTIC_COMMIT) /* the copy begins with the values */
        auth_digest(comparison->key.values, state->store.block, state->store.values_size);
    for (size_t i = 0; i < sizeof comparison->complement; i++)
        comparison->complement[i] = (unsigned char)~((unsigned char *)&comparison->key)[i];
}

static bool comparison_agrees(const struct comparison *comparison)
{
    for (size_t i = 0; i < sizeof comparison->complement; i++)
        if ((((const unsigned char *)&comparison->key)[i] ^ comparison->complement[i]) != 0xff)
            return false;
    return true;
}

/* ---- disagreement ---- */

/* A number of any type, aligned. */
union number {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
};

static void number_format(char text[64], const union number *number, enum hvd_dtype dtype)
{
    if (dtype == HVD_FLOAT32)
        snprintf(text, 64, "%.9g", (double)number->f32);
    else if (dtype == HVD_FLOAT64)
        snprintf(text, 64, "%.17g", number->f64);
    else if (dtype == HVD_FLOAT16 || dtype == HVD_BFLOAT16)
        snprintf(text, 64, "0x%04x", (unsigned)number->u16);
    else
        snprintf(text, 64, "%" PRId64,
                 dtype == HVD_INT8     ? number->i8
                 : dtype == HVD_UINT16 ? number->u16
                 : dtype == HVD_INT16  ? number->i16
                 : dtype == HVD_INT32  ? number->i32
                 : dtype == HVD_INT64  ? number->i64
                                       : (int64_t)number->u8);
}

/* "step = 12\n" */
static void meet_put_value(struct wire_writer *lines, const struct hvd_scalar *value)
{
    char text[64];
    union number number;
    memcpy(&number, value->value, dtype_size((int)value->dtype));
    number_format(text, &number, value->dtype);
    name_put(lines, value->name);
    wire_put_bytes(lines, " = ", 3);
    wire_put_bytes(lines, text, strlen(text));
    wire_put_u8(lines, '\n');
}

static int meet_explain(const struct hvd_elastic_state *state, enum elastic_call call,
                        struct err *err)
{
    struct wire_writer lines = { 0 };
    struct err own = { .code = HVD_OK };
    const char *name = call_name(call);
    wire_put_bytes(&lines, "call ", 5);
    wire_put_bytes(&lines, name, strlen(name));
    wire_put_bytes(&lines, "\n", 1);
    for (int i = 0; call == ELASTIC_COMMIT && i < state->nvalues; i++)
        meet_put_value(&lines, &state->values[i]);
    wire_put_u8(&lines, '\0');
    if (lines.failed)
        fail(&own, HVD_ERR_NOMEM, "out of memory");
    int rc = agreement_conclude("elastic.meet", 0, &own,
                                lines.failed ? "" : (const char *)lines.data, err);
    wire_writer_fini(&lines);
    if (rc == HVD_OK) /* values that look alike, e.g. two kinds of NaN */
        return fail(err, HVD_ERR_MISMATCH, "the values of the ranks differ");
    return rc;
}

int elastic_meet(const struct hvd_elastic_state *state, enum elastic_call call, int *updated,
                 struct err *err)
{
    struct comparison comparison;
    int heard = call_answer(hvd_hosts_updated(), err);
    if (heard < 0)
        return heard;
    comparison_init(&comparison, state, call, heard);
    int rc = call_max("hvd.elastic.meet", 0, &comparison, sizeof comparison, HVD_UINT8, err);
    if (rc < 0)
        return rc;
    *updated =
        (comparison.removed ? HVD_HOSTS_REMOVED : 0) | (comparison.added ? HVD_HOSTS_ADDED : 0);
    return comparison_agrees(&comparison) ? HVD_OK : meet_explain(state, call, err);
}
