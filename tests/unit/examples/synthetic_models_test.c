/* SPDX-License-Identifier: Apache-2.0 */
/* The models' tables against what is published: how many tensors and parameters, what some of the
 * tensors look like, and how many multiplications an image takes (torchvision's "GFLOPS"). */
#include "tests/support/unit.h"

#include <string.h>

#include "examples/models/model.h"

static struct model model;

/* Parameters and multiplications are torchvision 0.15's; it counts inception3's without the
 * auxiliary classifier when it counts multiplications, and only those with weights. */
static const struct published {
    const char *name;
    int tensors;
    int64_t parameters;
    double multiplications; /* 10^9 */
} published[] = {
    { "resnet50", 161, 25557032, 4.09 },
    { "resnet101", 314, 44549160, 7.80 },
    { "inception3", 292, 27161264, 5.71 },
    { "vgg16", 32, 138357544, 15.47 },
};
enum { MODELS = sizeof published / sizeof *published };

START_TEST(a_model_has_as_many_tensors_and_parameters_as_is_published)
{
    const struct published *row = &published[_i];
    ck_assert(model_make(&model, row->name));
    ck_assert_str_eq(model.name, row->name);
    ck_assert_int_eq(model.count, row->tensors);
    ck_assert_int_eq(model_elements(&model), row->parameters);
}
END_TEST

START_TEST(an_image_takes_as_many_multiplications_as_is_published)
{
    const struct published *row = &published[_i];
    ck_assert(model_make(&model, row->name));
    double weights = 0;
    for (int i = 0; i < model.count; i++)
        if (model.tensors[i].ndims > 1)
            weights += 1e-9 * (double)model.tensors[i].multiplications;
    ck_assert_double_eq_tol(weights, row->multiplications, 0.01);
    /* Normalizations and biases are small change. */
    double all = 1e-9 * (double)model_multiplications(&model);
    ck_assert_double_ge(all, weights);
    ck_assert_double_le(all, 1.01 * weights);
}
END_TEST

START_TEST(every_tensor_has_a_name_of_its_own_and_elements)
{
    ck_assert(model_make(&model, published[_i].name));
    for (int i = 0; i < model.count; i++) {
        ck_assert_int_ge(model_tensor_elements(&model.tensors[i]), 1);
        ck_assert_int_ge(model.tensors[i].multiplications, 1);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(model.tensors[i].name, model.tensors[j].name);
    }
}
END_TEST

/* As in the state_dict of torchvision's model; `place` counts from the end if it is negative. */
static const struct tensor_row {
    const char *model;
    int place;
    const char *name;
    int ndims;
    int64_t dims[MODEL_DIMS];
} tensors[] = {
    { "resnet50", 0, "conv1.weight", 4, { 64, 3, 7, 7 } },
    { "resnet50", 2, "bn1.bias", 1, { 64 } },
    { "resnet50", 3, "layer1.0.conv1.weight", 4, { 64, 64, 1, 1 } },
    { "resnet50", 12, "layer1.0.downsample.0.weight", 4, { 256, 64, 1, 1 } },
    { "resnet50", 15, "layer1.1.conv1.weight", 4, { 64, 256, 1, 1 } },
    { "resnet50", -5, "layer4.2.conv3.weight", 4, { 2048, 512, 1, 1 } },
    { "resnet50", -2, "fc.weight", 2, { 1000, 2048 } },
    { "resnet101", -39, "layer3.22.bn1.bias", 1, { 256 } },
    { "resnet101", -1, "fc.bias", 1, { 1000 } },
    { "inception3", 0, "Conv2d_1a_3x3.conv.weight", 4, { 32, 3, 3, 3 } },
    { "inception3", 12, "Conv2d_4a_3x3.conv.weight", 4, { 192, 80, 3, 3 } },
    { "inception3", 15, "Mixed_5b.branch1x1.conv.weight", 4, { 64, 192, 1, 1 } },
    { "inception3", 78, "Mixed_6a.branch3x3.conv.weight", 4, { 384, 288, 3, 3 } },
    { "inception3", 96, "Mixed_6b.branch7x7_2.conv.weight", 4, { 128, 128, 1, 7 } },
    { "inception3", 99, "Mixed_6b.branch7x7_3.conv.weight", 4, { 192, 128, 7, 1 } },
    { "inception3", 213, "AuxLogits.conv1.conv.weight", 4, { 768, 128, 5, 5 } },
    { "inception3", 216, "AuxLogits.fc.weight", 2, { 1000, 768 } },
    { "inception3", -29, "Mixed_7c.branch1x1.conv.weight", 4, { 320, 2048, 1, 1 } },
    { "inception3", -5, "Mixed_7c.branch_pool.conv.weight", 4, { 192, 2048, 1, 1 } },
    { "inception3", -2, "fc.weight", 2, { 1000, 2048 } },
    { "vgg16", 0, "features.0.weight", 4, { 64, 3, 3, 3 } },
    { "vgg16", 24, "features.28.weight", 4, { 512, 512, 3, 3 } },
    { "vgg16", -6, "classifier.0.weight", 2, { 4096, 25088 } },
    { "vgg16", -1, "classifier.6.bias", 1, { 1000 } },
};

START_TEST(tensors_have_names_and_shapes_of_torchvision)
{
    const struct tensor_row *row = &tensors[_i];
    ck_assert(model_make(&model, row->model));
    const struct model_tensor *tensor =
        &model.tensors[row->place < 0 ? model.count + row->place : row->place];
    ck_assert_str_eq(tensor->name, row->name);
    ck_assert_int_eq(tensor->ndims, row->ndims);
    for (int i = 0; i < row->ndims; i++)
        ck_assert_int_eq(tensor->dims[i], row->dims[i]);
}
END_TEST

START_TEST(there_is_no_other_model)
{
    static const char *const names[] = { "", "resnet", "resnet152", "VGG16", "vgg16 " };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert(!model_make(&model, names[i]));
}
END_TEST

START_TEST(the_list_of_names_is_complete)
{
    ck_assert_ptr_nonnull(strstr(model_names(), published[_i].name));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("synthetic_models");
    TCase *counts = tcase_create("counts");
    tcase_add_loop_test(counts, a_model_has_as_many_tensors_and_parameters_as_is_published, 0,
                        MODELS);
    tcase_add_loop_test(counts, an_image_takes_as_many_multiplications_as_is_published, 0, MODELS);
    tcase_add_loop_test(counts, every_tensor_has_a_name_of_its_own_and_elements, 0, MODELS);
    tcase_add_loop_test(counts, the_list_of_names_is_complete, 0, MODELS);
    suite_add_tcase(suite, counts);
    TCase *shapes = tcase_create("shapes");
    tcase_add_loop_test(shapes, tensors_have_names_and_shapes_of_torchvision, 0,
                        sizeof tensors / sizeof *tensors);
    tcase_add_test(shapes, there_is_no_other_model);
    suite_add_tcase(suite, shapes);
    return unit_run(suite);
}
