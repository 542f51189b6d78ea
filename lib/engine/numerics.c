/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are not finite; see numerics.h. */
#include "lib/engine/numerics.h"

#include "lib/base/log.h"
#include "lib/engine/engine_impl.h"
#include "lib/negotiation/pending.h"
#include "lib/reduce/reduce.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = 4096 }; /* elements that are checked before the first bad one is searched */

/* Checks floating-point numbers by their bits: NaN and infinities have an exponent of all ones. */
#define FIND(bits, name, exponent)                                                                 \
    static bool is_odd_##name(const unsigned char *at)                                             \
    {                                                                                              \
        bits element;                                                                              \
        memcpy(&element, at, sizeof element);                                                      \
        return (element & (exponent)) == (exponent);                                               \
    }                                                                                              \
    static size_t find_##name(const unsigned char *data, size_t count)                             \
    {                                                                                              \
        for (size_t start = 0; start < count; start += BLOCK) {                                    \
            size_t end = count - start < BLOCK ? count : start + BLOCK;                            \
            bool any = false;                                                                      \
            for (size_t i = start; i < end; i++)                                                   \
                any |= is_odd_##name(data + i * sizeof(bits));                                     \
            for (size_t i = start; i < end && any; i++)                                            \
                if (is_odd_##name(data + i * sizeof(bits)))                                        \
                    return i;                                                                      \
        }                                                                                          \
        return count;                                                                              \
    }                                                                                              \
    static const char *name_##name(const unsigned char *at)                                        \
    {                                                                                              \
        bits element, sign = (bits)((bits)1 << (8 * sizeof element - 1));                          \
        memcpy(&element, at, sizeof element);                                                      \
        if (element & (bits) ~(sign | (exponent)))                                                 \
            return "nan";                                                                          \
        return element & sign ? "-inf" : "inf";                                                    \
    }

FIND(uint16_t, float16, 0x7c00)
FIND(uint16_t, bfloat16, 0x7f80)
FIND(uint32_t, float32, UINT32_C(0x7f800000))
FIND(uint64_t, float64, UINT64_C(0x7ff0000000000000))

static const struct {
    size_t (*find)(const unsigned char *data, size_t count);
    const char *(*name)(const unsigned char *at); /* of the number that was found */
} types[DTYPES] = {
    [HVD_FLOAT16] = { find_float16, name_float16 },
    [HVD_BFLOAT16] = { find_bfloat16, name_bfloat16 },
    [HVD_FLOAT32] = { find_float32, name_float32 },
    [HVD_FLOAT64] = { find_float64, name_float64 },
};

size_t numerics_find(enum hvd_dtype dtype, const void *data, size_t count)
{
    return types[dtype].find ? types[dtype].find(data, count) : count;
}

/* True if this is the first report of the tensor. When the table is full, nothing is reported. */
static bool is_news(struct numerics *numerics, const struct tensor *tensor)
{
    uint64_t hash = name_hash(tensor->name, strlen(tensor->name)) + (uint64_t)tensor->set->id;
    for (int i = 0; i < numerics->ntold; i++)
        if (numerics->told[i] == hash)
            return false;
    if (numerics->ntold == NUMERICS_TOLD_MAX)
        return false;
    numerics->told[numerics->ntold++] = hash;
    return true;
}

static void warn(struct engine *engine, const struct tensor *tensor, const struct err *err)
{
    if (!is_news(&engine->numerics, tensor))
        return;
    bool last = engine->numerics.ntold == NUMERICS_TOLD_MAX;
    log_line(LOG_WARNING, engine->rank, "rank %d on %s: %s%s", engine->rank,
             engine->exchange.self.host, err->text,
             last ? "; of further tensors nothing is said" : "");
}

/* The error about the tensor; HVD_OK if all numbers are finite. */
static int find_odd(const struct tensor *tensor, struct err *err)
{
    const struct description *description = &tensor->description;
    size_t count = shape_count(&description->shape), size = dtype_size((int)description->dtype);
    bool reduces =
        description->kind == COLLECTIVE_ALLREDUCE || description->kind == COLLECTIVE_REDUCESCATTER;
    if (tensor->device || !reduces)
        return HVD_OK;
    size_t at = numerics_find(description->dtype, tensor->input, count);
    if (at == count)
        return HVD_OK;
    const unsigned char *element = (const unsigned char *)tensor->input + at * size;
    fail(err, HVD_ERR_INVALID, "element %zu of %zu is %s", at, count,
         types[description->dtype].name(element));
    return engine_context(description->kind, tensor->name, err);
}

int numerics_check(const struct tensor *tensor, struct err *err)
{
    struct engine *engine = tensor->set->engine;
    if (find_odd(tensor, err) == HVD_OK)
        return HVD_OK;
    if (engine->settings.check_numerics == SETTINGS_CHECK_FAIL) {
        engine_fail(engine, err);
        return err->code;
    }
    warn(engine, tensor, err);
    return HVD_OK;
}
