/* SPDX-License-Identifier: Apache-2.0 */
/* Taking over the parameters and the optimizer's state of one rank. */
#include "lib/hvd.h"
#include "lib/hvd_device.h"
#include "lib/hvd_training.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

static const int64_t three[] = { 3 }, two_by_two[] = { 2, 2 }, none[] = { 0, 4 };

/* A model whose numbers tell their rank. */
struct model {
    float weight[4], bias[3];
    double scale;
    struct hvd_parameter parameters[4];
};

static void model_init(struct model *model, int rank)
{
    *model = (struct model){ .scale = rank };
    for (int i = 0; i < 4; i++)
        model->weight[i] = (float)(10 * rank + i);
    for (int i = 0; i < 3; i++)
        model->bias[i] = (float)(100 * rank + i);
    model->parameters[0] = (struct hvd_parameter){
        .name = "weight", .data = model->weight, .dtype = HVD_FLOAT32, .ndims = 2, two_by_two
    };
    model->parameters[1] = (struct hvd_parameter){
        .name = "bias", .data = model->bias, .dtype = HVD_FLOAT32, .ndims = 1, three
    };
    model->parameters[2] =
        (struct hvd_parameter){ .name = "scale", .data = &model->scale, .dtype = HVD_FLOAT64 };
    model->parameters[3] =
        (struct hvd_parameter){ .name = "none", .dtype = HVD_INT8, .ndims = 2, .dims = none };
}

static int is_of_rank(const struct model *model, int rank)
{
    struct model expected;
    model_init(&expected, rank);
    return memcmp(model->weight, expected.weight, sizeof expected.weight) == 0 &&
           memcmp(model->bias, expected.bias, sizeof expected.bias) == 0 &&
           model->scale == expected.scale;
}

static void swap(struct hvd_parameter *a, struct hvd_parameter *b)
{
    struct hvd_parameter kept = *a;
    *a = *b;
    *b = kept;
}

static void require_failure(int rc, int code, const char *text)
{
    REQUIRE_STATUS(rc, code);
    if (strcmp(hvd_last_error(), text) != 0)
        fprintf(stderr, "'%s', wanted '%s'\n", hvd_last_error(), text);
    REQUIRE(strcmp(hvd_last_error(), text) == 0);
}

/* --- parameters --- */

static int take_over(int rank)
{
    struct model model;
    init_world();
    for (int root = 0; root < hvd_size(); root++) {
        model_init(&model, rank);
        swap(&model.parameters[0], &model.parameters[(rank + root) % 4]);
        REQUIRE_STATUS(hvd_broadcast_parameters(model.parameters, 4, root, 0), HVD_OK);
        REQUIRE(is_of_rank(&model, root));
    }
    REQUIRE_STATUS(hvd_broadcast_parameters(NULL, 0, 0, 0), HVD_OK);
    return leave_world();
}

START_TEST(all_ranks_have_the_parameters_of_the_root_whatever_their_order)
{
    ranks_run(&(struct mini_options){ .size = _i }, take_over);
}
END_TEST

/* More than are in flight at a time elsewhere. */
static int take_over_many(int rank)
{
    enum { MANY = 500, EACH = 40 };
    static float data[MANY][EACH];
    static char names[MANY][20];
    static struct hvd_parameter parameters[MANY];
    static const int64_t dim = EACH;
    for (int i = 0; i < MANY; i++) {
        data[i][EACH - 1] = (float)(rank == 1 ? i : 0);
        snprintf(names[i], sizeof names[i], "layer%d", i);
        parameters[i] = (struct hvd_parameter){
            .name = names[i], .data = data[i], .dtype = HVD_FLOAT32, .ndims = 1, .dims = &dim
        };
    }
    init_world();
    REQUIRE_STATUS(hvd_broadcast_parameters(parameters, MANY, 1, 0), HVD_OK);
    for (int i = 0; i < MANY; i++)
        REQUIRE(data[i][EACH - 1] == (float)i);
    return leave_world();
}

START_TEST(many_parameters_are_in_flight_at_once)
{
    ranks_run(&(struct mini_options){ .size = 3 }, take_over_many);
}
END_TEST

static int take_over_in_sets(int rank)
{
    struct model model;
    init_world();
    int low = hvd_add_process_set((const int[]){ 0, 1 }, 2);
    int high = hvd_add_process_set((const int[]){ 2, 3 }, 2);
    model_init(&model, rank);
    int rc = hvd_broadcast_parameters(model.parameters, 4, rank < 2 ? 1 : 2, rank < 2 ? low : high);
    REQUIRE_STATUS(rc, HVD_OK);
    REQUIRE(is_of_rank(&model, rank < 2 ? 1 : 2));
    rc = hvd_broadcast_parameters(model.parameters, 4, rank < 2 ? 2 : 1, rank < 2 ? low : high);
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text(rank < 2 ? "broadcast parameters: root 2 is not in process set "
                          : "broadcast parameters: root 1 is not in process set ");
    rc = hvd_broadcast_parameters(model.parameters, 4, rank, rank < 2 ? high : low);
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_broadcast_parameters(model.parameters, 4, 0, 9), HVD_ERR_INVALID);
    require_text("broadcast parameters: process set: there is no process set 9");
    return leave_world();
}

START_TEST(process_sets_have_parameters_of_their_own)
{
    ranks_run(&(struct mini_options){ .size = 4 }, take_over_in_sets);
}
END_TEST

/* --- what rank 1 of 3 does wrong --- */

static void no_name(struct hvd_parameter *parameters)
{
    parameters[1].name = NULL;
}
static void same_name(struct hvd_parameter *parameters)
{
    parameters[1].name = "weight";
}
static void no_data(struct hvd_parameter *parameters)
{
    parameters[1].data = NULL;
}
static void bad_dtype(struct hvd_parameter *parameters)
{
    parameters[1].dtype = (enum hvd_dtype)12;
}
static void no_device(struct hvd_parameter *parameters)
{
    parameters[1].device = 3;
}
static void other_name(struct hvd_parameter *parameters)
{
    parameters[1].name = "beta";
}
static void other_dtype(struct hvd_parameter *parameters)
{
    parameters[1].dtype = HVD_INT32;
}
static void other_shape(struct hvd_parameter *parameters)
{
    parameters[0].ndims = 1;
}

static const struct {
    void (*spoil)(struct hvd_parameter *parameters);
    int count, root;
    int own;
    const char *own_text, *text;
} mistakes[] = {
    { no_name, 4, 0, HVD_ERR_INVALID, "parameter 1: the name is NULL",
      "rank 1: parameter 1: the name is NULL" },
    { same_name, 4, 0, HVD_ERR_INVALID, "parameter 'weight' is given twice",
      "rank 1: parameter 'weight' is given twice" },
    { no_data, 4, 0, HVD_ERR_INVALID, "parameter 'bias': data is NULL",
      "rank 1: parameter 'bias': data is NULL" },
    { bad_dtype, 4, 0, HVD_ERR_INVALID, "parameter 'bias': dtype 12 is not an element type",
      "rank 1: parameter 'bias': dtype 12 is not an element type" },
    { no_device, 4, 0, HVD_ERR_INVALID, "parameter 'bias': there is no device 3",
      "rank 1: parameter 'bias': there is no device 3" },
    { NULL, -2, 0, HVD_ERR_INVALID, "a list of -2 parameters", "rank 1: a list of -2 parameters" },
    { NULL, 4, 3, HVD_ERR_INVALID, "root 3 does not exist in a world of 3",
      "rank 1: root 3 does not exist in a world of 3" },
    { NULL, 4, 2, HVD_ERR_MISMATCH, "rank 1 has 'root 2', rank 0 has 'root 0'",
      "rank 1 has 'root 2', rank 0 has 'root 0'" },
    { other_name, 4, 0, HVD_ERR_MISMATCH, "rank 1 lacks 'bias float32 [3]', which rank 0 has",
      "rank 1 lacks 'bias float32 [3]', which rank 0 has" },
    { other_dtype, 4, 0, HVD_ERR_MISMATCH,
      "rank 1 has 'bias int32 [3]', rank 0 has 'bias float32 [3]'",
      "rank 1 has 'bias int32 [3]', rank 0 has 'bias float32 [3]'" },
    { other_shape, 4, 0, HVD_ERR_MISMATCH,
      "rank 1 has 'weight float32 [2]', rank 0 has 'weight float32 [2, 2]'",
      "rank 1 has 'weight float32 [2]', rank 0 has 'weight float32 [2, 2]'" },
    { NULL, 1, 0, HVD_ERR_MISMATCH, "rank 1 lacks 'bias float32 [3]', which rank 0 has",
      "rank 1 lacks 'bias float32 [3]', which rank 0 has" },
};

static int make_mistakes(int rank)
{
    struct model model;
    char text[500];
    init_world();
    for (int i = 0; i < ROWS(mistakes); i++) {
        model_init(&model, rank);
        if (rank == 1 && mistakes[i].spoil)
            mistakes[i].spoil(model.parameters);
        int rc = hvd_broadcast_parameters(model.parameters, rank == 1 ? mistakes[i].count : 4,
                                          rank == 1 ? mistakes[i].root : 0, 0);
        snprintf(text, sizeof text, "broadcast parameters: %s",
                 rank == 1 ? mistakes[i].own_text : mistakes[i].text);
        require_failure(rc, rank == 1 ? mistakes[i].own : HVD_ERR_MISMATCH, text);
        REQUIRE(is_of_rank(&model, rank));
    }
    model_init(&model, rank);
    REQUIRE_STATUS(hvd_broadcast_parameters(model.parameters, 4, 0, 0), HVD_OK);
    return leave_world();
}

START_TEST(a_mistake_of_one_rank_fails_on_all_and_changes_nothing)
{
    ranks_run(&(struct mini_options){ .size = 3 }, make_mistakes);
}
END_TEST

/* --- the optimizer's state --- */

struct optimizer {
    float moment[3];
    int64_t step;
    double rate;
    uint8_t flag;
    struct hvd_parameter tensor;
    struct hvd_scalar scalars[3];
};

static void optimizer_init(struct optimizer *optimizer, int rank)
{
    *optimizer = (struct optimizer){ .step = 1000 + rank, .rate = 0.1 * rank, .flag = rank == 1 };
    optimizer->moment[2] = (float)rank;
    optimizer->tensor = (struct hvd_parameter){
        .name = "moment", .data = optimizer->moment, .dtype = HVD_FLOAT32, .ndims = 1, three
    };
    optimizer->scalars[rank % 3] = (struct hvd_scalar){ "step", &optimizer->step, HVD_INT64 };
    optimizer->scalars[(rank + 1) % 3] =
        (struct hvd_scalar){ "rate", &optimizer->rate, HVD_FLOAT64 };
    optimizer->scalars[(rank + 2) % 3] = (struct hvd_scalar){ "flag", &optimizer->flag, HVD_BOOL };
}

static int take_over_state(int rank)
{
    struct optimizer mine, roots;
    int root = hvd_init() == HVD_OK ? hvd_size() - 1 : -1;
    optimizer_init(&mine, rank);
    optimizer_init(&roots, root);
    REQUIRE_STATUS(hvd_broadcast_optimizer_state(&mine.tensor, 1, mine.scalars, 3, root, 0),
                   HVD_OK);
    REQUIRE(memcmp(mine.moment, roots.moment, sizeof mine.moment) == 0);
    REQUIRE(mine.step == roots.step && mine.rate == roots.rate && mine.flag == roots.flag);
    REQUIRE_STATUS(hvd_broadcast_optimizer_state(&mine.tensor, 1, NULL, 0, 0, 0), HVD_OK);
    REQUIRE_STATUS(hvd_broadcast_optimizer_state(NULL, 0, mine.scalars, 3, 0, 0), HVD_OK);
    REQUIRE_STATUS(hvd_broadcast_optimizer_state(NULL, 0, NULL, 0, 0, 0), HVD_OK);
    REQUIRE(mine.step == 1000 + root);
    return leave_world();
}

START_TEST(all_ranks_have_the_optimizer_of_the_root)
{
    ranks_run(&(struct mini_options){ .size = _i }, take_over_state);
}
END_TEST

static int differ_in_state(int rank)
{
    struct optimizer mine;
    const char *prefix = "broadcast optimizer state: rank 1 has 'step";
    init_world();
    optimizer_init(&mine, rank);
    mine.scalars[rank % 3].dtype = rank == 1 ? HVD_INT32 : HVD_INT64;
    int rc = hvd_broadcast_optimizer_state(&mine.tensor, 1, mine.scalars, 3, 0, 0);
    REQUIRE_STATUS(rc, HVD_ERR_MISMATCH);
    require_text(prefix);
    require_text(" int32', rank 0 has 'step int64'");
    mine.scalars[rank % 3].value = rank == 1 ? NULL : &mine.step;
    rc = hvd_broadcast_optimizer_state(&mine.tensor, 1, mine.scalars, 3, 0, 0);
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text("scalar 'step': value is NULL");
    rc = hvd_broadcast_optimizer_state(&mine.tensor, 1, mine.scalars, 2 + (rank != 1), 0, 0);
    REQUIRE(rc < 0);
    REQUIRE(mine.step == 1000 + rank);
    return leave_world();
}

START_TEST(optimizers_that_differ_are_told)
{
    ranks_run(&(struct mini_options){ .size = 2 }, differ_in_state);
}
END_TEST

/* --- devices --- */

/* One that is host memory in disguise: a copy is done when it is asked for. */
static void *alloc_pinned(void *context, size_t nbytes)
{
    (void)context;
    return malloc(nbytes);
}
static void free_pinned(void *context, void *memory, size_t nbytes)
{
    (void)context;
    (void)nbytes;
    free(memory);
}
static int copy(void *context, void *to, const void *from, size_t nbytes)
{
    memcpy(to, from, nbytes);
    ++*(int *)context;
    return 0;
}
static void *create_event(void *context)
{
    return context;
}
static void destroy_event(void *context, void *event)
{
    (void)context;
    (void)event;
}
static int record_event(void *context, void *event, enum hvd_device_queue queue)
{
    (void)context;
    (void)event;
    (void)queue;
    return 0;
}
static int query_event(void *context, void *event)
{
    (void)context;
    (void)event;
    return 1;
}

static int take_over_on_device(int rank)
{
    struct model model;
    int copies = 0;
    const struct hvd_device device = { .name = "host",
                                       .context = &copies,
                                       .alloc_pinned = alloc_pinned,
                                       .free_pinned = free_pinned,
                                       .copy_to_host = copy,
                                       .copy_from_host = copy,
                                       .create_event = create_event,
                                       .destroy_event = destroy_event,
                                       .record_event = record_event,
                                       .query_event = query_event };
    int number = hvd_register_device(&device);
    REQUIRE(number > 0);
    init_world();
    model_init(&model, rank);
    model.parameters[0].device = model.parameters[3].device = number;
    REQUIRE_STATUS(hvd_broadcast_parameters(model.parameters, 4, 1, 0), HVD_OK);
    REQUIRE(is_of_rank(&model, 1));
    REQUIRE(copies > 0);
    return leave_world();
}

START_TEST(parameters_may_be_on_a_device)
{
    ranks_run(&(struct mini_options){ .size = 3 }, take_over_on_device);
}
END_TEST

/* --- the world --- */

static int without_one(int rank)
{
    struct model model;
    init_world();
    if (rank == 1)
        return leave_world();
    model_init(&model, rank);
    REQUIRE_STATUS(hvd_broadcast_parameters(model.parameters, 4, 0, 0), HVD_ERR_PEER_LEFT);
    require_text("rank 1");
    return leave_world();
}

START_TEST(without_one_of_the_ranks_it_fails)
{
    ranks_run(&(struct mini_options){ .size = 3 }, without_one);
}
END_TEST

START_TEST(without_a_world_it_fails)
{
    struct model model;
    model_init(&model, 0);
    ck_assert_int_eq(hvd_broadcast_parameters(model.parameters, 4, 0, 0), HVD_ERR_NOT_INITIALIZED);
    ck_assert_ptr_nonnull(strstr(hvd_last_error(), "broadcast parameters: "));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("state");
    TCase *tcase = tcase_create("state");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, all_ranks_have_the_parameters_of_the_root_whatever_their_order, 1,
                        5);
    tcase_add_test(tcase, many_parameters_are_in_flight_at_once);
    tcase_add_test(tcase, process_sets_have_parameters_of_their_own);
    tcase_add_test(tcase, a_mistake_of_one_rank_fails_on_all_and_changes_nothing);
    tcase_add_loop_test(tcase, all_ranks_have_the_optimizer_of_the_root, 1, 5);
    tcase_add_test(tcase, optimizers_that_differ_are_told);
    tcase_add_test(tcase, parameters_may_be_on_a_device);
    tcase_add_test(tcase, without_one_of_the_ranks_it_fails);
    tcase_add_test(tcase, without_a_world_it_fails);
    return unit_run(suite);
}
