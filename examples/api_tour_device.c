/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's stops at accelerators: the simulated one of support/accelerator.h is registered, and
 * tensors in its memory, which the processor cannot touch, are reduced. Where Horovod has a build
 * for each accelerator, here its vendor fills in a table. */
#include "examples/api_tour.h"
#include "examples/support/accelerator.h"
#include "hvd_cuda.h"

enum { COUNT = 3, MEMORY = 1 << 20 };
static const size_t nbytes = COUNT * sizeof(float);

static void fill(struct tour *tour, double value)
{
    for (int i = 0; i < COUNT; i++)
        tour->input[i] = (float)value;
    accelerator_write(tour->accelerator, tour->on_device, tour->input, nbytes);
}

static void expect(struct tour *tour, double value)
{
    accelerator_read(tour->accelerator, tour->output, tour->on_device, nbytes);
    tour_elements(tour, tour->output, COUNT, value, 0);
}

static void register_device(struct tour *tour, int arg)
{
    const struct accelerator_options options = { .memory = MEMORY };
    struct problem problem = { 0 };
    (void)arg;
    if (accelerator_create(&tour->accelerator, &options, &problem) == 0)
        tour->on_device = accelerator_alloc(tour->accelerator, nbytes);
    if (tour->on_device == NULL) {
        tour_say(tour, "%s", problem.text);
        tour_expect(tour, false);
        return;
    }
    tour->device = hvd_register_device(accelerator_table(tour->accelerator));
    tour_number(tour, tour->device, 1);
}

/* The simulated accelerator always works. */
static int failure(void *context)
{
    (void)context;
    return 0;
}

static void extend_device(struct tour *tour, int arg)
{
    const struct hvd_device_extension extension = { .size = sizeof extension, .failure = failure };
    (void)arg;
    tour_status(tour, hvd_extend_device(tour->device, &extension));
}

static void allreduce(struct tour *tour, int arg)
{
    const int64_t rows = COUNT;
    struct hvd_tensor tensor = { .name = "tour.device",
                                 .input = tour->on_device,
                                 .output = tour->on_device,
                                 .dtype = HVD_FLOAT32,
                                 .ndims = 1,
                                 .dims = &rows,
                                 .device = tour->device };
    (void)arg;
    fill(tour, tour->rank + 1);
    if (tour_status(tour, hvd_allreduce_async(&tensor, HVD_SUM, NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait(tour->handle)))
        expect(tour, tour->size * (tour->size + 1) / 2.0);
}

static int keep(void *arg)
{
    (void)arg;
    return 0;
}

/* The gradient is there when the accelerator has come to the event. */
static bool train(struct tour *tour, void *weight, void *event)
{
    const int64_t rows = COUNT;
    struct hvd_parameter parameter = { .name = "tour.on_device",
                                       .data = weight,
                                       .gradient = tour->on_device,
                                       .dtype = HVD_FLOAT32,
                                       .ndims = 1,
                                       .dims = &rows,
                                       .device = tour->device };
    if (!tour_status(tour, hvd_optimizer_create(&parameter, 1, NULL, keep, NULL, &tour->optimizer)))
        return false;
    fill(tour, 2 * (tour->rank + 1));
    accelerator_record(tour->accelerator, event);
    return tour_status(tour, hvd_optimizer_ready_after(tour->optimizer, 0, event)) &&
           tour_status(tour, hvd_optimizer_step(tour->optimizer));
}

static void ready_after(struct tour *tour, int arg)
{
    const struct hvd_device *table = accelerator_table(tour->accelerator);
    void *weight = accelerator_alloc(tour->accelerator, nbytes);
    void *event = table->create_event(table->context);
    (void)arg;
    if (train(tour, weight, event))
        expect(tour, tour->size + 1);
    hvd_optimizer_destroy(tour->optimizer);
    tour->optimizer = NULL;
    table->destroy_event(table->context, event);
    accelerator_free(tour->accelerator, weight);
}

static void unregister_device(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_unregister_device(tour->device));
    accelerator_free(tour->accelerator, tour->on_device);
    accelerator_destroy(tour->accelerator);
    tour->accelerator = NULL;
    tour->device = 0;
}

static void default_device(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, hvd_default_device() >= 0, 1);
}

/* Fills memory of the GPU from the host, and reads it again. */
static int use_gpu(int gpu)
{
    float put[8] = { 1, 2, 3 }, got[8] = { 0 };
    char name[64];
    void *memory;
    int rc = hvd_cuda_describe(gpu, NULL, name, sizeof name);
    if (rc != HVD_OK || (rc = hvd_cuda_alloc(gpu, sizeof put, &memory)) != HVD_OK)
        return rc;
    rc = hvd_cuda_copy(gpu, memory, put, sizeof put);
    if (rc == HVD_OK)
        rc = hvd_cuda_copy(gpu, got, memory, sizeof put);
    if (rc == HVD_OK && got[2] != put[2])
        rc = HVD_ERR_SYSTEM;
    int freed = hvd_cuda_free(gpu, memory);
    return rc != HVD_OK ? rc : freed;
}

/* Most machines have no GPU; then the library says why it cannot be opened. */
static void open_gpu(struct tour *tour, int arg)
{
    int gpu = 0;
    int rc = hvd_cuda_open(HVD_CUDA_BY_LOCAL_RANK, &gpu);
    if (rc == HVD_OK) {
        rc = arg ? use_gpu(gpu) : HVD_OK;
        int closed = hvd_cuda_close(gpu);
        tour_status(tour, rc != HVD_OK ? rc : closed);
    } else
        tour_say(tour, "%s",
                 rc == HVD_ERR_SYSTEM || rc == HVD_ERR_ENVIRONMENT ? "no GPU" : "wrong");
}

static const struct tour_row rows[] = {
    { "HOROVOD_WITH_... when it is built", "hvd_register_device()", register_device, 0 },
    { "-", "hvd_extend_device()", extend_device, 0 },
    { "allreduce(x on a device)", "hvd_allreduce_async(device)", allreduce, 0 },
    { "loss.backward() on a device", "hvd_optimizer_ready_after()", ready_after, 0 },
    { "-", "hvd_unregister_device()", unregister_device, 0 },
    { "-", "hvd_default_device()", default_device, 0 },
    { "torch.cuda.set_device(local_rank())", "hvd_cuda_open(), hvd_cuda_close()", open_gpu, 0 },
    { "torch.cuda.get_device_name()", "hvd_cuda_describe(), hvd_cuda_alloc()", open_gpu, 1 },
    { "tensor.to()", "hvd_cuda_copy(), hvd_cuda_free()", open_gpu, 1 },
};
const struct tour_part tour_device = { "Accelerators", rows, sizeof rows / sizeof *rows };
