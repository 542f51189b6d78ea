/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of what there is, and the calls that take them. Fail when a file cannot be written or
 * read, is damaged, or is that of something else; and when a rank is lost. */
#include "examples/fashion_state.h"

#include <stdio.h>

#include "examples/support/agreement.h"

/* A vector as long as the parameters', in the same parts. */
static void add_moments(struct fashion_state *state, const struct network *network,
                        const char *name, float *values)
{
    for (int i = 0; i < NETWORK_TENSORS; i++) {
        const struct hvd_parameter *parameter = &network->tensors[i];
        struct hvd_parameter *tensor = &state->tensors[state->tensor_count];
        char *its_name = state->names[state->tensor_count++ - NETWORK_TENSORS];
        snprintf(its_name, FASHION_NAME_SIZE, "adam.%s.%s", name, parameter->name);
        *tensor = *parameter;
        tensor->name = its_name;
        tensor->data = values + ((float *)parameter->data - network->parameter_values);
        tensor->gradient = NULL;
    }
}

void fashion_state_init(struct fashion_state *state, struct network *network,
                        struct optimizer *optimizer)
{
    *state = (struct fashion_state){
        .scalars = { { "steps", &optimizer->steps, HVD_INT64 },
                     { "epoch", &state->epoch, HVD_INT64 },
                     { "processed", &state->processed, HVD_INT64 } },
    };
    for (int i = 0; i < NETWORK_TENSORS; i++)
        state->tensors[state->tensor_count++] = network->tensors[i];
    if (optimizer->kind != OPTIMIZER_ADAM)
        return;
    add_moments(state, network, "mean", optimizer->mean);
    add_moments(state, network, "variance", optimizer->variance);
}

int fashion_state_broadcast(const struct fashion_state *state, struct problem *problem)
{
    if (hvd_broadcast_parameters(state->tensors, NETWORK_TENSORS, 0, 0) != HVD_OK)
        return problem_from_hvd(problem, "broadcasting the parameters");
    if (hvd_broadcast_optimizer_state(state->tensors + NETWORK_TENSORS,
                                      state->tensor_count - NETWORK_TENSORS, state->scalars,
                                      FASHION_SCALARS, 0, 0) != HVD_OK)
        return problem_from_hvd(problem, "broadcasting the optimizer's state");
    return 0;
}

static struct hvd_checkpoint everything(const struct fashion_state *state)
{
    return (struct hvd_checkpoint){ .tensors = state->tensors,
                                    .ntensors = state->tensor_count,
                                    .scalars = state->scalars,
                                    .nscalars = FASHION_SCALARS };
}

int fashion_state_save(const struct fashion_state *state, const char *file, struct problem *problem)
{
    const struct hvd_checkpoint checkpoint = everything(state);
    if (hvd_checkpoint_save(file, &checkpoint, 0) != HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "%s", hvd_last_error());
    return 0;
}

int fashion_state_restore(struct fashion_state *state, const char *file, struct problem *problem)
{
    const struct hvd_checkpoint checkpoint = everything(state);
    if (hvd_checkpoint_restore(file, &checkpoint, 0) != HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "%s", hvd_last_error());
    return 0;
}
