/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds of workers that no launcher has started: they know a service, a job, its key and how many
 * they are. And what they are told when none comes about. */
#include "lib/base/env_names.h"
#include "lib/hvd.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* Only one name has no address; all others are this host. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    static struct sockaddr_in address;
    static struct addrinfo info;
    (void)hints;
    if (strcmp(host, "nowhere") == 0)
        return EAI_NONAME;
    address =
        (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(service)) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    info = (struct addrinfo){ .ai_family = AF_INET,
                              .ai_socktype = SOCK_STREAM,
                              .ai_addr = (struct sockaddr *)&address,
                              .ai_addrlen = sizeof address };
    *list = &info;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

/* What a launcher says is forgotten, but for the key and the size. */
static void use_service(const char *host)
{
    char text[64];
    snprintf(text, sizeof text, "%s:%s", host, getenv(ENV_RENDEZVOUS_PORT));
    setenv(ENV_RENDEZVOUS, text, 1);
    setenv(ENV_JOB_ID, "train", 1);
    setenv(ENV_START_TIMEOUT, "20", 1);
    unsetenv(ENV_RENDEZVOUS_ADDR);
    unsetenv(ENV_RENDEZVOUS_PORT);
    unsetenv(ENV_RANK);
}

/* --- what works --- */

static void check_ranks_differ(void)
{
    int32_t rank = hvd_rank(), ranks[RANKS_MAX];
    REQUIRE_STATUS(hvd_allgather("ranks", &rank, ranks, 1, HVD_INT32), HVD_OK);
    for (int i = 0; i < hvd_size(); i++)
        REQUIRE(ranks[i] == i);
}

static int given_a_rank(int number)
{
    (void)number;
    use_service("127.0.0.1");
    init_world();
    check_ranks_differ();
    check_collectives(1000);
    return leave_world();
}

START_TEST(who_asks_for_no_rank_is_given_one)
{
    ranks_run(&(struct mini_options){ .size = _i, .owner = "train" }, given_a_rank);
}
END_TEST

/* Every other one asks for a rank. */
static int asking_for_a_rank(int number)
{
    char text[16];
    int wanted = number % 2 ? 4 - number : -1;
    use_service("a-name");
    snprintf(text, sizeof text, "%d", wanted);
    if (wanted >= 0)
        setenv(ENV_RANK, text, 1);
    init_world();
    REQUIRE(wanted < 0 || hvd_rank() == wanted);
    check_ranks_differ();
    return leave_world();
}

START_TEST(who_asks_for_a_rank_is_given_that)
{
    ranks_run(&(struct mini_options){ .size = 5 }, asking_for_a_rank);
}
END_TEST

static int with_few_ports(int number)
{
    setenv(ENV_PORT_RANGE, "23000-26999", 1);
    return given_a_rank(number);
}

START_TEST(ports_are_found_without_a_rank)
{
    ranks_run(&(struct mini_options){ .size = 3 }, with_few_ports);
}
END_TEST

START_TEST(who_comes_before_the_service_waits_for_it)
{
    struct mini_rendezvous first, mini;
    struct ranks ranks;
    mini_rendezvous_start(&first, &(struct mini_options){ .size = 3 });
    mini_rendezvous_stop(&first);
    ranks_start(&ranks, 3, &first, given_a_rank);
    for (int i = 0; i < 3; i++)
        wait_until_asleep(ranks.pids[i]);
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 3, .again = &first });
    ranks_wait_all(&ranks);
    mini_rendezvous_stop(&mini);
}
END_TEST

/* --- what does not --- */

static void require_failure(int status, const char *text)
{
    REQUIRE_STATUS(hvd_init(), status);
    require_text(text);
    REQUIRE(hvd_is_initialized() == 0);
}

static int where_nobody_listens(int number)
{
    (void)number;
    use_service("127.0.0.1");
    setenv(ENV_START_TIMEOUT, "1", 1);
    require_failure(HVD_ERR_PEER_LOST, " times in ");
    require_text("join 127.0.0.1:");
    require_text(" s: connect: Connection refused");
    return 0;
}

START_TEST(a_service_that_does_not_come_is_given_up)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 1 });
    mini_rendezvous_stop(&mini);
    ranks_start(&ranks, 1, &mini, where_nobody_listens);
    ck_assert_int_eq(ranks_wait(&ranks, 0), 0);
}
END_TEST

static int without_an_address(int number)
{
    (void)number;
    use_service("nowhere");
    setenv(ENV_START_TIMEOUT, "1", 1);
    require_failure(HVD_ERR_PEER_LOST, "join nowhere:");
    require_text(" times in ");
    require_text("Name or service not known");
    return 0;
}

START_TEST(a_name_without_an_address_is_given_up)
{
    ranks_run(&(struct mini_options){ .size = 1 }, without_an_address);
}
END_TEST

static int not_accepted(int number)
{
    (void)number;
    use_service("127.0.0.1");
    require_failure(HVD_ERR_PEER_LOST, "does not accept this HVD_JOB_KEY for job train");
    require_text("join 127.0.0.1:");
    return 0;
}

START_TEST(another_jobs_name_is_as_good_as_a_wrong_key)
{
    ranks_run(&(struct mini_options){ .size = 2, .owner = "test" }, not_accepted);
}
END_TEST

static int with_a_wrong_key(int number)
{
    setenv(ENV_JOB_KEY, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 1);
    return not_accepted(number);
}

START_TEST(a_wrong_key_is_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, with_a_wrong_key);
}
END_TEST

static int refused(int number)
{
    (void)number;
    use_service("127.0.0.1");
    require_failure(HVD_ERR_ENVIRONMENT, ": job train has 4 of 4 workers already");
    require_text("join 127.0.0.1:");
    return 0;
}

START_TEST(who_is_refused_learns_why)
{
    ranks_run(
        &(struct mini_options){ .size = 1, .refuses = "job train has 4 of 4 workers already" },
        refused);
}
END_TEST

static int left_alone(int number)
{
    (void)number;
    use_service("127.0.0.1");
    init_world();
    atomic_fetch_add(&shared->counters[0], 1);
    int rc = HVD_OK;
    while (rc == HVD_OK)
        rc = hvd_barrier();
    REQUIRE(rc == HVD_ERR_PEER_LOST);
    require_text("the rendezvous is gone");
    return 0;
}

START_TEST(the_end_of_the_service_is_the_end_of_the_world)
{
    struct mini_rendezvous mini;
    struct ranks ranks;
    mini_rendezvous_start(&mini, &(struct mini_options){ .size = 2, .silent = true });
    ranks_start(&ranks, 2, &mini, left_alone);
    wait_for(0, 2);
    mini_rendezvous_stop(&mini);
    ranks_wait_all(&ranks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_service");
    TCase *tcase = tcase_create("world_service");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, who_asks_for_no_rank_is_given_one, 1, 6);
    tcase_add_test(tcase, who_asks_for_a_rank_is_given_that);
    tcase_add_test(tcase, ports_are_found_without_a_rank);
    tcase_add_test(tcase, who_comes_before_the_service_waits_for_it);
    tcase_add_test(tcase, a_service_that_does_not_come_is_given_up);
    tcase_add_test(tcase, a_name_without_an_address_is_given_up);
    tcase_add_test(tcase, another_jobs_name_is_as_good_as_a_wrong_key);
    tcase_add_test(tcase, a_wrong_key_is_refused);
    tcase_add_test(tcase, who_is_refused_learns_why);
    tcase_add_test(tcase, the_end_of_the_service_is_the_end_of_the_world);
    return unit_run(suite);
}
