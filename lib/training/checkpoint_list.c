/* SPDX-License-Identifier: Apache-2.0 */
/* A program's list for a checkpoint; see checkpoint_list.h. lib/training/parameters.h describes
 * what can be wrong with a list. */
#include "lib/training/checkpoint_list.h"

#include "lib/training/checkpoint_layout.h"
#include "lib/training/parameters.h"

#include <stdlib.h>
#include <string.h>

static void take_tensor(struct checkpoint_list *list, const struct hvd_parameter *tensor)
{
    struct checkpoint_entry *entry = &list->entries[list->count];
    *entry = (struct checkpoint_entry){ .kind = CHECKPOINT_TENSOR,
                                        .dtype = tensor->dtype,
                                        .ndims = tensor->ndims };
    strcpy(entry->name, tensor->name); /* it has been checked */
    for (int i = 0; i < tensor->ndims; i++)
        entry->dims[i] = tensor->dims[i];
    checkpoint_entry_measure(entry);
    list->memory[list->count++] = (struct checkpoint_memory){ tensor->data, tensor->device };
}

static void take_scalar(struct checkpoint_list *list, const struct hvd_scalar *scalar)
{
    take_tensor(list, &(const struct hvd_parameter){
                          .name = scalar->name, .data = scalar->value, .dtype = scalar->dtype });
    list->entries[list->count - 1].kind = CHECKPOINT_SCALAR;
}

static int checkpoint_list_make_room(struct checkpoint_list *list, size_t count, struct err *err)
{
    list->entries = calloc(count + 1, sizeof *list->entries);
    list->memory = calloc(count + 1, sizeof *list->memory);
    return list->entries && list->memory ? HVD_OK : fail(err, HVD_ERR_NOMEM, "out of memory");
}

static int checkpoint_list_fill(struct checkpoint_list *list,
                                const struct hvd_checkpoint *checkpoint,
                                const struct named *tensors, const struct named *scalars,
                                struct err *err)
{
    size_t count = (size_t)checkpoint->ntensors + (size_t)checkpoint->nscalars;
    int rc = checkpoint_list_make_room(list, count, err);
    for (int i = 0; rc == HVD_OK && i < checkpoint->ntensors; i++)
        take_tensor(list, &checkpoint->tensors[tensors[i].place]);
    for (int i = 0; rc == HVD_OK && i < checkpoint->nscalars; i++)
        take_scalar(list, &checkpoint->scalars[scalars[i].place]);
    return rc;
}

int checkpoint_list_init(struct checkpoint_list *list, const struct hvd_checkpoint *checkpoint,
                         struct err *err)
{
    struct named *tensors = NULL, *scalars = NULL;
    *list = (struct checkpoint_list){ 0 };
    int rc = parameters_sort(checkpoint->tensors, checkpoint->ntensors, &tensors, err);
    if (rc == HVD_OK)
        rc = scalars_sort(checkpoint->scalars, checkpoint->nscalars, &scalars, err);
    if (rc == HVD_OK)
        rc = checkpoint_list_fill(list, checkpoint, tensors, scalars, err);
    free(tensors);
    free(scalars);
    if (rc < 0)
        checkpoint_list_fini(list);
    return rc;
}

void checkpoint_list_fini(struct checkpoint_list *list)
{
    free(list->entries);
    free(list->memory);
    *list = (struct checkpoint_list){ 0 };
}

void checkpoint_list_put_lines(struct wire_writer *lines, const struct checkpoint_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct checkpoint_entry *entry = &list->entries[i];
        if (entry->kind == CHECKPOINT_TENSOR)
            parameter_put_line(lines, &(const struct hvd_parameter){ .name = entry->name,
                                                                     .dtype = entry->dtype,
                                                                     .ndims = entry->ndims,
                                                                     .dims = entry->dims });
        else
            scalar_put_line(
                lines, &(const struct hvd_scalar){ .name = entry->name, .dtype = entry->dtype });
    }
    wire_put_u8(lines, '\0');
}
