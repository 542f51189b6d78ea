/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of any size from one rank to all, and from all to all; ranks without memory for them. */
#include "lib/hvd.h"
#include "lib/hvd_training.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

/* Built with -Wl,--wrap=malloc,--wrap=calloc: there is no memory for this many bytes, nor for a
 * tebibyte, which sanitizers would not forgive; nor for the next that are to be zero. */
static size_t refused_size;
static _Thread_local bool refuse_zeros;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    bool refused = (refused_size > 0 && size == refused_size) || size >> 40 > 0;
    return refused ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    bool refused = refuse_zeros;
    refuse_zeros = false;
    return refused ? NULL : __real_calloc(count, size);
}

static void *make_bytes(size_t size, int rank)
{
    unsigned char *bytes = calloc(size + 1, 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + (size_t)rank);
    return bytes;
}

static bool is_of_rank(const struct hvd_object *object, size_t size, int rank)
{
    const unsigned char *bytes = object->data;
    if (object->size != size || (size == 0) != !bytes)
        return false;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != (unsigned char)(i * 7 + (size_t)rank))
            return false;
    return true;
}

static bool is_empty(const struct hvd_object *object)
{
    return !object->data && object->size == 0;
}

/* --- broadcast --- */

static const size_t sizes[] = { 0, 1, 255, 65536, 3000001 };

static void broadcast_one(const char *name, size_t size, int root)
{
    struct hvd_object object = { .data = &object, .size = 77 };
    void *bytes = NULL;
    if (hvd_rank() == root)
        object = (struct hvd_object){ bytes = size > 0 ? make_bytes(size, root) : NULL, size };
    REQUIRE_STATUS(hvd_broadcast_object(name, &object, root, 0), HVD_OK);
    REQUIRE(is_of_rank(&object, size, root));
    REQUIRE(hvd_rank() != root || object.data == bytes);
    hvd_object_free(&object);
    REQUIRE(is_empty(&object));
}

static int broadcast_objects(int rank)
{
    (void)rank;
    init_world();
    for (int i = 0; i < ROWS(sizes); i++)
        for (int root = 0; root < hvd_size(); root++)
            broadcast_one(i % 2 ? "object" : NULL, sizes[i], root);
    return leave_world();
}

START_TEST(all_ranks_have_the_object_of_the_root)
{
    ranks_run(&(struct mini_options){ .size = _i }, broadcast_objects);
}
END_TEST

static int broadcast_into_nothing(int rank)
{
    enum { SIZE = 54321 };
    struct hvd_object object = { 0 };
    init_world();
    if (rank == 0)
        object = (struct hvd_object){ make_bytes(SIZE, 0), SIZE };
    if (rank == 1)
        refused_size = SIZE;
    int rc = hvd_broadcast_object("o", &object, 0, 0);
    refused_size = 0;
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_NOMEM : HVD_ERR_MISMATCH);
    require_text(rank == 1 ? "broadcast object: no memory for 54321 bytes"
                           : "broadcast object: rank 1: no memory for 54321 bytes");
    REQUIRE(rank == 0 ? is_of_rank(&object, SIZE, 0) : is_empty(&object));
    REQUIRE_STATUS(hvd_broadcast_object("o", &object, 0, 0), HVD_OK);
    REQUIRE(is_of_rank(&object, SIZE, 0));
    hvd_object_free(&object);
    return leave_world();
}

START_TEST(a_rank_without_memory_fails_on_all)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_into_nothing);
}
END_TEST

static int look_for_the_root(int rank)
{
    struct hvd_object object = { 0 };
    init_world();
    for (int root = 0; root < 2; root++) {
        refuse_zeros = rank == 1;
        int rc = hvd_broadcast_object("o", &object, root, 0);
        REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_NOMEM : HVD_ERR_MISMATCH);
        require_text(rank == 1 ? "no memory for 2 ranks" : "rank 1: no memory for 2 ranks");
        REQUIRE(!refuse_zeros);
    }
    return leave_world();
}

START_TEST(a_rank_without_memory_for_the_list_of_ranks_fails_on_all)
{
    ranks_run(&(struct mini_options){ .size = 2 }, look_for_the_root);
}
END_TEST

/* Rank 0 is making an optimizer in another thread, and waits for rank 1. */
static int broadcast_beside_another_call(int rank)
{
    struct hvd_object object = { 0 };
    struct hvd_tensor tensor = { .name = "hvd.optimizer.mistake", .dtype = HVD_INT32 };
    int32_t value = 0;
    int64_t handle;
    tensor.input = tensor.output = &value;
    init_world();
    if (rank == 0)
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_MAX, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_broadcast_object("optimizer", &object, 0, 0), HVD_OK);
    if (rank == 1)
        REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_MAX, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
    return leave_world();
}

START_TEST(an_object_may_have_the_name_of_a_call_that_is_under_way)
{
    ranks_run(&(struct mini_options){ .size = 2 }, broadcast_beside_another_call);
}
END_TEST

static int broadcast_mistakes(int rank)
{
    struct hvd_object object = { .data = rank == 0 ? NULL : &object, .size = 5 };
    init_world();
    int rc = hvd_broadcast_object("o", &object, 0, 0);
    REQUIRE_STATUS(rc, rank == 0 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text("data is NULL, but size is 5");
    REQUIRE(rank == 0 ? object.size == 5 : is_empty(&object));
    rc = hvd_broadcast_object("o", rank == 1 ? NULL : &object, 0, 0);
    REQUIRE(rc == (rank == 2 ? HVD_ERR_MISMATCH : HVD_ERR_INVALID));
    if (rank == 1)
        require_text("broadcast object: the object is NULL");
    object = (struct hvd_object){ .data = &object, .size = SIZE_MAX };
    rc = hvd_broadcast_object("o", &object, 0, 0);
    REQUIRE_STATUS(rc, rank == 0 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text("an object of 18446744073709551615 bytes is larger than memory can hold");
    return leave_world();
}

START_TEST(a_mistake_of_one_rank_fails_on_all)
{
    ranks_run(&(struct mini_options){ .size = 3 }, broadcast_mistakes);
}
END_TEST

/* These are known before anything is sent, and leave the object alone. */
static int mistakes_at_once(int rank)
{
    static char name[202];
    struct hvd_object object = { .data = &object, .size = 5 };
    memset(name, 'n', sizeof name - 1);
    init_world();
    REQUIRE_STATUS(hvd_broadcast_object(name, &object, 0, 0), HVD_ERR_INVALID);
    require_text("broadcast object: the name is longer than 200 bytes");
    REQUIRE_STATUS(hvd_broadcast_object("", &object, 0, 0), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_broadcast_object("o", &object, 2, 0), HVD_ERR_INVALID);
    require_text("broadcast object: root 2 does not exist in a world of 2");
    REQUIRE_STATUS(hvd_broadcast_object("o", &object, 0, 3), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_allgather_object(name, &rank, 4, 0, NULL), HVD_ERR_INVALID);
    require_text("allgather object: the name is longer than 200 bytes");
    REQUIRE(object.data == &object && object.size == 5);
    return leave_world();
}

START_TEST(names_roots_and_sets_that_cannot_be_are_refused_at_once)
{
    ranks_run(&(struct mini_options){ .size = 2 }, mistakes_at_once);
}
END_TEST

/* --- allgather --- */

static bool is_aligned(const void *data)
{
    return (uintptr_t)data % _Alignof(max_align_t) == 0;
}

static void gather_once(const char *name, size_t unit)
{
    struct hvd_object *objects;
    int rank = hvd_rank();
    size_t size = unit * (size_t)((rank + 1) % hvd_size());
    void *bytes = size > 0 ? make_bytes(size, rank) : NULL;
    REQUIRE_STATUS(hvd_allgather_object(name, bytes, size, 0, &objects), HVD_OK);
    for (int k = 0; k < hvd_size(); k++) {
        REQUIRE(is_of_rank(&objects[k], unit * (size_t)((k + 1) % hvd_size()), k));
        REQUIRE(is_aligned(objects[k].data));
    }
    free(bytes);
    free(objects);
}

/* One rank has nothing, and once all have. */
static int gather_objects(int rank)
{
    (void)rank;
    init_world();
    for (int i = 0; i < ROWS(sizes); i++)
        gather_once(i % 2 ? "object" : NULL, sizes[i]);
    return leave_world();
}

START_TEST(all_ranks_have_the_objects_of_all)
{
    ranks_run(&(struct mini_options){ .size = _i }, gather_objects);
}
END_TEST

static int gather_in_a_set(int rank)
{
    struct hvd_object *objects = NULL;
    init_world();
    int set = hvd_add_process_set((const int[]){ 1, 2 }, 2);
    int rc = hvd_allgather_object("o", &rank, sizeof rank, set, &objects);
    if (rank == 0)
        REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    else
        REQUIRE(rc == HVD_OK && *(int *)objects[0].data == 1 && *(int *)objects[1].data == 2);
    free(objects);
    return leave_world();
}

START_TEST(in_a_process_set_they_are_in_the_order_of_its_ranks)
{
    ranks_run(&(struct mini_options){ .size = 3 }, gather_in_a_set);
}
END_TEST

static int gather_mistakes(int rank)
{
    struct hvd_object *objects;
    init_world();
    int rc = hvd_allgather_object("o", rank == 1 ? NULL : &rank, sizeof rank, 0, &objects);
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text(rank == 1 ? "allgather object: data is NULL, but size is 4"
                           : "allgather object: rank 1: data is NULL, but size is 4");
    REQUIRE(!objects);
    rc = hvd_allgather_object("o", &rank, sizeof rank, 0, rank == 1 ? NULL : &objects);
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text("there is no place for the objects");
    /* the array, and four bytes of each, which begin where anything may */
    refused_size = rank == 1 ? 3 * (sizeof *objects + _Alignof(max_align_t)) : 0;
    rc = hvd_allgather_object("o", &rank, sizeof rank, 0, &objects);
    refused_size = 0;
    REQUIRE_STATUS(rc, rank == 1 ? HVD_ERR_NOMEM : HVD_ERR_MISMATCH);
    require_text("no memory for 96 bytes");
    REQUIRE(!objects);
    return leave_world();
}

START_TEST(what_one_rank_cannot_gather_fails_on_all)
{
    ranks_run(&(struct mini_options){ .size = 3 }, gather_mistakes);
}
END_TEST

/* Rank 1 says that it will send `announced` bytes, and then sends `sent`. */
static const struct {
    uint64_t announced, sent;
    int code;
    const char *text;
} announcements[] = {
    { 100, 50, HVD_ERR_PROTOCOL, "allgather object: 54 bytes, 104 were announced" },
    { 10, 50, HVD_ERR_INVALID, "allgather object: " },
    { UINT64_MAX, 0, HVD_ERR_NOMEM, "no memory for 18446744073709551615 bytes" },
    { UINT64_MAX / 256, 0, HVD_ERR_NOMEM, "no memory for " },
};

static void gather_raw(const char *name, const void *bytes, uint64_t size)
{
    int64_t dim = (int64_t)size, handle;
    const struct hvd_tensor tensor = {
        .name = name, .input = bytes, .dtype = HVD_UINT8, .ndims = 1, .dims = &dim
    };
    struct hvd_result result;
    REQUIRE_STATUS(hvd_allgather_async(&tensor, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait_result(handle, &result), HVD_OK);
    hvd_result_free(&result);
}

static void lie(uint64_t announced, uint64_t sent)
{
    static const char bytes[64];
    int32_t mistake = 0;
    gather_raw("o.sz", &announced, sizeof announced);
    REQUIRE_STATUS(hvd_allreduce("hvd.object.o.mistake", &mistake, &mistake, 1, HVD_INT32, HVD_MAX),
                   HVD_OK);
    if (mistake == 0)
        gather_raw("o.t", bytes, sent);
}

static int gather_lies(int rank)
{
    struct hvd_object *objects;
    init_world();
    for (int i = 0; i < ROWS(announcements); i++) {
        char text[500];
        if (rank == 1) {
            lie(announcements[i].announced, announcements[i].sent);
            if (announcements[i].code == HVD_ERR_NOMEM)
                REQUIRE_STATUS(hvd_broadcast("hvd.object.o.text", text, sizeof text, HVD_UINT8, 0),
                               HVD_OK);
            continue;
        }
        int rc = hvd_allgather_object("o", &rank, sizeof rank, 0, &objects);
        REQUIRE_STATUS(rc, announcements[i].code);
        require_text(announcements[i].text);
        REQUIRE(!objects);
    }
    return leave_world();
}

START_TEST(a_rank_that_sends_something_else_than_it_said_is_an_error)
{
    ranks_run(&(struct mini_options){ .size = 2 }, gather_lies);
}
END_TEST

static int gather_short_sizes(int rank)
{
    struct hvd_object *objects;
    int32_t mistake = 0;
    char text[500];
    init_world();
    if (rank == 1) {
        gather_raw("o.sz", "abc", 3);
        REQUIRE_STATUS(
            hvd_allreduce("hvd.object.o.mistake", &mistake, &mistake, 1, HVD_INT32, HVD_MAX),
            HVD_OK);
        REQUIRE_STATUS(hvd_broadcast("hvd.object.o.text", text, sizeof text, HVD_UINT8, 0), HVD_OK);
    } else {
        REQUIRE_STATUS(hvd_allgather_object("o", &rank, sizeof rank, 0, &objects),
                       HVD_ERR_PROTOCOL);
        require_text("allgather object: 3 bytes for a size");
    }
    return leave_world();
}

START_TEST(what_is_no_size_is_an_error)
{
    ranks_run(&(struct mini_options){ .size = 2 }, gather_short_sizes);
}
END_TEST

static int broadcast_too_much(int rank)
{
    uint64_t announced = UINT64_MAX;
    int32_t mistake = 0;
    char text[500];
    struct hvd_object object;
    init_world();
    if (rank == 0) {
        REQUIRE_STATUS(hvd_broadcast("o.sz", &announced, 8, HVD_UINT8, 0), HVD_OK);
        REQUIRE_STATUS(
            hvd_allreduce("hvd.object.o.mistake", &mistake, &mistake, 1, HVD_INT32, HVD_MAX),
            HVD_OK);
        REQUIRE_STATUS(hvd_broadcast("hvd.object.o.text", text, sizeof text, HVD_UINT8, 1), HVD_OK);
    } else {
        REQUIRE_STATUS(hvd_broadcast_object("o", &object, 0, 0), HVD_ERR_NOMEM);
        require_text("broadcast object: no memory for 18446744073709551615 bytes");
        REQUIRE(is_empty(&object));
    }
    return leave_world();
}

START_TEST(more_than_memory_can_hold_is_not_asked_for)
{
    ranks_run(&(struct mini_options){ .size = 2 }, broadcast_too_much);
}
END_TEST

START_TEST(nothing_can_be_freed)
{
    hvd_object_free(NULL);
    hvd_object_free(&(struct hvd_object){ 0 });
    ck_assert_int_eq(hvd_broadcast_object("o", &(struct hvd_object){ 0 }, 0, 0),
                     HVD_ERR_NOT_INITIALIZED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("object");
    TCase *tcase = tcase_create("object");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, all_ranks_have_the_object_of_the_root, 1, 5);
    tcase_add_test(tcase, a_rank_without_memory_fails_on_all);
    tcase_add_test(tcase, a_rank_without_memory_for_the_list_of_ranks_fails_on_all);
    tcase_add_test(tcase, an_object_may_have_the_name_of_a_call_that_is_under_way);
    tcase_add_test(tcase, a_mistake_of_one_rank_fails_on_all);
    tcase_add_test(tcase, names_roots_and_sets_that_cannot_be_are_refused_at_once);
    tcase_add_loop_test(tcase, all_ranks_have_the_objects_of_all, 1, 5);
    tcase_add_test(tcase, in_a_process_set_they_are_in_the_order_of_its_ranks);
    tcase_add_test(tcase, what_one_rank_cannot_gather_fails_on_all);
    tcase_add_test(tcase, a_rank_that_sends_something_else_than_it_said_is_an_error);
    tcase_add_test(tcase, what_is_no_size_is_an_error);
    tcase_add_test(tcase, more_than_memory_can_hold_is_not_asked_for);
    tcase_add_test(tcase, nothing_can_be_freed);
    return unit_run(suite);
}
