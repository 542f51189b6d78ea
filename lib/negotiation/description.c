/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions: sizes, wire format, comparison; see description.h. */
#include "lib/negotiation/description.h"

#include "lib/negotiation/list_text.h"
#include "lib/reduce/reduce.h"

#include <inttypes.h>
#include <string.h>

enum operation_kind description_operation(const struct description *description)
{
    switch (description->kind) {
    case COLLECTIVE_ALLGATHER:
        return OPERATION_ALLGATHER;
    case COLLECTIVE_BROADCAST:
        return OPERATION_BROADCAST;
    case COLLECTIVE_ALLTOALL:
        return OPERATION_ALLTOALL;
    case COLLECTIVE_REDUCESCATTER:
        return OPERATION_REDUCESCATTER;
    default:
        return description->op == HVD_ADASUM ? OPERATION_ADASUM : OPERATION_ALLREDUCE;
    }
}

size_t shape_row_count(const struct shape *shape)
{
    size_t count = 1;
    for (int i = 1; i < shape->ndims; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

const char *name_shown(const char *name)
{
    return name + (name[0] == NAME_MARK[0]);
}

/* A later dimension of 0 makes all others irrelevant; if the first dimension is 0, one row must
 * still fit. */
bool shape_fits(const struct shape *shape, size_t element_size)
{
    size_t nbytes = element_size;
    for (int i = 1; i < shape->ndims; i++)
        if (shape->dims[i] == 0)
            return true;
    for (int i = 0; i < shape->ndims; i++) {
        uint64_t dim = i == 0 && shape->dims[0] == 0 ? 1 : (uint64_t)shape->dims[i];
        if (__builtin_mul_overflow(nbytes, dim, &nbytes) || nbytes > TENSOR_BYTES_MAX)
            return false;
    }
    return true;
}

char *shape_text(char text[SHAPE_TEXT], const struct shape *shape, bool own_rows)
{
    struct list_text list;
    list_text_init(&list, text, SHAPE_TEXT - 1);
    for (int i = 0; i < shape->ndims; i++)
        if (i == 0 && own_rows)
            list_text_add(&list, "[*");
        else
            list_text_add(&list, "%s%" PRId64, i == 0 ? "[" : ", ", shape->dims[i]);
    strcat(text, shape->ndims > 0 ? "]" : "[]");
    return text;
}

/* Compares bits, not numbers: NaN must be equal to itself. */
static uint64_t bits_of(double factor)
{
    uint64_t bits;
    memcpy(&bits, &factor, sizeof bits);
    return bits;
}

static double factor_of(uint64_t bits)
{
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return factor;
}

/* The kind of memory lies in two bits above the kind of collective. */
enum { FLAG_NAMELESS = 1, MEMORY_SHIFT = 1, MEMORY_MASK = 3, FLAGS = FLAG_NAMELESS | 6 };

static int flags_of(const struct description *description)
{
    return (description->nameless ? FLAG_NAMELESS : 0) | (int)description->memory << MEMORY_SHIFT;
}

void description_encode(struct wire_writer *writer, const struct description *description)
{
    const struct shape *shape = &description->shape;
    wire_put_u8(writer, (uint8_t)description->kind);
    wire_put_u8(writer, (uint8_t)description->dtype);
    wire_put_u8(writer, (uint8_t)description->op);
    wire_put_u8(writer, (uint8_t)flags_of(description));
    wire_put_i32(writer, description->root);
    wire_put_u64(writer, bits_of(description->prescale));
    wire_put_u64(writer, bits_of(description->postscale));
    wire_put_u64(writer, description->group);
    wire_put_u32(writer, description->group_size);
    wire_put_u64(writer, description->tag);
    wire_put_u8(writer, (uint8_t)shape->ndims);
    for (int i = 0; i < shape->ndims; i++)
        wire_put_u64(writer, (uint64_t)shape->dims[i]);
}

static int decode_shape(struct shape *shape, struct wire_reader *reader, struct err *err)
{
    int ndims = wire_get_u8(reader);
    if (ndims > HVD_DIMS_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a shape of %d dimensions", ndims);
    for (int i = 0; i < ndims; i++) {
        shape->dims[i] = (int64_t)wire_get_u64(reader);
        if (shape->dims[i] < 0)
            return fail(err, HVD_ERR_PROTOCOL, "dimension %d is %" PRId64, i, shape->dims[i]);
    }
    shape->ndims = ndims;
    return HVD_OK;
}

/* Only tensors are in memory, and only these can be left to the devices. */
static bool known_memory(const struct description *description)
{
    switch (description->memory) {
    case MEMORY_HOST:
        return true;
    case MEMORY_DEVICE:
        return collective_has_tensor(description->kind);
    case MEMORY_DEVICE_REDUCES:
        return collective_has_tensor(description->kind) &&
               (description->kind != COLLECTIVE_ALLREDUCE || description->op != HVD_ADASUM);
    default:
        return false;
    }
}

/* Checks that a decoded description is complete and possible. */
static int check_decoded(const struct description *description, int flags, struct err *err)
{
    const char *kind = collective_name(description->kind);
    if (!collective_is_known((int)description->kind))
        return fail(err, HVD_ERR_PROTOCOL, "collective %d is unknown", (int)description->kind);
    size_t element_size = dtype_size((int)description->dtype);
    if (element_size == 0)
        return fail(err, HVD_ERR_PROTOCOL, "%s of unknown element type %d", kind,
                    (int)description->dtype);
    if (description->op > HVD_PRODUCT)
        return fail(err, HVD_ERR_PROTOCOL, "%s with unknown operation %d", kind,
                    (int)description->op);
    if (flags & ~FLAGS)
        return fail(err, HVD_ERR_PROTOCOL, "%s with unknown flags 0x%x", kind, (unsigned)flags);
    if (!known_memory(description))
        return fail(err, HVD_ERR_PROTOCOL, "%s in memory of kind %d", kind,
                    (int)description->memory);
    if (description->root < 0)
        return fail(err, HVD_ERR_PROTOCOL, "%s from rank %d", kind, description->root);
    if (collective_has_tensor(description->kind) && !shape_fits(&description->shape, element_size))
        return fail(err, HVD_ERR_PROTOCOL, "%s of more than memory can hold", kind);
    return HVD_OK;
}

int description_decode(struct description *description, struct wire_reader *reader, struct err *err)
{
    *description = (struct description){ .kind = wire_get_u8(reader) };
    description->dtype = wire_get_u8(reader);
    description->op = wire_get_u8(reader);
    int flags = wire_get_u8(reader);
    description->nameless = flags & FLAG_NAMELESS;
    description->memory = (enum memory_kind)(flags >> MEMORY_SHIFT & MEMORY_MASK);
    description->root = wire_get_i32(reader);
    description->prescale = factor_of(wire_get_u64(reader));
    description->postscale = factor_of(wire_get_u64(reader));
    description->group = wire_get_u64(reader);
    description->group_size = wire_get_u32(reader);
    description->tag = wire_get_u64(reader);
    int rc = decode_shape(&description->shape, reader, err);
    if (reader->failed)
        return fail(err, HVD_ERR_PROTOCOL, "a description is cut short");
    return rc < 0 ? rc : check_decoded(description, flags, err);
}

static bool same_dims(const struct shape *a, const struct shape *b, int first)
{
    if (a->ndims != b->ndims)
        return false;
    for (int i = first; i < a->ndims; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool shape_agree(const struct shape *a, const struct shape *b, enum collective_kind kind)
{
    return same_dims(a, b, collective_has_own_rows(kind) ? 1 : 0);
}

bool description_same_factors(const struct description *a, const struct description *b)
{
    return bits_of(a->prescale) == bits_of(b->prescale) &&
           bits_of(a->postscale) == bits_of(b->postscale);
}

static bool same_but_shape(const struct description *a, const struct description *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->op == b->op && a->memory == b->memory &&
           a->root == b->root && description_same_factors(a, b) && a->group == b->group &&
           a->group_size == b->group_size && a->tag == b->tag;
}

bool description_agree(const struct description *a, const struct description *b)
{
    return same_but_shape(a, b) && shape_agree(&a->shape, &b->shape, a->kind);
}

bool description_equal(const struct description *a, const struct description *b)
{
    return same_but_shape(a, b) && same_dims(&a->shape, &b->shape, 0) && a->nameless == b->nameless;
}
