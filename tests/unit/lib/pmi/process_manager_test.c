/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with a process manager on a socket pair, which the test plays in a thread: the requests
 * that it must get, and what becomes of each answer that it may give. */
#include "lib/pmi/process_manager.h"

#include "lib/base/clock.h"
#include "lib/hvd.h"
#include "tests/support/descriptors.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A request that must come, and its answer; NULL: none comes, or the connection ends. */
struct step {
    const char *request, *answer;
};

static struct process_manager_place place;
static struct err err;
static char value[PROCESS_MANAGER_VALUE_MAX];
static int ends[2];
static char descriptor[32];
static const char *rank;
static const struct step *steps;
static bool hang; /* after the last step; otherwise the connection ends */
static pthread_t player;

static const char *get(const char *name)
{
    static const char *const variables[][2] = { { "PMI_SIZE", "4" }, { "PMI_JOBID", "7.0" } };
    if (strcmp(name, "PMI_FD") == 0)
        return descriptor;
    if (strcmp(name, "PMI_RANK") == 0)
        return rank;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strcmp(name, variables[i][0]) == 0)
            return variables[i][1];
    return NULL;
}

static void *play(void *argument)
{
    char request[1024];
    (void)argument;
    for (; steps->request; steps++) {
        size_t wanted = strlen(steps->request);
        if (recv(ends[1], request, wanted, MSG_WAITALL) != (ssize_t)wanted)
            break;
        if (memcmp(request, steps->request, wanted) != 0)
            break;
        if (send(ends[1], steps->answer, strlen(steps->answer), MSG_NOSIGNAL) < 0)
            break;
    }
    if (!hang)
        shutdown(ends[1], SHUT_RDWR);
    return NULL;
}

static void begin(const char *as_rank, const struct step *script)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    snprintf(descriptor, sizeof descriptor, "%d", ends[0]);
    rank = as_rank;
    steps = script;
    ck_assert_int_eq(pthread_create(&player, NULL, play, NULL), 0);
}

static void end(void)
{
    shutdown(ends[0], SHUT_RDWR);
    pthread_join(player, NULL);
    close(ends[0]);
    close(ends[1]);
}

/* One session, to the end. */
static int run_session(const struct process_manager *manager, uint64_t limit_ms)
{
    void *session;
    uint64_t deadline_ms = monotonic_ms() + limit_ms;
    int rc = manager->open(&session, &place, get, deadline_ms, &err);
    if (rc < 0)
        return rc;
    rc = manager->exchange(session, value, deadline_ms, &err);
    manager->close(session);
    return rc;
}

#define INIT1                                                                                      \
    {                                                                                              \
        "cmd=init pmi_version=1 pmi_subversion=1\n",                                               \
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"                           \
    }
#define KVS1                                                                                       \
    {                                                                                              \
        "cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n"                                   \
    }
#define MAP1                                                                                       \
    {                                                                                              \
        "cmd=get kvsname=kvs_1 key=PMI_process_mapping\n",                                         \
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n"                             \
    }
#define END1                                                                                       \
    { "cmd=finalize\n", "cmd=finalize_ack\n" },                                                    \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }

START_TEST(rank_0_publishes_by_pmi1)
{
    static const struct step script[] = {
        INIT1,
        KVS1,
        MAP1,
        { "cmd=put kvsname=kvs_1 key=hvd-contact value=here\n", "cmd=put_result rc=0\n" },
        { "cmd=barrier_in\n", "cmd=barrier_out\n" },
        END1,
    };
    begin("0", script);
    snprintf(value, sizeof value, "here");
    ck_assert_msg(run_session(&process_manager_pmi1, 60000) == HVD_OK, "%s", err.text);
    ck_assert_int_eq(place.rank, 0);
    ck_assert_int_eq(place.size, 4);
    ck_assert_int_eq(place.local_rank, 0);
    ck_assert_int_eq(place.local_size, 2);
    pthread_join(player, NULL);
    ck_assert_ptr_null(steps->request);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(the_others_find_it_by_pmi1)
{
    static const struct step script[] = {
        INIT1,
        KVS1,
        { "cmd=get kvsname=kvs_1 key=PMI_process_mapping\n",
          "cmd=get_result rc=-1 msg=no such key\n" },
        { "cmd=barrier_in\n", "cmd=barrier_out\n" },
        { "cmd=get kvsname=kvs_1 key=hvd-contact\n", "cmd=get_result rc=0 value=here\n" },
        END1,
    };
    begin("3", script);
    ck_assert_msg(run_session(&process_manager_pmi1, 60000) == HVD_OK, "%s", err.text);
    ck_assert_int_eq(place.rank, 3);
    ck_assert_int_eq(place.local_size, 0);
    ck_assert_str_eq(value, "here");
    end();
}
END_TEST

#define INIT2                                                                                      \
    {                                                                                              \
        "cmd=init pmi_version=2 pmi_subversion=0\n",                                               \
            "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"                           \
    }
#define FULL2(rank, length)                                                                        \
    {                                                                                              \
        "    51cmd=fullinit;pmijobid=7.0;pmirank=" rank ";threaded=FALSE;",                        \
            "    " length "cmd=fullinit-response;rc=0;size=4;rank=" rank ";"                       \
    }
START_TEST(rank_0_publishes_by_pmi2)
{
    static const struct step script[] = {
        INIT2,
        FULL2("0", "41"),
        { "    44cmd=info-getjobattr;key=PMI_process_mapping;",
          "    68cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,1,4));rc=0;" },
        { "    39cmd=kvs-put;key=hvd-contact;value=here;", "    26cmd=kvs-put-response;rc=0;" },
        { "    14cmd=kvs-fence;", "    28cmd=kvs-fence-response;rc=0;" },
        { "    13cmd=finalize;", "    27cmd=finalize-response;rc=0;" },
        { NULL, NULL },
    };
    begin("0", script);
    snprintf(value, sizeof value, "here");
    int rc = run_session(&process_manager_pmi2, 60000);
    ck_assert_msg(rc == HVD_OK, "%s; at %s", err.text, steps->request);
    ck_assert_int_eq(place.size, 4);
    ck_assert_int_eq(place.local_size, 4);
    end();
}
END_TEST

START_TEST(the_others_find_it_by_pmi2)
{
    static const struct step script[] = {
        INIT2,
        FULL2("3", "41"),
        { "    44cmd=info-getjobattr;key=PMI_process_mapping;",
          "    46cmd=info-getjobattr-response;found=FALSE;rc=0;" },
        { "    14cmd=kvs-fence;", "    28cmd=kvs-fence-response;rc=0;" },
        { "    47cmd=kvs-get;jobid=7.0;srcid=-1;key=hvd-contact;",
          "    49cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b=;" },
        { "    13cmd=finalize;", "    27cmd=finalize-response;rc=0;" },
        { NULL, NULL },
    };
    begin("3", script);
    int rc = run_session(&process_manager_pmi2, 60000);
    ck_assert_msg(rc == HVD_OK, "%s; at %s", err.text, steps->request);
    ck_assert_int_eq(place.rank, 3);
    ck_assert_str_eq(value, "a;b=");
    end();
}
END_TEST

/* ---- what goes wrong ---- */

static const struct {
    const struct process_manager *manager;
    struct step script[4];
    int status;
    const char *text;
} failures[] = {
    { &process_manager_pmi1,
      { { "cmd=init", "" } },
      HVD_ERR_ENVIRONMENT,
      "but the process manager has closed it" },
    { &process_manager_pmi1,
      { { "cmd=init pmi_version=1 pmi_subversion=1\n",
          "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n" } },
      HVD_ERR_PROTOCOL,
      "pmi_version: '2' is not a number from 1 to 1" },
    { &process_manager_pmi1,
      { { "cmd=init pmi_version=1 pmi_subversion=1\n",
          "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n" } },
      HVD_ERR_PROTOCOL,
      "response_to_init: rc=-1" },
    { &process_manager_pmi1,
      { { "cmd=init pmi_version=1 pmi_subversion=1\n", "HTTP/1.1 400 Bad Request\r\n" } },
      HVD_ERR_PROTOCOL,
      "'HTTP/1.1' is not a field of a message" },
    { &process_manager_pmi1,
      { INIT1, { "cmd=get_my_kvsname\n", "cmd=my_kvsname\n" } },
      HVD_ERR_PROTOCOL,
      "no name of the key-value space in the answer" },
    { &process_manager_pmi1,
      { INIT1, KVS1, MAP1, { "cmd=barrier_in\n", "cmd=barrier_out rc=-1\n" } },
      HVD_ERR_PROTOCOL,
      "barrier_out: rc=-1" },
    { &process_manager_pmi2,
      { { "cmd=init pmi_version=2 pmi_subversion=0\n",
          "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n" } },
      HVD_ERR_PROTOCOL,
      "pmi_version: '1' is not a number from 2 to 2" },
    { &process_manager_pmi2,
      { INIT2,
        { "    51cmd=fullinit;pmijobid=7.0;pmirank=1;threaded=FALSE;",
          "    41cmd=fullinit-response;rc=0;size=1;rank=1;" } },
      HVD_ERR_PROTOCOL,
      "rank: '1' is not a number from 0 to 0" },
    { &process_manager_pmi2,
      { INIT2,
        { "    51cmd=fullinit;pmijobid=7.0;pmirank=1;threaded=FALSE;", "no length at all" } },
      HVD_ERR_PROTOCOL,
      "is not the length of a message" },
};

START_TEST(a_wrong_answer_is_an_error_that_says_what_is_wrong)
{
    struct step script[5] = { { NULL, NULL } };
    memcpy(script, failures[_i].script, sizeof failures[_i].script);
    begin("1", script);
    ck_assert_int_eq(run_session(failures[_i].manager, 60000), failures[_i].status);
    ck_assert_msg(strstr(err.text, failures[_i].text) != NULL, "%s", err.text);
    end();
}
END_TEST

/* A rank that never comes keeps the others in the barrier. */
START_TEST(a_barrier_that_nobody_completes_ends_at_the_deadline)
{
    static const struct step script[] = { INIT1, KVS1, MAP1, { NULL, NULL } };
    hang = true;
    begin("1", script);
    ck_assert_int_eq(run_session(&process_manager_pmi1, 500), HVD_ERR_TIMEOUT);
    ck_assert_str_eq(err.text, "some ranks of the job have not called hvd_init in time");
    end();
}
END_TEST

static const struct {
    const char *descriptor, *rank;
    const char *text;
} variables[] = {
    { "x", "0", "PMI_FD: 'x' is not a number from 0 to " },
    { "", "0", "PMI_FD: '' is not a number from 0 to " },
    { "-1", "0", "PMI_FD: '-1' is not a number from 0 to " },
    { "99999999999999999999", "0", "PMI_FD: '99999999999999999999' is not a number from 0 to " },
    { "1000000", "0", "PMI_FD is 1000000, which is not open; if this variable is left over" },
    { "0", "4", "PMI_RANK: '4' is not a number from 0 to 3" },
    { "0", "1 ", "PMI_RANK: '1 ' is not a number from 0 to 3" },
    { "0", NULL, "PMI_RANK is not set" },
};

START_TEST(a_wrong_variable_is_named)
{
    snprintf(descriptor, sizeof descriptor, "%s", variables[_i].descriptor);
    rank = variables[_i].rank;
    ck_assert_int_eq(run_session(&process_manager_pmi1, 60000), HVD_ERR_ENVIRONMENT);
    ck_assert_msg(strncmp(err.text, variables[_i].text, strlen(variables[_i].text)) == 0, "%s",
                  err.text);
}
END_TEST

START_TEST(a_descriptor_that_is_no_socket_is_not_touched)
{
    int pipes[2];
    char byte;
    ck_assert_int_eq(pipe2(pipes, O_NONBLOCK), 0);
    snprintf(descriptor, sizeof descriptor, "%d", pipes[1]);
    rank = "0";
    ck_assert_int_eq(run_session(&process_manager_pmi1, 60000), HVD_ERR_ENVIRONMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "which is no socket"));
    ck_assert_int_eq(read(pipes[0], &byte, 1), -1);
    close(pipes[0]);
    close(pipes[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("process_manager");
    TCase *tcase = tcase_create("process_manager");
    descriptors_watch(tcase);
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, rank_0_publishes_by_pmi1);
    tcase_add_test(tcase, the_others_find_it_by_pmi1);
    tcase_add_test(tcase, rank_0_publishes_by_pmi2);
    tcase_add_test(tcase, the_others_find_it_by_pmi2);
    tcase_add_loop_test(tcase, a_wrong_answer_is_an_error_that_says_what_is_wrong, 0,
                        sizeof failures / sizeof *failures);
    tcase_add_test(tcase, a_barrier_that_nobody_completes_ends_at_the_deadline);
    tcase_add_loop_test(tcase, a_wrong_variable_is_named, 0, sizeof variables / sizeof *variables);
    tcase_add_test(tcase, a_descriptor_that_is_no_socket_is_not_touched);
    return unit_run(suite);
}
