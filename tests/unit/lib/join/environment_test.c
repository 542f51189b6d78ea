/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says, and which words of it are refused by name. */
#include "lib/join/environment.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define JOINED                                                                                     \
    "HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1 HOROVOD_GLOO_RENDEZVOUS_PORT=4242 HVD_JOB_KEY=" KEY    \
    " HOROVOD_RANK=1 HOROVOD_SIZE=4"
#define SERVICE "HVD_RENDEZVOUS=node1:4242 HVD_JOB_ID=train HVD_JOB_KEY=" KEY " HOROVOD_SIZE=4"
#define MANAGED "OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=1 PMIX_NAMESPACE=7"

/* "NAME=value NAME=value"; a '_' for a blank inside a value is written '\x01'. */
static const char *variables;

static const char *get(const char *name)
{
    static char value[4096];
    size_t length = strlen(name);
    for (const char *at = variables; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            int size = (int)strcspn(at + length + 1, " ");
            snprintf(value, sizeof value, "%.*s", size, at + length + 1);
            for (char *c = value; *c; c++)
                *c = *c == '\1' ? ' ' : *c;
            return value;
        }
    return NULL;
}

static int read_it(const char *text, struct environment *environment, struct err *err)
{
    variables = text;
    *err = (struct err){ 0 };
    return environment_read(environment, get, err);
}

START_TEST(an_empty_environment_is_a_world_of_one)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it("", &environment, &err), HVD_OK);
    ck_assert(!environment.has_rendezvous);
    ck_assert_int_eq(environment.rank_info.size, 1);
    ck_assert_int_eq(environment.rank_info.rank, 0);
    ck_assert_str_ne(environment.host, "");
}
END_TEST

START_TEST(a_place_and_a_rendezvous_are_read)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it(JOINED " HOROVOD_LOCAL_RANK=1 HOROVOD_LOCAL_SIZE=2"
                                    " HOROVOD_CROSS_RANK=0 HOROVOD_CROSS_SIZE=2"
                                    " HOROVOD_HOSTNAME=node1",
                             &environment, &err),
                     HVD_OK);
    ck_assert(environment.has_rendezvous);
    ck_assert_str_eq(environment.rendezvous_host, "127.0.0.1");
    ck_assert_int_eq(environment.rendezvous_port, 4242);
    ck_assert_int_eq(environment.rank_info.rank, 1);
    ck_assert_int_eq(environment.rank_info.size, 4);
    ck_assert_int_eq(environment.rank_info.local_rank, 1);
    ck_assert_int_eq(environment.rank_info.local_size, 2);
    ck_assert_int_eq(environment.rank_info.cross_size, 2);
    ck_assert_str_eq(environment.host, "node1");
    ck_assert_uint_eq(environment.key.bytes[1], 0x11);
}
END_TEST

START_TEST(a_worker_of_an_elastic_job_has_its_number)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it(JOINED, &environment, &err), HVD_OK);
    ck_assert(!environment.elastic && environment.worker == -1 && environment.epoch == 0);
    ck_assert_int_eq(read_it(JOINED " HOROVOD_ELASTIC=1 HVD_WORKER=17", &environment, &err),
                     HVD_OK);
    ck_assert(environment.elastic && environment.worker == 17);
    ck_assert_int_eq(read_it(JOINED " HOROVOD_ELASTIC=yes", &environment, &err),
                     HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HOROVOD_ELASTIC: 'yes' is not a number from 0 to 1");
    ck_assert_int_eq(read_it(JOINED " HVD_WORKER=-1", &environment, &err), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HVD_WORKER: '-1' is not a number from 0 to 1048575");
}
END_TEST

START_TEST(a_service_of_an_elastic_job_needs_no_size)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it("HVD_RENDEZVOUS=node1:4242 HVD_JOB_ID=train HVD_JOB_KEY=" KEY
                             " HOROVOD_ELASTIC=1",
                             &environment, &err),
                     HVD_OK);
    ck_assert(environment.elastic && environment.is_service);
}
END_TEST

/* Nobody could be told of, or come. */
START_TEST(a_process_alone_is_not_elastic)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it("HOROVOD_ELASTIC=1", &environment, &err), HVD_OK);
    ck_assert(!environment.elastic && !environment.has_rendezvous);
}
END_TEST

START_TEST(a_service_gives_the_place)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it(SERVICE, &environment, &err), HVD_OK);
    ck_assert(environment.has_rendezvous && environment.is_service);
    ck_assert_str_eq(environment.rendezvous_host, "node1");
    ck_assert_int_eq(environment.rendezvous_port, 4242);
    ck_assert_str_eq(environment.job, "train");
    ck_assert_int_eq(environment.rank_info.rank, -1);
    ck_assert_int_eq(environment.rank_info.size, 4);
    ck_assert_int_eq(environment.join_timeout_s, 30);
    ck_assert_uint_eq(environment.key.bytes[1], 0x11);
}
END_TEST

START_TEST(of_a_service_a_rank_may_be_wanted)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it(SERVICE " HOROVOD_RANK=3 HOROVOD_HOSTNAME=b HOROVOD_START_TIMEOUT=90",
                             &environment, &err),
                     HVD_OK);
    ck_assert_int_eq(environment.rank_info.rank, 3);
    ck_assert_int_eq(environment.join_timeout_s, 90);
    ck_assert_str_eq(environment.host, "b");
}
END_TEST

START_TEST(a_process_managers_ranks_have_the_start_timeout_that_is_set)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it(MANAGED " HOROVOD_START_TIMEOUT=90", &environment, &err), HVD_OK);
    ck_assert(!environment.has_rendezvous);
    ck_assert_int_eq(environment.join_timeout_s, 90);
}
END_TEST

START_TEST(a_launchers_job_may_have_a_name)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it(JOINED " HOROVOD_START_TIMEOUT=", &environment, &err), HVD_OK);
    ck_assert_str_eq(environment.job, "");
    ck_assert_int_eq(environment.join_timeout_s, 30);
    ck_assert_int_eq(read_it(JOINED " HVD_JOB_ID=a1b2", &environment, &err), HVD_OK);
    ck_assert_str_eq(environment.job, "a1b2");
    ck_assert(environment.has_rendezvous && !environment.is_service);
}
END_TEST

/* Where a service may be. */
static const struct {
    const char *text, *host;
    int port;
} services[] = {
    { "node1.example.org:4242", "node1.example.org", 4242 },
    { "198.51.100.7:1", "198.51.100.7", 1 },
    { "[2001:db8::1]:65535", "2001:db8::1", 65535 },
    { "[::1]:80", "::1", 80 },
    { "[fe80::1%eth0]:80", "fe80::1%eth0", 80 },
    { "[::ffff:192.0.2.1]:80", "::ffff:192.0.2.1", 80 },
    { "node1", NULL, 0 },
    { "", NULL, 0 },
    { ":80", NULL, 0 },
    { "node1:", NULL, 0 },
    { "node1:0", NULL, 0 },
    { "node1:65536", NULL, 0 },
    { "node1:+80", NULL, 0 },
    { "node1:80x", NULL, 0 },
    { "node1:80:", NULL, 0 },
    { "node1:4294967376", NULL, 0 },
    { "::1:80", NULL, 0 },
    { "2001:db8::1", NULL, 0 },
    { "[::1]", NULL, 0 },
    { "[::1]80", NULL, 0 },
    { "[::1:80", NULL, 0 },
    { "::1]:80", NULL, 0 },
    { "[]:80", NULL, 0 },
    { "[%eth0]:80", NULL, 0 },
    { "[::1%]:80", NULL, 0 },
    { "[node1]:80", NULL, 0 },
    { "[192.0.2.1]:80", NULL, 0 },
    { "[1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:1:2:3:4:5:6:7:8]:80", NULL, 0 },
    { "http://node1:80", NULL, 0 },
    { "node1/:80", NULL, 0 },
    { "me@node1:80", NULL, 0 },
    { "node\1one:80", NULL, 0 },
    { "node\x1b:80", NULL, 0 },
};

START_TEST(a_service_has_a_host_and_a_port)
{
    struct environment environment;
    struct err err;
    char text[512];
    snprintf(text, sizeof text,
             "HVD_JOB_ID=train HVD_JOB_KEY=" KEY " HOROVOD_SIZE=4 HVD_RENDEZVOUS=%s",
             services[_i].text);
    int rc = read_it(text, &environment, &err);
    ck_assert_msg(rc == (services[_i].host ? HVD_OK : HVD_ERR_ENVIRONMENT), "%s", text);
    if (services[_i].host) {
        ck_assert_str_eq(environment.rendezvous_host, services[_i].host);
        ck_assert_int_eq(environment.rendezvous_port, services[_i].port);
    } else {
        ck_assert_mem_eq(err.text, "HVD_RENDEZVOUS: '", 17);
        ck_assert_ptr_nonnull(strstr(err.text, "' is not HOST:PORT or [ADDRESS]:PORT"));
    }
}
END_TEST

START_TEST(a_name_of_a_service_may_be_as_long_as_one_of_a_host)
{
    for (int length = 255; length <= 256; length++) {
        struct environment environment;
        struct err err;
        char text[600];
        int used = snprintf(text, sizeof text, "%s",
                            "HVD_JOB_ID=a HVD_JOB_KEY=" KEY " HOROVOD_SIZE=4 HVD_RENDEZVOUS=");
        memset(text + used, 'x', (size_t)length);
        strcpy(text + used + length, ":80");
        ck_assert_int_eq(read_it(text, &environment, &err),
                         length < 256 ? HVD_OK : HVD_ERR_ENVIRONMENT);
    }
}
END_TEST

START_TEST(networks_and_ports_are_read)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it("", &environment, &err), HVD_OK);
    ck_assert_str_eq(environment.interfaces, "");
    ck_assert_int_eq(environment.ports.first, 0);
    ck_assert_int_eq(read_it("HVD_NETWORK_INTERFACES=ib0,10.0.0.0/8 HVD_PORT_RANGE=4000-4099",
                             &environment, &err),
                     HVD_OK);
    ck_assert_str_eq(environment.interfaces, "ib0,10.0.0.0/8");
    ck_assert_int_eq(environment.ports.first, 4000);
    ck_assert_int_eq(environment.ports.last, 4099);
}
END_TEST

static const struct {
    const char *text;
    enum transport transport;
} transports[] = {
    { "", TRANSPORT_AUTO },
    { "HVD_TRANSPORT=auto", TRANSPORT_AUTO },
    { "HVD_TRANSPORT=shm", TRANSPORT_SHM },
    { "HVD_TRANSPORT=Unix", TRANSPORT_UNIX },
    { "HVD_TRANSPORT=TCP", TRANSPORT_TCP },
};

START_TEST(a_transport_is_read)
{
    struct environment environment;
    struct err err;
    ck_assert_int_eq(read_it(transports[_i].text, &environment, &err), HVD_OK);
    ck_assert_int_eq(environment.transport, transports[_i].transport);
}
END_TEST

START_TEST(a_choice_of_interfaces_without_end_is_refused)
{
    static char text[5000];
    struct environment environment;
    struct err err;
    strcpy(text, "HVD_NETWORK_INTERFACES=eth0");
    while (strlen(text) < 1100)
        strcat(text, ",eth0");
    ck_assert_int_eq(read_it(text, &environment, &err), HVD_ERR_ENVIRONMENT);
    ck_assert_str_eq(err.text, "HVD_NETWORK_INTERFACES: longer than 1023 characters");
}
END_TEST

/* Each is refused with a text that has both words. */
static const struct {
    const char *variables, *word, *other_word;
} bad[] = {
    { "HOROVOD_RANK= HOROVOD_SIZE=4", "HOROVOD_RANK", "''" },
    { "HOROVOD_RANK=x HOROVOD_SIZE=4", "HOROVOD_RANK", "'x'" },
    { "HOROVOD_RANK=1x HOROVOD_SIZE=4", "HOROVOD_RANK", "'1x'" },
    { "HOROVOD_RANK=-1 HOROVOD_SIZE=4", "HOROVOD_RANK", "'-1'" },
    { "HOROVOD_RANK=+1 HOROVOD_SIZE=4", "HOROVOD_RANK", "'+1'" },
    { "HOROVOD_RANK=\1"
      "1 HOROVOD_SIZE=4",
      "HOROVOD_RANK", "' 1'" },
    { "HOROVOD_RANK=0x1 HOROVOD_SIZE=4", "HOROVOD_RANK", "'0x1'" },
    { "HOROVOD_RANK=4294967297 HOROVOD_SIZE=4", "HOROVOD_RANK", "4294967297" },
    { "HOROVOD_RANK=0 HOROVOD_SIZE=0", "HOROVOD_SIZE", "'0'" },
    { "HOROVOD_RANK=0 HOROVOD_SIZE=131073", "HOROVOD_SIZE", "131073" },
    { "HOROVOD_RANK=\x1b[2J HOROVOD_SIZE=4", "HOROVOD_RANK", "\\x1b" },
    { "HOROVOD_RANK=0", "HOROVOD_RANK", "HOROVOD_SIZE" },
    { "HOROVOD_SIZE=1", "HOROVOD_SIZE", "HOROVOD_RANK" },
    { "HOROVOD_RANK=4 HOROVOD_SIZE=4", "HOROVOD_RANK is 4", "HOROVOD_SIZE is 4" },
    { "HOROVOD_RANK=5 HOROVOD_SIZE=4", "HOROVOD_RANK is 5", "HOROVOD_SIZE is 4" },
    { "HOROVOD_RANK=0 HOROVOD_SIZE=2", "HOROVOD_SIZE is 2", "HOROVOD_GLOO_RENDEZVOUS_ADDR" },
    { "HOROVOD_LOCAL_RANK=0", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE" },
    { "HOROVOD_LOCAL_RANK=2 HOROVOD_LOCAL_SIZE=2", "HOROVOD_LOCAL_RANK is 2",
      "HOROVOD_LOCAL_SIZE is 2" },
    { "HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=2", "HOROVOD_LOCAL_SIZE is 2", "HOROVOD_SIZE is 1" },
    { "HOROVOD_CROSS_RANK=a", "HOROVOD_CROSS_RANK", "'a'" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1", "HOROVOD_GLOO_RENDEZVOUS_ADDR",
      "HOROVOD_GLOO_RENDEZVOUS_PORT" },
    { "HOROVOD_GLOO_RENDEZVOUS_PORT=1", "HOROVOD_GLOO_RENDEZVOUS_PORT",
      "HOROVOD_GLOO_RENDEZVOUS_ADDR" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=a HOROVOD_GLOO_RENDEZVOUS_PORT=70000",
      "HOROVOD_GLOO_RENDEZVOUS_PORT", "70000" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=a HOROVOD_GLOO_RENDEZVOUS_PORT=0",
      "HOROVOD_GLOO_RENDEZVOUS_PORT", "'0'" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=a HOROVOD_GLOO_RENDEZVOUS_PORT=1",
      "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HVD_JOB_KEY" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=a HOROVOD_GLOO_RENDEZVOUS_PORT=1 HVD_JOB_KEY=" KEY,
      "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_RANK" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR= HOROVOD_GLOO_RENDEZVOUS_PORT=1 HVD_JOB_KEY=" KEY
      " HOROVOD_RANK=0 HOROVOD_SIZE=2",
      "HOROVOD_GLOO_RENDEZVOUS_ADDR", "''" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=a\1b HOROVOD_GLOO_RENDEZVOUS_PORT=1 HVD_JOB_KEY=" KEY
      " HOROVOD_RANK=0 HOROVOD_SIZE=2",
      "HOROVOD_GLOO_RENDEZVOUS_ADDR", "'a b'" },
    { "HOROVOD_GLOO_RENDEZVOUS_ADDR=a HOROVOD_GLOO_RENDEZVOUS_PORT=1 HVD_JOB_KEY=00112233"
      " HOROVOD_RANK=0 HOROVOD_SIZE=2",
      "HVD_JOB_KEY", "64 hexadecimal digits" },
    { SERVICE " HOROVOD_GLOO_RENDEZVOUS_ADDR=a", "HVD_RENDEZVOUS", "HOROVOD_GLOO_RENDEZVOUS_ADDR" },
    { SERVICE " HOROVOD_GLOO_RENDEZVOUS_PORT=1", "HVD_RENDEZVOUS", "HOROVOD_GLOO_RENDEZVOUS_PORT" },
    { SERVICE " HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=1", "HVD_RENDEZVOUS",
      "HOROVOD_LOCAL_RANK" },
    { SERVICE " HOROVOD_LOCAL_SIZE=1", "given by the rendezvous", "HOROVOD_LOCAL_SIZE" },
    { SERVICE " HOROVOD_CROSS_RANK=x", "HVD_RENDEZVOUS", "HOROVOD_CROSS_RANK" },
    { SERVICE " HOROVOD_CROSS_SIZE=1", "HVD_RENDEZVOUS", "HOROVOD_CROSS_SIZE" },
    { SERVICE " HOROVOD_RANK=4", "HOROVOD_RANK is 4", "HOROVOD_SIZE is 4" },
    { SERVICE " HOROVOD_RANK=-1", "HOROVOD_RANK", "'-1'" },
    { SERVICE " HOROVOD_START_TIMEOUT=0", "HOROVOD_START_TIMEOUT", "'0'" },
    { SERVICE " HOROVOD_START_TIMEOUT=86401", "HOROVOD_START_TIMEOUT", "1 to 86400" },
    { SERVICE " HOROVOD_START_TIMEOUT=", "HOROVOD_START_TIMEOUT", "''" },
    { MANAGED " HOROVOD_START_TIMEOUT=0", "HOROVOD_START_TIMEOUT", "'0'" },
    { "HVD_RENDEZVOUS=a:1", "HVD_RENDEZVOUS", "HVD_JOB_ID" },
    { "HVD_RENDEZVOUS=a:1 HVD_JOB_ID=a", "HVD_RENDEZVOUS", "HVD_JOB_KEY" },
    { "HVD_RENDEZVOUS=a:1 HVD_JOB_ID=a HVD_JOB_KEY=" KEY, "HVD_RENDEZVOUS", "HOROVOD_SIZE" },
    { "HVD_RENDEZVOUS=a:1 HVD_JOB_ID=a HVD_JOB_KEY=0 HOROVOD_SIZE=2", "HVD_JOB_KEY",
      "64 hexadecimal digits" },
    { "HVD_RENDEZVOUS=a:1 HVD_JOB_ID=-a HVD_JOB_KEY=" KEY " HOROVOD_SIZE=2", "HVD_JOB_ID", "'-a'" },
    { "HVD_JOB_ID=", "HVD_JOB_ID", "''" },
    { "HVD_JOB_ID=a/b", "'a/b' is not the name of a job", "1 to 64 letters" },
    { "HVD_JOB_ID=\x1b", "HVD_JOB_ID", "\\x1b" },
    { "HOROVOD_HOSTNAME=", "HOROVOD_HOSTNAME", "''" },
    { "HVD_NETWORK_INTERFACES=", "HVD_NETWORK_INTERFACES", "'' is not the name of" },
    { "HVD_NETWORK_INTERFACES=eth0,10.0.0.0/33", "HVD_NETWORK_INTERFACES", "'10.0.0.0/33'" },
    { "HVD_NETWORK_INTERFACES=eth0\1,ib0", "HVD_NETWORK_INTERFACES", "ADDRESS/BITS" },
    { "HVD_PORT_RANGE=", "HVD_PORT_RANGE", "''" },
    { "HVD_PORT_RANGE=4000", "HVD_PORT_RANGE", "'4000'" },
    { "HVD_PORT_RANGE=4000-", "HVD_PORT_RANGE", "'4000-'" },
    { "HVD_PORT_RANGE=-4000", "HVD_PORT_RANGE", "'-4000'" },
    { "HVD_PORT_RANGE=4001-4000", "HVD_PORT_RANGE", "A-B with 1 <= A <= B <= 65535" },
    { "HVD_PORT_RANGE=0-10", "HVD_PORT_RANGE", "'0-10'" },
    { "HVD_PORT_RANGE=1-65536", "HVD_PORT_RANGE", "'1-65536'" },
    { "HVD_PORT_RANGE=1-2-3", "HVD_PORT_RANGE", "'1-2-3'" },
    { "HVD_PORT_RANGE=000000001-2", "HVD_PORT_RANGE", "'000000001-2'" },
    { "HVD_PORT_RANGE=\x1b-2", "HVD_PORT_RANGE", "\\x1b" },
    { "HVD_TRANSPORT=", "HVD_TRANSPORT", "''" },
    { "HVD_TRANSPORT=rdma", "'rdma'", "auto, shm, unix or tcp" },
    { "HVD_TRANSPORT=shm,tcp", "HVD_TRANSPORT", "'shm,tcp'" },
    { "HVD_TRANSPORT=\x1b", "HVD_TRANSPORT", "\\x1b" },
};

START_TEST(a_bad_word_is_refused_by_name)
{
    struct environment environment;
    struct err err;
    int rc = read_it(bad[_i].variables, &environment, &err);
    ck_assert_msg(rc == HVD_ERR_ENVIRONMENT, "%s: %d", bad[_i].variables, rc);
    ck_assert_msg(strstr(err.text, bad[_i].word) && strstr(err.text, bad[_i].other_word), "%s: %s",
                  bad[_i].variables, err.text);
}
END_TEST

START_TEST(the_keys_value_is_never_shown)
{
    struct environment environment;
    struct err err;
    int rc = read_it("HOROVOD_GLOO_RENDEZVOUS_ADDR=a HOROVOD_GLOO_RENDEZVOUS_PORT=1"
                     " HVD_JOB_KEY=deadbeefcafe HOROVOD_RANK=0 HOROVOD_SIZE=2",
                     &environment, &err);
    ck_assert_int_eq(rc, HVD_ERR_ENVIRONMENT);
    ck_assert_ptr_null(strstr(err.text, "beef"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("environment");
    TCase *tcase = tcase_create("environment");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, an_empty_environment_is_a_world_of_one);
    tcase_add_test(tcase, a_place_and_a_rendezvous_are_read);
    tcase_add_test(tcase, a_service_gives_the_place);
    tcase_add_test(tcase, a_worker_of_an_elastic_job_has_its_number);
    tcase_add_test(tcase, a_service_of_an_elastic_job_needs_no_size);
    tcase_add_test(tcase, a_process_alone_is_not_elastic);
    tcase_add_test(tcase, of_a_service_a_rank_may_be_wanted);
    tcase_add_test(tcase, a_process_managers_ranks_have_the_start_timeout_that_is_set);
    tcase_add_test(tcase, a_launchers_job_may_have_a_name);
    tcase_add_loop_test(tcase, a_service_has_a_host_and_a_port, 0,
                        sizeof services / sizeof *services);
    tcase_add_test(tcase, a_name_of_a_service_may_be_as_long_as_one_of_a_host);
    tcase_add_test(tcase, networks_and_ports_are_read);
    tcase_add_loop_test(tcase, a_transport_is_read, 0, sizeof transports / sizeof *transports);
    tcase_add_test(tcase, a_choice_of_interfaces_without_end_is_refused);
    tcase_add_loop_test(tcase, a_bad_word_is_refused_by_name, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tcase, the_keys_value_is_never_shown);
    return unit_run(suite);
}
