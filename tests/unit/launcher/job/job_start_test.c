/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of --torch-env are told to reach rank 0's host, in the START of an agent that a
 * test plays. The other host is lost already. */
#include "launcher/job/job_impl.h"
#include "tests/support/host_link_fixture.h"

#include <stdio.h>
#include <string.h>

enum { HOSTS = 2, RANKS = 3, PORT = 4711 };

static struct job job;
static struct job_options options;
static struct rank_slot slots[RANKS];
static int numbers[RANKS] = { 0, 1, 2 };
static struct rank_host places[HOSTS];
static struct host_slots names[HOSTS];
static struct rank_plan plan;
static struct host_rank ranks[RANKS];
static struct job_host other, *host_list[HOSTS] = { &host, &other };

static void on_credit(void *context, int rank, enum output_stream stream, uint32_t nbytes)
{
    (void)context, (void)rank, (void)stream, (void)nbytes;
}

static void on_finished(void *context)
{
    (void)context;
}

static void set_up(void)
{
    static const struct job_output_events events = { .on_credit = on_credit,
                                                     .on_finished = on_finished };
    const struct job_output_options output = { .nranks = RANKS };
    static char other_name[] = "b";
    struct err err = { 0 };
    options = (struct job_options){ .attributes.torch_env = true };
    names[1].name = other_name;
    places[0] = (struct rank_host){ &names[0], numbers, 2 };
    places[1] = (struct rank_host){ &names[1], numbers + 2, 1 };
    plan =
        (struct rank_plan){ .ranks = slots, .size = RANKS, .hosts = places, .host_count = HOSTS };
    host_link_set_up((struct job_host){ .phase = HOST_READY,
                                        .linked = true,
                                        .ranks = ranks,
                                        .options = &options,
                                        .facts.torch_port = PORT });
    other = (struct job_host){ .phase = HOST_LOST };
    job = (struct job){ .loop = &loop, .options = &options, .plan = &plan, .hosts = host_list };
    job.output = job_output_create(&loop, &output, &events, &job, &err);
    ck_assert_ptr_nonnull(job.output);
    job_state_init(&job.state, HOSTS, RANKS);
    ck_assert_int_eq(uv_timer_init(&loop, &job.start.status_timer), 0);
}

static void tear_down(void)
{
    job_output_destroy(job.output);
    uv_close((uv_handle_t *)&job.start.status_timer, NULL);
    host_link_tear_down();
}

static const struct {
    const char *name;     /* of rank 0's host */
    bool alone, local;    /* all ranks are there; it is hvdrun's own */
    const char *address;  /* by which it is reached, or "" */
    const char *caller;   /* hvdrun's own address, as the other host sees it, or "" */
    const char *expected; /* NULL: the name of this host */
} masters[] = {
    { "a", true, false, "192.0.2.1", "192.0.2.2", "127.0.0.1" },
    { "a", false, false, "192.0.2.1", "192.0.2.2", "192.0.2.1" },
    { "a", false, false, "", "192.0.2.2", "a" },
    { "a", false, true, "", "192.0.2.2", "192.0.2.2" },
    { "a", false, true, "", "", "a" },
    { "localhost", false, true, "", "192.0.2.2", "192.0.2.2" },
    { "localhost", false, true, "", "", NULL },
};

START_TEST(the_other_ranks_are_told_an_address_at_which_they_find_rank_0)
{
    struct agent_start start;
    struct frame frame;
    struct err err;
    char here[256] = "";
    names[0].name = (char *)(uintptr_t)masters[_i].name;
    places[0].local_size = masters[_i].alone ? RANKS : 2;
    host.where = places[0];
    host.local = masters[_i].local;
    snprintf(host.facts.address, sizeof host.facts.address, "%s", masters[_i].address);
    snprintf(other.facts.caller, sizeof other.facts.caller, "%s", masters[_i].caller);
    ck_assert_int_eq(gethostname(here, sizeof here - 1), 0);
    job_start_ranks(&job);
    ck_assert(host_link_comes(&frame));
    ck_assert_int_eq(frame.type, AGENT_START);
    struct wire_reader body;
    wire_reader_init(&body, frame.body, frame.length);
    ck_assert_int_eq(agent_start_decode(&start, &body, &err), HVD_OK);
    ck_assert_str_eq(start.master_address, masters[_i].expected ? masters[_i].expected : here);
    ck_assert_uint_eq(start.master_port, PORT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_start");
    TCase *tcase = tcase_create("master");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, the_other_ranks_are_told_an_address_at_which_they_find_rank_0, 0,
                        sizeof masters / sizeof *masters);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
