/* SPDX-License-Identifier: Apache-2.0 */
/* Reading Fashion-MNIST. Fails as idx_read() does, and when more images are asked for than there
 * are. */
#include "examples/fashion_data.h"

#include <stdio.h>

/* One pair of files, of which the first `limit` images are used; 0 for all. */
static int read_set(struct idx_set *set, const char *directory, const char *name, long limit,
                    struct problem *problem)
{
    static const struct idx_shape shape = { IMAGE_HEIGHT, IMAGE_WIDTH, IMAGE_CLASSES };
    char images[4096], labels[4096];
    snprintf(images, sizeof images, "%s/%s-images-idx3-ubyte.gz", directory, name);
    snprintf(labels, sizeof labels, "%s/%s-labels-idx1-ubyte.gz", directory, name);
    if (idx_read(set, &shape, images, labels, problem) < 0)
        return -1;
    if (limit > set->count)
        return problem_set(problem, EXIT_STATUS_DATA, "%s: %ld images, expected at least %ld",
                           images, set->count, limit);
    if (limit > 0)
        set->count = limit;
    return 0;
}

int fashion_data_read(struct fashion_data *data, const char *directory, long limit, long test_limit,
                      struct problem *problem)
{
    if (read_set(&data->train, directory, "train", limit, problem) < 0)
        return -1;
    return read_set(&data->test, directory, "t10k", test_limit, problem);
}

void fashion_data_pixels(const struct idx_set *set, long image, float *pixels)
{
    const unsigned char *bytes = set->pixels + image * IMAGE_PIXELS;
    for (int i = 0; i < IMAGE_PIXELS; i++)
        pixels[i] = (float)bytes[i] / 255;
}

void fashion_data_fini(struct fashion_data *data)
{
    idx_fini(&data->train);
    idx_fini(&data->test);
}
