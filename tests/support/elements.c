/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any type as numbers; see elements.h. */
#include "tests/support/elements.h"

#include "tests/support/reduce_reference.h"

#include <string.h>

static const struct half_format *half_format(enum hvd_dtype dtype)
{
    return dtype == HVD_FLOAT16 ? &reference_float16 : &reference_bfloat16;
}

/* On any machine, the lowest bytes of an integer. */
static void put_integer(unsigned char *to, size_t size, int64_t value)
{
    int8_t one = (int8_t)value;
    int16_t two = (int16_t)value;
    int32_t four = (int32_t)value;
    const void *from = size == 1   ? (void *)&one
                       : size == 2 ? (void *)&two
                       : size == 4 ? (void *)&four
                                   : (void *)&value;
    memcpy(to, from, size);
}

void element_put(enum hvd_dtype dtype, void *data, size_t i, double value)
{
    size_t size = hvd_dtype_size(dtype);
    unsigned char *to = (unsigned char *)data + i * size;
    float narrow = (float)value;
    uint16_t half;
    switch (dtype) {
    case HVD_FLOAT64:
        memcpy(to, &value, size);
        break;
    case HVD_FLOAT32:
        memcpy(to, &narrow, size);
        break;
    case HVD_FLOAT16:
    case HVD_BFLOAT16:
        half = reference_narrow(half_format(dtype), narrow);
        memcpy(to, &half, size);
        break;
    default:
        put_integer(to, size, (int64_t)value);
    }
}

#define LOADED(type, from)                                                                         \
    ({                                                                                             \
        type loaded;                                                                               \
        memcpy(&loaded, from, sizeof loaded);                                                      \
        loaded;                                                                                    \
    })

double element_get(enum hvd_dtype dtype, const void *data, size_t i)
{
    const unsigned char *from = (const unsigned char *)data + i * hvd_dtype_size(dtype);
    switch (dtype) {
    case HVD_UINT8:
    case HVD_BOOL:
        return LOADED(uint8_t, from);
    case HVD_INT8:
        return LOADED(int8_t, from);
    case HVD_UINT16:
        return LOADED(uint16_t, from);
    case HVD_INT16:
        return LOADED(int16_t, from);
    case HVD_INT32:
        return LOADED(int32_t, from);
    case HVD_INT64:
        return (double)LOADED(int64_t, from);
    case HVD_FLOAT32:
        return (double)LOADED(float, from);
    case HVD_FLOAT64:
        return LOADED(double, from);
    default:
        return (double)reference_widen(half_format(dtype), LOADED(uint16_t, from));
    }
}

double element_rounding(enum hvd_dtype dtype)
{
    switch (dtype) {
    case HVD_FLOAT16:
        return 0x1p-11;
    case HVD_BFLOAT16:
        return 0x1p-8;
    case HVD_FLOAT32:
        return 0x1p-24;
    default:
        return 0x1p-53;
    }
}

uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

size_t random_less_than(uint64_t *state, size_t limit)
{
    return (size_t)(next_random(state) >> 16) % limit;
}

double random_number(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-52 - 1;
}
