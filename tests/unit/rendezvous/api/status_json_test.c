/* SPDX-License-Identifier: Apache-2.0 */
/* A job as JSON: as nobody has come, while it gathers, when it runs, and when it has failed.
 * Linked with -Wl,--wrap=calloc. */
#include "rendezvous/api/status_json.h"

#include "rendezvous/base/host_groups.h"
#include "rendezvous/world/rendezvous_job.h"
#include "tests/support/json.h"
#include "tests/support/rank_ends.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_END                                                                                     \
    "\"stats\":null,\"stalled\":null,"                                                             \
    "\"end\":null,\"exit_status\":null,\"terminated\":false,\"output\":null"
#define EPOCH_MS 1795284478000ull /* 2026-11-21T18:07:58Z */

static struct err err;
static struct rendezvous_job *job;
static cJSON *json; /* what the last call of look() gave */

static void setup(int size)
{
    job = rendezvous_job_create("job-1", size, 30000, 1000, &err);
    ck_assert_ptr_nonnull(job);
    json = NULL;
}

/* "0: out" or "1: err", as if the launcher had seen the rank write it. */
static char *written(void *context, int rank, bool of_stderr, size_t nbytes)
{
    char *text = NULL;
    ck_assert_ptr_eq(context, &job);
    ck_assert_uint_eq(nbytes, LAUNCHER_VIEW_OUTPUT_MAX);
    ck_assert_int_ge(asprintf(&text, "%d: %s\nend\n", rank, of_stderr ? "err" : "out"), 0);
    return text;
}

/* Two ranks on one host. */
static const struct rendezvous_slot two[2] = { { .rank_info = { 0, 2, 0, 2, 0, 1 }, .host = "a" },
                                               { .rank_info = { 1, 2, 1, 2, 0, 1 }, .host = "a" } };

/* The job of a launcher, of two ranks. */
static void setup_planned(const struct rendezvous_slot *slots)
{
    const struct rendezvous_options options = { .id = "p",
                                                .slots = slots,
                                                .size = 2,
                                                .start_timeout_ms = 1000,
                                                .events.output = written,
                                                .context = &job,
                                                .command = "./train 'a b'",
                                                .user = "ada",
                                                .started_ms = EPOCH_MS - 500 };
    job = rendezvous_job_create_planned(&options, 0, &err);
    ck_assert_ptr_nonnull(job);
    json = NULL;
}

static void teardown(void)
{
    cJSON_Delete(json);
    rendezvous_job_destroy(job);
}

static void come(const char *host, int wanted, int size, int pid, uint64_t now_ms)
{
    struct join_hello hello = { .rank = wanted, .size = size, .pid = pid };
    int pending_worker;
    snprintf(hello.host, sizeof hello.host, "%s", host);
    ck_assert_int_eq(
        pending_workers_join(&job->pending, &hello, NULL, now_ms, &pending_worker, &err), HVD_OK);
    job->connected++;
}

/* Two hosts, two ranks each, which run. */
static void setup_running(void)
{
    setup(0);
    come("a", -1, 4, 101, 2000);
    come("b", -1, 4, 201, 3000);
    come("a", -1, 4, 102, 4000);
    come("b", -1, 4, 202, 5000);
    ck_assert_int_eq(rendezvous_job_assign(job, 5000, &err), HVD_OK);
}

static void hear(int rank, const char *text, uint64_t now_ms)
{
    struct join_report report = {
        .stats = { .uptime_ns = 20000000000, .waiting_ns = 5250000000 },
    };
    report.stats.operations[STATS_ALLREDUCE] = (struct operation_stats){ .count = 7, .bytes = 56 };
    report.stats.operations[STATS_BARRIER] = (struct operation_stats){ .count = 2 };
    snprintf(report.text, sizeof report.text, "%s", text);
    rendezvous_job_heard(job, rank, &report, now_ms);
}

/* The text is JSON by a reader that is not cJSON's. */
static void check_text(const cJSON *made)
{
    cJSON *array = cJSON_CreateArray();
    cJSON_AddItemReferenceToArray(array, (cJSON *)made);
    char *text = cJSON_PrintUnformatted(array);
    ck_assert_int_eq(json_array_length(text, strlen(text)), 1);
    free(text);
    cJSON_Delete(array);
}

static void look(uint64_t now_ms)
{
    cJSON_Delete(json);
    json = status_json_job_in_full(job, false, EPOCH_MS, now_ms);
    ck_assert_ptr_nonnull(json);
    check_text(json);
}

/* The value at a path such as "ranks.0.host", as text; "?" if there is none. */
static const char *at(const char *path)
{
    static char text[400];
    const cJSON *value = json;
    char name[64];
    int length;
    for (; value && sscanf(path, "%63[^.]%n", name, &length) == 1;
         path += length + (path[length] == '.'))
        value = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, atoi(name))
                                     : cJSON_GetObjectItemCaseSensitive(value, name);
    if (!value)
        return "?";
    char *printed = cJSON_PrintUnformatted(value);
    snprintf(text, sizeof text, "%s", printed);
    free(printed);
    return text;
}

START_TEST(nobody_has_come)
{
    setup(0);
    look(3500);
    ck_assert_str_eq(at("id"), "\"job-1\"");
    ck_assert_str_eq(at("state"), "\"gathering\"");
    ck_assert_str_eq(at("planned"), "false");
    ck_assert_str_eq(at("size"), "null");
    ck_assert_str_eq(at("missing"), "null");
    ck_assert_str_eq(at("connected"), "0");
    ck_assert_str_eq(at("host_count"), "0");
    ck_assert_str_eq(at("since"), "\"2026-11-21T18:07:59.000Z\"");
    ck_assert_str_eq(at("age_s"), "2.5");
    ck_assert_str_eq(at("ended"), "null");
    ck_assert_str_eq(at("cause"), "\"\"");
    ck_assert_str_eq(at("hosts"), "[]");
    ck_assert_str_eq(at("ranks"), "[]");
    ck_assert_str_eq(at("pending_workers"), "[]");
    teardown();
}
END_TEST

START_TEST(a_list_has_no_ranks)
{
    setup_running();
    json = status_json_job(job, EPOCH_MS, 6000);
    ck_assert_str_eq(at("size"), "4");
    ck_assert_str_eq(at("host_count"), "2");
    ck_assert_str_eq(
        at("states"),
        "{\"expected\":0,\"gloo\":0,\"waiting\":0,\"running\":4,\"left\":0,\"lost\":0}");
    ck_assert_str_eq(at("ranks"), "?");
    ck_assert_str_eq(at("hosts"), "?");
    teardown();
}
END_TEST

START_TEST(workers_have_come_and_others_are_missing)
{
    setup(5);
    come("a", 3, 5, 101, 1500);
    come("b", -1, 5, 201, 2000);
    look(2250);
    ck_assert_str_eq(at("state"), "\"gathering\"");
    ck_assert_str_eq(at("size"), "5");
    ck_assert_str_eq(at("connected"), "2");
    ck_assert_str_eq(at("missing"), "3");
    ck_assert_str_eq(at("host_count"), "2");
    ck_assert_str_eq(at("states.waiting"), "2");
    ck_assert_str_eq(at("states.expected"), "3");
    ck_assert_str_eq(
        at("pending_workers.0"),
        "{\"host\":\"a\",\"pid\":101,\"wanted_rank\":3,\"worker\":null,\"came_s_ago\":0.75}");
    ck_assert_str_eq(
        at("pending_workers.1"),
        "{\"host\":\"b\",\"pid\":201,\"wanted_rank\":null,\"worker\":null,\"came_s_ago\":0.25}");
    ck_assert_str_eq(at("pending_workers.2"), "?");
    teardown();
}
END_TEST

START_TEST(ranks_are_told_one_by_one_and_by_host)
{
    setup_running();
    look(65000);
    ck_assert_str_eq(at("state"), "\"running\"");
    ck_assert_str_eq(at("missing"), "0");
    ck_assert_str_eq(at("pending_workers"), "[]");
    ck_assert_str_eq(at("ranks.2"),
                     "{\"rank\":2,\"worker\":2,\"host\":\"b\",\"local_rank\":0,\"cross_rank\":1,"
                     "\"state\":\"running\","
                     "\"pid\":201,\"joined_s_ago\":62,\"heard_s_ago\":62,\"status_text\":[]," NO_END
                     "}");
    ck_assert_str_eq(at("ranks.4"), "?");
    ck_assert_str_eq(at("hosts.0.host"), "\"a\"");
    ck_assert_str_eq(at("hosts.0.ranks"), "[0,1]");
    ck_assert_str_eq(at("hosts.1.ranks"), "[2,3]");
    ck_assert_str_eq(at("hosts.1.states.running"), "2");
    ck_assert_str_eq(at("hosts.2"), "?");
    teardown();
}
END_TEST

START_TEST(what_a_rank_reports_is_split_into_lines)
{
    setup_running();
    hear(1, "first\n\nlast without end", 64500);
    look(65000);
    ck_assert_str_eq(at("ranks.1.status_text"), "[\"first\",\"\",\"last without end\"]");
    ck_assert_str_eq(at("ranks.1.heard_s_ago"), "0.5");
    ck_assert_str_eq(at("ranks.0.status_text"), "[]");
    teardown();
}
END_TEST

START_TEST(what_a_rank_has_counted_is_told_once_it_was_asked)
{
    setup_running();
    hear(1, "", 64500);
    look(65000);
    ck_assert_str_eq(at("ranks.0.stats"), "null");
    ck_assert_str_eq(at("ranks.1.stats"),
                     "{\"collectives\":9,\"bytes\":56,\"waiting_s\":5.25,\"uptime_s\":20,"
                     "\"operations\":{\"allreduce\":{\"collectives\":7,\"bytes\":56},"
                     "\"barrier\":{\"collectives\":2,\"bytes\":0}}}");
    teardown();
}
END_TEST

START_TEST(a_loss_is_told_with_its_cause)
{
    setup_running();
    hear(3, "computing\n", 5500);
    membership_broke(&job->membership, 3, 6000);
    membership_tick(&job->membership, 7000);
    job->connected--;
    look(8000);
    ck_assert_str_eq(at("state"), "\"failed\"");
    ck_assert_str_eq(at("cause"), "\"the connection to rank 3 on b broke\"");
    ck_assert_str_eq(at("ranks.3.state"), "\"lost\"");
    ck_assert_str_eq(at("ranks.3.status_text"), "[\"its connection broke\"]");
    ck_assert_str_eq(at("hosts.1.states.lost"), "1");
    ck_assert_str_eq(at("states.running"), "3");
    job->ended_ms = 9000;
    look(9500);
    ck_assert_str_eq(at("ended"), "\"2026-11-21T18:08:07.000Z\"");
    teardown();
}
END_TEST

START_TEST(of_a_planned_job_ranks_are_known_before_they_come)
{
    setup_planned(two);
    rendezvous_job_saw_gloo(job, 1);
    look(500);
    ck_assert_str_eq(at("planned"), "true");
    ck_assert_str_eq(at("size"), "2");
    ck_assert_str_eq(at("missing"), "1");
    ck_assert_str_eq(
        at("ranks.0"),
        "{\"rank\":0,\"worker\":0,\"host\":\"a\",\"local_rank\":0,\"cross_rank\":0,\"state\":"
        "\"expected\",\"pid\":null,\"joined_s_ago\":null,\"heard_s_ago\":null,"
        "\"status_text\":[\"has not called hvd_init\"]," NO_END "}");
    ck_assert_str_eq(at("ranks.1.state"), "\"gloo\"");
    ck_assert_str_eq(at("ranks.1.heard_s_ago"), "null");
    teardown();
}
END_TEST

START_TEST(horovod_workers_wait_run_and_leave)
{
    static const struct {
        int seen, ended;
        const char *state, *of_rank_0, *status_text;
    } steps[] = {
        { 0, -1, "\"gathering\"", "\"gloo\"", "[\"waits in hvd.init() for the other ranks\"]" },
        { 1, -1, "\"running\"", "\"gloo\"", "[\"has called hvd.init(), and cannot be asked\"]" },
        { 1, 0, "\"running\"", "\"left\"", "[\"exited with status 0\"]" },
        { 1, 1, "\"ended\"", "\"left\"", "[\"exited with status 0\"]" },
    };
    setup_planned(two);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        rendezvous_job_saw_gloo(job, steps[i].seen);
        if (steps[i].ended >= 0)
            membership_ended(&job->membership, steps[i].ended, EXITED_WITH(0), 450);
        look(500);
        ck_assert_str_eq(at("state"), steps[i].state);
        ck_assert_str_eq(at("ranks.0.state"), steps[i].of_rank_0);
        ck_assert_str_eq(at("ranks.0.status_text"), steps[i].status_text);
        ck_assert_str_eq(at("cause"), "\"\"");
    }
    teardown();
}
END_TEST

START_TEST(a_horovod_worker_that_is_killed_is_lost)
{
    setup_planned(two);
    rendezvous_job_saw_gloo(job, 0);
    rendezvous_job_saw_gloo(job, 1);
    membership_ended(&job->membership, 1, KILLED_BY(9), 450);
    look(500);
    ck_assert_str_eq(at("state"), "\"failed\"");
    ck_assert_str_eq(at("ranks.0.state"), "\"gloo\"");
    ck_assert_str_eq(at("ranks.1.state"), "\"lost\"");
    teardown();
}
END_TEST

START_TEST(a_launcher_says_what_is_run_by_whom_since_when)
{
    setup_planned(two);
    look(500);
    ck_assert_str_eq(at("command"), "\"./train 'a b'\"");
    ck_assert_str_eq(at("user"), "\"ada\"");
    ck_assert_str_eq(at("started"), "\"2026-11-21T18:07:57.500Z\"");
    ck_assert_str_eq(at("verdict"), "null");
    ck_assert_str_eq(at("exit_status"), "null");
    ck_assert_str_eq(at("failed_rank"), "null");
    teardown();
}
END_TEST

START_TEST(without_a_launcher_all_of_that_is_null)
{
    static const char *const fields[] = { "command", "user",        "started",
                                          "verdict", "exit_status", "failed_rank" };
    setup_running();
    look(6000);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        ck_assert_str_eq(at(fields[i]), "null");
    teardown();
}
END_TEST

START_TEST(the_end_of_a_rank_is_what_the_launcher_has_seen)
{
    setup_planned(two);
    ck_assert(!launcher_view_end(job->launch, 1, &(struct rendezvous_end){ *KILLED_BY(9), false }));
    look(500);
    ck_assert_str_eq(at("ranks.1.end"), "\"was killed by signal 9 (SIGKILL)\"");
    ck_assert_str_eq(at("ranks.1.exit_status"), "137");
    ck_assert_str_eq(at("ranks.1.terminated"), "false");
    ck_assert_str_eq(at("ranks.0.end"), "null");
    ck_assert(launcher_view_end(job->launch, 0,
                                &(struct rendezvous_end){ { .kind = RANK_END_HOST_LOST }, true }));
    look(500);
    ck_assert_str_eq(at("ranks.0.end"), "\"was lost with its host's agent\"");
    ck_assert_str_eq(at("ranks.0.exit_status"), "null");
    ck_assert_str_eq(at("ranks.0.terminated"), "true");
    ck_assert_str_eq(at("state"), "\"gathering\""); /* there is no verdict yet */
    teardown();
}
END_TEST

/* Neither rank has called hvd_init. */
START_TEST(the_verdict_decides_what_has_become_of_the_job)
{
    setup_planned(two);
    launcher_view_verdict(job->launch, &(struct rendezvous_verdict){ "FAILED rank 1", 3, 1 });
    look(500);
    ck_assert_str_eq(at("state"), "\"failed\"");
    ck_assert_str_eq(at("cause"), "\"FAILED rank 1\"");
    ck_assert_str_eq(at("verdict"), "\"FAILED rank 1\"");
    ck_assert_str_eq(at("exit_status"), "3");
    ck_assert_str_eq(at("failed_rank"), "1");
    launcher_view_verdict(job->launch, &(struct rendezvous_verdict){ "all is well", 0, -1 });
    look(500);
    ck_assert_str_eq(at("state"), "\"ended\"");
    ck_assert_str_eq(at("cause"), "\"\"");
    ck_assert_str_eq(at("exit_status"), "0");
    ck_assert_str_eq(at("failed_rank"), "null");
    teardown();
}
END_TEST

START_TEST(the_last_lines_of_ranks_are_told_to_who_wants_them)
{
    setup_planned(two);
    look(500);
    ck_assert_str_eq(at("ranks.1.output"), "null");
    cJSON_Delete(json);
    json = status_json_job_in_full(job, true, EPOCH_MS, 500);
    ck_assert_str_eq(at("ranks.1.output"),
                     "{\"stdout\":[\"1: out\",\"end\"],\"stderr\":[\"1: err\",\"end\"]}");
    teardown();
    setup_running();
    json = status_json_job_in_full(job, true, EPOCH_MS, 6000);
    ck_assert_str_eq(at("ranks.1.output"), "null");
    teardown();
}
END_TEST

START_TEST(names_of_hosts_may_be_any_bytes)
{
    struct rendezvous_slot slots[2] = {
        { .rank_info = { 0, 2, 0, 1, 0, 2 }, .host = "\xff\"\\\n\x01" },
        { .rank_info = { 1, 2, 0, 1, 1, 2 }, .host = "k\xc3\xb6ln" }
    };
    setup_planned(slots);
    look(1000);
    ck_assert_str_eq(at("ranks.0.host"), "\"?\\\"\\\\??\"");
    ck_assert_str_eq(at("ranks.1.host"), "\"k\xc3\xb6ln\"");
    ck_assert_str_eq(at("hosts.1.host"), "\"k\xc3\xb6ln\"");
    teardown();
}
END_TEST

START_TEST(a_job_that_could_not_start_says_why)
{
    setup(3);
    come("a", -1, 3, 1, 1000);
    pending_workers_end(&job->pending, "somebody ended it");
    look(1000);
    ck_assert_str_eq(at("state"), "\"failed\"");
    ck_assert_ptr_nonnull(strstr(at("cause"), "somebody ended it"));
    teardown();
}
END_TEST

START_TEST(a_clock_that_is_behind_does_no_harm)
{
    setup_running();
    look(0);
    ck_assert_str_eq(at("age_s"), "0");
    ck_assert_str_eq(at("ranks.0.heard_s_ago"), "0");
    teardown();
}
END_TEST

static int left; /* allocations that succeed */

static void *limited(size_t size)
{
    return left-- > 0 ? malloc(size) : NULL;
}

START_TEST(without_memory_there_is_no_json_and_nothing_leaks)
{
    setup_running();
    hear(1, "one\ntwo\n", 6000);
    cJSON_InitHooks(&(cJSON_Hooks){ limited, free });
    int count = 0;
    for (cJSON *made = NULL; !made; count++) {
        left = count;
        made = status_json_job_in_full(job, false, EPOCH_MS, 7000);
        cJSON_Delete(made);
        ck_assert_int_lt(count, 10000);
        if (made)
            break;
    }
    cJSON_InitHooks(NULL);
    ck_assert_int_gt(count, 100);
    teardown();
}
END_TEST

static int failing; /* the next calloc() is number 1; 0: none fails (--wrap) */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return failing > 0 && --failing == 0 ? NULL : __real_calloc(count, size);
}

START_TEST(without_memory_for_the_hosts_of_a_job_there_is_no_json)
{
    int nth = 1;
    setup_running();
    for (cJSON *made = NULL; !made; nth++) {
        failing = nth;
        made = status_json_job_in_full(job, false, EPOCH_MS, 7000);
        ck_assert(!made == (failing == 0));
        cJSON_Delete(made);
    }
    ck_assert_int_gt(nth, 4);
    failing = 0;
    teardown();
}
END_TEST

/* Too many for anything that is not nearly linear: it would take minutes. */
START_TEST(the_largest_world_can_be_told)
{
    setup(WORLD_SIZE_MAX);
    for (int i = 0; i < WORLD_SIZE_MAX; i++) {
        char host[16];
        snprintf(host, sizeof host, "n%d", i % 997);
        come(host, i, WORLD_SIZE_MAX, i + 1, 1000);
    }
    ck_assert_int_eq(rendezvous_job_assign(job, 1000, &err), HVD_OK);
    json = status_json_job_in_full(job, false, EPOCH_MS, 2000);
    ck_assert_str_eq(at("host_count"), "997");
    ck_assert_str_eq(at("states.running"), "131072");
    teardown();
}
END_TEST

START_TEST(hosts_stand_in_order_of_their_first_worker)
{
    static const char *const names[] = { "c", "a", "c", "b", "a", "c" };
    static const int order[] = { 0, 2, 5, 1, 4, 3 }, starts[] = { 0, 3, 5, 6 };
    struct host_groups groups;
    ck_assert_int_eq(host_groups_init(&groups, names, 6), HVD_OK);
    ck_assert_int_eq(groups.count, 3);
    ck_assert_mem_eq(groups.order, order, sizeof order);
    ck_assert_mem_eq(groups.starts, starts, sizeof starts);
    host_groups_fini(&groups);
    ck_assert_int_eq(host_groups_init(&groups, names, 0), HVD_OK);
    ck_assert_int_eq(groups.count, 0);
    host_groups_fini(&groups);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status_json");
    TCase *tcase = tcase_create("status_json");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, nobody_has_come);
    tcase_add_test(tcase, a_list_has_no_ranks);
    tcase_add_test(tcase, workers_have_come_and_others_are_missing);
    tcase_add_test(tcase, ranks_are_told_one_by_one_and_by_host);
    tcase_add_test(tcase, what_a_rank_reports_is_split_into_lines);
    tcase_add_test(tcase, what_a_rank_has_counted_is_told_once_it_was_asked);
    tcase_add_test(tcase, a_loss_is_told_with_its_cause);
    tcase_add_test(tcase, of_a_planned_job_ranks_are_known_before_they_come);
    tcase_add_test(tcase, horovod_workers_wait_run_and_leave);
    tcase_add_test(tcase, a_horovod_worker_that_is_killed_is_lost);
    tcase_add_test(tcase, a_launcher_says_what_is_run_by_whom_since_when);
    tcase_add_test(tcase, without_a_launcher_all_of_that_is_null);
    tcase_add_test(tcase, the_end_of_a_rank_is_what_the_launcher_has_seen);
    tcase_add_test(tcase, the_verdict_decides_what_has_become_of_the_job);
    tcase_add_test(tcase, the_last_lines_of_ranks_are_told_to_who_wants_them);
    tcase_add_test(tcase, names_of_hosts_may_be_any_bytes);
    tcase_add_test(tcase, a_job_that_could_not_start_says_why);
    tcase_add_test(tcase, a_clock_that_is_behind_does_no_harm);
    tcase_add_test(tcase, without_memory_there_is_no_json_and_nothing_leaks);
    tcase_add_test(tcase, without_memory_for_the_hosts_of_a_job_there_is_no_json);
    tcase_add_test(tcase, the_largest_world_can_be_told);
    tcase_add_test(tcase, hosts_stand_in_order_of_their_first_worker);
    return unit_run(suite);
}
