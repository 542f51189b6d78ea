/* SPDX-License-Identifier: Apache-2.0 */
/* What hvdrun sends to a host as START, SIGNAL and STOP for all hosts, read at the other end of the
 * link; and which hosts hear one that goes to the host above. Does not: a host that is not ready,
 * one that hvdrun has connected itself, one that may not have read a frame of its own, and one
 * below a host that is lost. */
#include "tests/support/host_link_fixture.h"

#include <signal.h>
#include <string.h>

static struct job_host above; /* has the same link, on which nothing is sent for it */
static struct host_rank ranks[1];
static struct frame frame; /* the last that hvdrun has sent */

static void set_up(void)
{
    static const struct job_options options = { .heartbeat_timeout_ms = 30000 };
    static const int numbers[] = { 0 };
    ranks[0] = (struct host_rank){ .phase = RANK_WAITING };
    host_link_set_up((struct job_host){ .phase = HOST_READY,
                                        .linked = true,
                                        .below = true,
                                        .like_parent = true,
                                        .ranks = ranks,
                                        .where = { .ranks = numbers, .local_size = 1 },
                                        .options = &options });
    above = (struct job_host){ .phase = HOST_READY, .linked = true };
}

/* Has hvdrun sent a frame? It is left in `frame`. */
static bool comes(void)
{
    return host_link_comes(&frame);
}

/* Order number `which`, and its type. */
static int give_order(int which, enum host_cast cast)
{
    static const struct agent_start start = { .own_address = "192.0.2.1", .master_port = 7 };
    if (which == 0)
        job_host_start(&host, &start, cast);
    else if (which == 1)
        job_host_signal(&host, SIGUSR1, cast);
    else
        job_host_stop(&host, SIGTERM, 5000, cast);
    return which == 0 ? AGENT_START : which == 1 ? AGENT_SIGNAL : AGENT_STOP;
}

enum { ORDERS = 3 };

static void check_body(int type, struct wire_reader *body)
{
    struct agent_start start;
    struct agent_stop stop;
    if (type == AGENT_START) {
        ck_assert_int_eq(agent_start_decode(&start, body, NULL), HVD_OK);
        ck_assert_str_eq(start.own_address, ""); /* the host is on another machine */
        ck_assert_uint_eq(start.master_port, 7);
    } else if (type == AGENT_SIGNAL) {
        ck_assert_int_eq(wire_get_i32(body), SIGUSR1);
    } else {
        ck_assert_int_eq(agent_stop_decode(&stop, body, NULL), HVD_OK);
        ck_assert_uint_eq(stop.grace_ms, 5000);
    }
    ck_assert(wire_reader_finished(body));
}

static void check_state(int type)
{
    ck_assert_int_eq(host.phase, type == AGENT_START ? HOST_RUNNING : HOST_READY);
    ck_assert_int_eq(host.stopping, type == AGENT_STOP);
}

START_TEST(an_order_for_the_host_alone_is_a_frame_of_its_own)
{
    int type = give_order(_i, CAST_TO_HOST);
    struct wire_reader body;
    ck_assert(comes());
    ck_assert_int_eq(frame.type, type);
    wire_reader_init(&body, frame.body, frame.length);
    check_body(type, &body);
    check_state(type);
    ck_assert(!comes());
}
END_TEST

START_TEST(an_order_for_the_subtree_is_in_a_multicast)
{
    int type = give_order(_i, CAST_TO_SUBTREE);
    struct wire_reader body;
    ck_assert_uint_le(host.link.flying.length, FRAME_HEADER_SIZE + AGENT_MULTICAST_MAX);
    ck_assert(comes());
    ck_assert_int_eq(frame.type, AGENT_MULTICAST);
    wire_reader_init(&body, frame.body, frame.length);
    ck_assert_int_eq(wire_get_u16(&body), type);
    check_body(type, &body);
    check_state(type);
    ck_assert(!comes());
}
END_TEST

/* It does not wait for the end of the turn, in which hvdrun may make much more. */
START_TEST(a_multicast_leaves_at_once)
{
    char bytes[100];
    give_order(_i, CAST_TO_SUBTREE);
    ck_assert_int_gt(recv(agent_end, bytes, sizeof bytes, MSG_DONTWAIT), FRAME_HEADER_SIZE);
}
END_TEST

START_TEST(an_order_that_the_parent_passes_on_is_not_sent)
{
    int type = give_order(_i, CAST_BY_PARENT);
    ck_assert(!comes());
    check_state(type);
}
END_TEST

/* Also where the host hears START from above, a rank that must end already is told so after it. */
START_TEST(a_rank_that_is_to_end_is_told_behind_the_start)
{
    static const struct agent_start start;
    host.ranks[0].ends = true;
    job_host_start(&host, &start, CAST_BY_PARENT);
    ck_assert(comes());
    ck_assert_int_eq(frame.type, AGENT_STOP_RANK);
}
END_TEST

START_TEST(a_signal_is_kept_for_a_host_that_is_not_connected_yet)
{
    host.phase = HOST_CONNECTING;
    job_host_signal(&host, SIGSTOP, _i == 0 ? CAST_TO_HOST : CAST_BY_PARENT);
    ck_assert(!comes());
    ck_assert(host.suspended);
    job_host_signal(&host, SIGCONT, _i == 0 ? CAST_TO_HOST : CAST_BY_PARENT);
    ck_assert(!host.suspended);
}
END_TEST

/* ---- who hears ---- */

/* By phase of the host above, which is connected: the phases of hosts below that hear a
 * multicast. */
static const char *const hearing[] = {
    [HOST_CLOSED] = "",     [HOST_CONNECTING] = "", [HOST_DESCRIBING] = "", [HOST_READY] = "345",
    [HOST_RUNNING] = "345", [HOST_DONE] = "5",      [HOST_LOST] = "",
};

START_TEST(ready_children_of_ready_hosts_hear_a_multicast)
{
    char found[8] = "";
    above.phase = (enum host_phase)_i;
    for (int phase = HOST_CLOSED; phase <= HOST_LOST; phase++) {
        char digit[2] = { (char)('0' + phase), '\0' };
        host.phase = (enum host_phase)phase;
        if (job_host_hears_multicast(&host, &above))
            strcat(found, digit);
    }
    _Static_assert(HOST_READY == 3 && HOST_DONE == 5, "hearing[] has the numbers");
    ck_assert_str_eq(found, hearing[_i]);
}
END_TEST

static void undo_tunnel(void)
{
    host.below = false; /* hvdrun has connected to it, after the host above could not */
}
static void undo_like_parent(void)
{
    host.like_parent = false;
}
static void undo_link(void)
{
    host.linked = false;
}
static void undo_link_of_parent(void)
{
    above.linked = false;
}
static void end_link_of_parent(void)
{
    above.link.ended = true;
}

static void (*const undo[])(void) = { undo_tunnel, undo_like_parent, undo_link, undo_link_of_parent,
                                      end_link_of_parent };

START_TEST(a_host_that_cannot_be_reached_so_does_not_hear)
{
    ck_assert(job_host_hears_multicast(&host, &above));
    undo[_i]();
    ck_assert(!job_host_hears_multicast(&host, &above));
}
END_TEST

/* A multicast could overtake a frame that went to the host alone, until a heartbeat behind that has
 * been answered. A heartbeat before the frame is no answer to it, and an order from above needs
 * none. */
START_TEST(a_host_that_may_not_have_read_an_order_does_not_hear_the_next_one)
{
    host.echoed_us = uv_hrtime() / 1000; /* as if a heartbeat of now were answered */
    give_order(_i, CAST_BY_PARENT);
    ck_assert(job_host_hears_multicast(&host, &above));
    host.phase = HOST_READY;
    give_order(_i, CAST_TO_HOST);
    ck_assert(!job_host_hears_multicast(&host, &above));
    host.echoed_us = host.ordered_us - 1;
    ck_assert(!job_host_hears_multicast(&host, &above));
    host.echoed_us = host.ordered_us;
    ck_assert(job_host_hears_multicast(&host, &above));
    host.phase = HOST_READY;
    give_order(_i, CAST_TO_SUBTREE);
    host.echoed_us = host.ordered_us - 1;
    ck_assert(!job_host_hears_multicast(&host, &above));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_host_orders");
    TCase *tcase = tcase_create("orders");
    tcase_add_checked_fixture(tcase, set_up, host_link_tear_down);
    tcase_add_loop_test(tcase, an_order_for_the_host_alone_is_a_frame_of_its_own, 0, ORDERS);
    tcase_add_loop_test(tcase, an_order_for_the_subtree_is_in_a_multicast, 0, ORDERS);
    tcase_add_loop_test(tcase, a_multicast_leaves_at_once, 0, ORDERS);
    tcase_add_loop_test(tcase, an_order_that_the_parent_passes_on_is_not_sent, 0, ORDERS);
    tcase_add_test(tcase, a_rank_that_is_to_end_is_told_behind_the_start);
    tcase_add_loop_test(tcase, a_signal_is_kept_for_a_host_that_is_not_connected_yet, 0, 2);
    tcase_add_loop_test(tcase, ready_children_of_ready_hosts_hear_a_multicast, HOST_CLOSED,
                        HOST_LOST + 1);
    tcase_add_loop_test(tcase, a_host_that_cannot_be_reached_so_does_not_hear, 0,
                        sizeof undo / sizeof *undo);
    tcase_add_loop_test(tcase, a_host_that_may_not_have_read_an_order_does_not_hear_the_next_one, 0,
                        ORDERS);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
