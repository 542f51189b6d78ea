/* SPDX-License-Identifier: Apache-2.0 */
/* The processor and the accelerator behind one face; see synthetic_machine.h. Fails when there is
 * no memory for an accelerator or its events, when it refuses a kernel, and when the library
 * refuses it. */
#include "examples/synthetic_machine.h"

#include <stdlib.h>
#include <string.h>

#include "examples/support/agreement.h"

static const double bytes_per_second = 12e9; /* 16 lanes of PCI Express 3.0 */

static int create_events(struct machine *machine, int tensors, struct problem *problem)
{
    const struct hvd_device *table = accelerator_table(machine->accelerator);
    for (int i = 0; i < tensors; i++)
        if ((machine->events[i] = table->create_event(table->context)) == NULL)
            return problem_nomem(problem);
    return 0;
}

int machine_init(struct machine *machine, bool accelerated, size_t memory, int tensors,
                 struct problem *problem)
{
    *machine = (struct machine){ 0 };
    if (!accelerated)
        return 0;
    struct accelerator_options options = { .memory = memory, .bytes_per_second = bytes_per_second };
    if (accelerator_create(&machine->accelerator, &options, problem) < 0 ||
        create_events(machine, tensors, problem) < 0)
        return -1;
    machine->device = hvd_register_device(accelerator_table(machine->accelerator));
    if (machine->device > 0)
        return 0;
    return problem_set(problem, EXIT_STATUS_DATA, "registering the accelerator: %s",
                       hvd_last_error());
}

float *machine_alloc(struct machine *machine, size_t count)
{
    size_t nbytes = count * sizeof(float);
    return machine->accelerator ? accelerator_alloc(machine->accelerator, nbytes) : malloc(nbytes);
}

void machine_free(struct machine *machine, float *memory)
{
    if (machine->accelerator)
        accelerator_free(machine->accelerator, memory);
    else
        free(memory);
}

float *machine_pointer(struct accelerator *accelerator, float *memory)
{
    return accelerator ? accelerator_pointer(accelerator, memory) : memory;
}

int machine_run(struct machine *machine, accelerator_kernel_fn *kernel, void *arg,
                struct problem *problem)
{
    if (!machine->accelerator)
        kernel(NULL, arg);
    else if (accelerator_run(machine->accelerator, kernel, arg) != 0)
        return problem_set(problem, EXIT_STATUS_DATA, "the accelerator refuses a kernel");
    return 0;
}

void machine_wait(struct machine *machine)
{
    if (machine->accelerator)
        accelerator_synchronize(machine->accelerator);
}

int machine_ready(struct machine *machine, struct hvd_optimizer *optimizer, int parameter,
                  struct problem *problem)
{
    void *event = machine->events[parameter];
    if (event && accelerator_record(machine->accelerator, event) != 0)
        return problem_set(problem, EXIT_STATUS_DATA, "the accelerator refuses an event");
    int rc = event ? hvd_optimizer_ready_after(optimizer, parameter, event)
                   : hvd_optimizer_ready(optimizer, parameter);
    return rc == HVD_OK ? 0 : problem_from_hvd(problem, "reducing a gradient");
}

void machine_read(struct machine *machine, float *to, const float *memory, size_t count)
{
    if (machine->accelerator)
        accelerator_read(machine->accelerator, to, memory, count * sizeof(float));
    else
        memcpy(to, memory, count * sizeof(float));
}

void machine_fini(struct machine *machine)
{
    if (!machine->accelerator)
        return;
    if (machine->device > 0)
        hvd_unregister_device(machine->device);
    const struct hvd_device *table = accelerator_table(machine->accelerator);
    for (int i = 0; i < MODEL_TENSORS_MAX; i++)
        if (machine->events[i] != NULL)
            table->destroy_event(table->context, machine->events[i]);
    accelerator_destroy(machine->accelerator);
}
