/* SPDX-License-Identifier: Apache-2.0 */
/* What other ranks have sent in a steady state: it is kept until the state ends, and no longer. */
#include "lib/engine/set_steady_impl.h"
#include "tests/support/unit.h"

#include <stdlib.h>

enum { SIZE = 2, NBYTES = 100000 };

static int world[SIZE] = { 0, 1 };

/* Rank 1 has committed to operation `number`, with NBYTES. */
static void receive(struct process_set *set, uint32_t number)
{
    static const unsigned char data[NBYTES];
    struct wire_writer body = { 0 };
    struct err err = { 0 };
    steady_put_head(&body, set->steady.state.epoch, number);
    wire_put_u32(&body, 0);
    wire_put_u64(&body, 0);
    wire_put_bytes(&body, data, sizeof data);
    struct frame frame = { TREE_SENT, (uint32_t)body.length, body.data };
    ck_assert_msg(set_steady_receive(set, 1, &frame, &err) == HVD_OK, "%s", err.text);
    wire_writer_fini(&body);
}

static size_t room_of(const struct process_set *set)
{
    size_t room = 0;
    for (int i = 0; i < SIZE * STEADY_KEPT; i++)
        room += set->steady.kept[i].room;
    return room;
}

START_TEST(what_was_sent_is_freed_with_the_steady_state)
{
    static struct process_set set = { .size = SIZE, .ranks = world };
    steady_init(&set.steady.state, 0, SIZE);
    steady_begin(&set.steady.state);
    for (uint32_t number = 0; number < STEADY_AHEAD; number++)
        receive(&set, number);
    ck_assert_uint_eq(room_of(&set), STEADY_AHEAD * NBYTES);
    set_steady_forget_sent(&set);
    ck_assert_uint_eq(room_of(&set), 0);
    set_steady_fini(&set);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("set_steady_kept");
    TCase *tcase = tcase_create("sent");
    tcase_add_test(tcase, what_was_sent_is_freed_with_the_steady_state);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
