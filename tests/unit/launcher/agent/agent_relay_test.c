/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous as an agent offers it on 127.0.0.1: real clients on one side, and on the other the
 * test, which answers for hvdrun. */
#include "launcher/process/socket_owner.h"
#include "launcher/protocol/agent_protocol.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/unit.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A value of 4 MiB and a head before it; values that are asked for at once, and after them all that
 * the ranks of a large job say they do; more than any client may leave unread. */
enum { ANSWER_SIZE = (4 << 20) + (64 << 10), LARGEST_SIZE = 48 << 20, TOO_MUCH = 72 << 20 };
enum { FRAME_SIZE = 256 << 10, PLACES = 512 + 8 };

static struct agent_fixture agent;
static struct sockaddr_in address;

/* How often the agent, which is another process, has asked whose a client is. */
static int *questions;

bool __real_socket_owner_find(struct socket_owner *self, int fd, uid_t *uid);
bool __wrap_socket_owner_find(struct socket_owner *self, int fd, uid_t *uid);

bool __wrap_socket_owner_find(struct socket_owner *self, int fd, uid_t *uid)
{
    ++*questions;
    return __real_socket_owner_find(self, fd, uid);
}

static void setup(void)
{
    static const char *const command[] = { "sleep", "1000", NULL };
    struct agent_ready ready;
    questions =
        mmap(NULL, sizeof *questions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(questions != MAP_FAILED);
    agent_fixture_start(&agent, NULL);
    agent_fixture_describe(&agent, &(struct agent_fixture_job){ .arguments = command });
    struct wire_reader body = agent_fixture_until(&agent, AGENT_READY);
    ck_assert_int_eq(agent_ready_decode(&ready, &body, NULL), HVD_OK);
    address = (struct sockaddr_in){ .sin_family = AF_INET,
                                    .sin_port = htons(ready.relay_port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    agent_fixture_send(&agent, AGENT_START, NULL, 0);
    agent_fixture_until(&agent, AGENT_STARTED);
}

static void setup_without_patience(void)
{
    agent.relay_stall_ms = 300;
    setup();
}

static void teardown(void)
{
    ck_assert_int_eq(agent_fixture_stop(&agent), 0);
    munmap(questions, sizeof *questions);
}

static int dial(void)
{
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    return client;
}

static struct agent_relay_client next_client(void)
{
    struct agent_relay_client client;
    struct wire_reader body = agent_fixture_until(&agent, AGENT_RELAY_OPEN);
    ck_assert_int_eq(agent_relay_client_decode(&client, &body, NULL), HVD_OK);
    return client;
}

/* A client that hvdrun knows. */
static int come(void)
{
    int client = dial();
    next_client();
    return client;
}

/* As hvdrun does, in several frames; then waits until the agent has read them. */
static void answer(uint32_t id, size_t length)
{
    static char frame[4 + FRAME_SIZE];
    memcpy(frame, &(uint32_t){ htole32(id) }, 4);
    memset(frame + 4, 'a', FRAME_SIZE);
    for (; length > 0; length -= length < FRAME_SIZE ? length : FRAME_SIZE)
        agent_fixture_send(&agent, AGENT_RELAY_DATA, frame,
                           4 + (length < FRAME_SIZE ? length : FRAME_SIZE));
    agent_fixture_send_numbers(&agent, AGENT_HEARTBEAT, 2, 1, 2);
}

/* What a client gets until the end. */
static size_t read_all(int client)
{
    static char got[65536];
    size_t length = 0;
    for (ssize_t n; (n = recv(client, got, sizeof got, 0)) > 0;)
        length += (size_t)n;
    return length;
}

START_TEST(a_client_that_has_said_its_last_word_gets_its_answer)
{
    static const char said[] = "\1\0\0\0HTTP/1.1 200 OK";
    char got[64] = "";
    int client = dial();
    ck_assert_int_eq(send(client, "GET", 3, 0), 3);
    shutdown(client, SHUT_WR);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_RELAY_DATA);
    ck_assert_uint_eq(wire_get_u32(&body), 1);
    ck_assert_mem_eq(body.at, "GET", 3);
    agent_fixture_until(&agent, AGENT_RELAY_END);
    agent_fixture_send(&agent, AGENT_RELAY_DATA, said, sizeof said - 1);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    ck_assert_int_eq(recv(client, got, sizeof got, MSG_WAITALL), sizeof said - 5);
    ck_assert_str_eq(got, said + 4);
    close(client);
}
END_TEST

START_TEST(a_client_that_is_gone_is_reported_once)
{
    struct frame frame;
    int client = come(), ends = 0;
    close(client);
    agent_fixture_until(&agent, AGENT_RELAY_END);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    agent_fixture_send_numbers(&agent, AGENT_STOP, 2, SIGKILL, 0);
    while (agent_fixture_next(&agent, &frame) && frame.type != AGENT_DONE)
        ends += frame.type == AGENT_RELAY_END;
    ck_assert_int_eq(ends, 0);
}
END_TEST

START_TEST(what_comes_for_clients_that_never_were_is_dropped)
{
    int client = come();
    answer(7, 3);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 7);
    answer(1, 3);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    ck_assert_uint_eq(read_all(client), 3);
    close(client);
}
END_TEST

/* A job that is stopped before it is described. */
START_TEST(what_comes_before_the_relay_is_open_is_dropped)
{
    struct wire_writer out = { 0 };
    agent_fixture_start(&agent, NULL);
    frame_put(&out, AGENT_STOP, "\17\0\0\0\0\0\0\0", 8);
    frame_put(&out, AGENT_RELAY_DATA, "\1\0\0\0GET", 7);
    frame_put(&out, AGENT_RELAY_END, "\1\0\0\0", 4);
    agent_fixture_send_bytes(&agent, out.data, out.length);
    wire_writer_fini(&out);
    agent_fixture_until(&agent, AGENT_DONE);
    ck_assert_int_eq(agent_fixture_wait(&agent), 0);
}
END_TEST

START_TEST(every_client_gets_its_own_answer)
{
    enum { CLIENTS = 300 };
    static int clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = dial();
        ck_assert_uint_eq(next_client().id, (uint32_t)i + 1);
    }
    for (int i = 0; i < CLIENTS; i += 3) { /* some have gone meanwhile */
        close(clients[i]);
        agent_fixture_until(&agent, AGENT_RELAY_END);
    }
    for (int i = CLIENTS - 1; i >= 0; i--) {
        answer((uint32_t)i + 1, (size_t)i + 1);
        agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, i + 1);
    }
    for (int i = 0; i < CLIENTS; i++) {
        if (i % 3 == 0)
            continue;
        ck_assert_uint_eq(read_all(clients[i]), (size_t)i + 1);
        close(clients[i]);
    }
}
END_TEST

START_TEST(a_client_of_the_agents_own_user_is_told)
{
    int client = dial();
    ck_assert(next_client().own);
    close(client);
}
END_TEST

START_TEST(a_client_that_has_gone_already_is_nobodys)
{
    kill(agent.pid, SIGSTOP);
    close(dial());
    kill(agent.pid, SIGCONT);
    ck_assert(!next_client().own);
}
END_TEST

/* Another user connects so often, says so, and stays until it is hung up on. */
static void play_user(int count, int said)
{
    bool played = setuid(65534) == 0;
    for (int i = 0; i < count && played; i++) {
        int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        played = connect(client, (struct sockaddr *)&address, sizeof address) == 0;
    }
    if (played && (write(said, "", 1) < 0 || read(said, &(char){ 0 }, 1) < 0))
        _exit(1);
    _exit(0);
}

/* Our end, or -1 if nobody else can be played. */
static int start_user(int count)
{
    int said[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, said), 0);
    if (fork() == 0) {
        close(said[0]);
        play_user(count, said[1]);
    }
    close(said[1]);
    if (read(said[0], &(char){ 0 }, 1) == 1)
        return said[0];
    close(said[0]);
    return -1;
}

START_TEST(a_client_of_another_user_is_told)
{
    int user = start_user(1);
    if (user < 0)
        return;
    ck_assert(!next_client().own);
    close(user);
    wait(NULL);
}
END_TEST

/* Does ulimit -n let the agent fill all its places, each with a client and what it may ask for? */
static bool may_fill_places(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= 3 * PLACES;
}

/* Once its own is known, those of all others are. */
START_TEST(unauthenticated_clients_leave_places_for_the_agents_own_user)
{
    int user = may_fill_places() ? start_user(PLACES + 30) : -1, unauthenticated = 0;
    if (user < 0)
        return;
    int client = dial();
    while (!next_client().own)
        unauthenticated++;
    ck_assert_int_eq(unauthenticated, PLACES);
    close(client);
    close(user);
    wait(NULL);
}
END_TEST

/* Those that hvdrun has been told of. */
static void fill_places(int *clients, int count)
{
    for (int i = 0; i < count; i++)
        clients[i] = dial();
    for (int known = 0; known < count;)
        known += next_client().own;
}

START_TEST(whose_a_client_is_is_not_asked_when_there_is_no_place_for_anybody)
{
    static int clients[PLACES];
    int user = may_fill_places() ? start_user(PLACES) : -1;
    if (user < 0)
        return;
    fill_places(clients, PLACES);
    int before = *questions;
    for (int i = 0; i < 5; i++) {
        int client = dial();
        ck_assert_uint_eq(read_all(client), 0);
        close(client);
    }
    ck_assert_int_eq(*questions, before);
    for (int i = 0; i < PLACES; i++)
        close(clients[i]);
    close(user);
    wait(NULL);
}
END_TEST

START_TEST(the_largest_answer_waits_for_a_client_that_is_slow)
{
    int client = come();
    answer(1, LARGEST_SIZE);
    agent_fixture_until(&agent, AGENT_HEARTBEAT);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    ck_assert_uint_eq(read_all(client), LARGEST_SIZE);
    close(client);
}
END_TEST

/* It and hvdrun may have said it at once: then hvdrun says it again in answer. */
START_TEST(a_last_word_that_comes_twice_cuts_nothing_off)
{
    int client = come();
    shutdown(client, SHUT_WR);
    answer(1, ANSWER_SIZE);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    agent_fixture_until(&agent, AGENT_HEARTBEAT);
    ck_assert_uint_eq(read_all(client), ANSWER_SIZE);
    close(client);
}
END_TEST

START_TEST(a_client_that_asks_for_more_than_it_reads_is_hung_up_on)
{
    int client = come();
    answer(1, TOO_MUCH);
    agent_fixture_until(&agent, AGENT_RELAY_END);
    ck_assert_uint_lt(read_all(client), TOO_MUCH);
    close(client);
}
END_TEST

START_TEST(while_a_client_is_behind_it_is_not_read)
{
    struct frame frame;
    int client = come();
    answer(1, ANSWER_SIZE);
    agent_fixture_until(&agent, AGENT_HEARTBEAT);
    ck_assert_int_eq(send(client, "GET", 3, 0), 3);
    int other = dial();
    ck_assert_int_eq(send(other, "GET", 3, 0), 3);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_RELAY_DATA);
    ck_assert_uint_eq(wire_get_u32(&body), 2);
    for (size_t length = 0; length < ANSWER_SIZE;) {
        ssize_t n = recv(client, (char[65536]){ 0 }, 65536, 0);
        ck_assert_int_gt(n, 0);
        length += (size_t)n;
    }
    ck_assert(agent_fixture_next(&agent, &frame) && frame.type == AGENT_RELAY_DATA);
    close(client);
    close(other);
}
END_TEST

START_TEST(a_client_that_reads_nothing_is_hung_up_on_in_time)
{
    int client = come(), other = come();
    answer(1, ANSWER_SIZE);
    answer(2, 5);
    struct wire_reader body = agent_fixture_until(&agent, AGENT_RELAY_END);
    ck_assert_uint_eq(wire_get_u32(&body), 1);
    ck_assert_uint_lt(read_all(client), ANSWER_SIZE);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 2);
    ck_assert_uint_eq(read_all(other), 5);
    close(client);
    close(other);
}
END_TEST

START_TEST(a_client_that_was_stopped_with_its_job_is_waited_for)
{
    int client = come();
    agent_fixture_send_numbers(&agent, AGENT_SIGNAL, 1, SIGSTOP);
    answer(1, ANSWER_SIZE);
    agent_fixture_send_numbers(&agent, AGENT_RELAY_END, 1, 1);
    usleep(3 * 300 * 1000);
    ck_assert_uint_eq(read_all(client), ANSWER_SIZE);
    close(client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_relay");
    TCase *patient = tcase_create("patient"), *impatient = tcase_create("impatient");
    TCase *closed = tcase_create("closed");
    tcase_set_timeout(patient, 60);
    tcase_add_checked_fixture(patient, setup, teardown);
    tcase_add_test(patient, a_client_that_has_said_its_last_word_gets_its_answer);
    tcase_add_test(patient, a_client_that_is_gone_is_reported_once);
    tcase_add_test(patient, whose_a_client_is_is_not_asked_when_there_is_no_place_for_anybody);
    tcase_add_test(patient, what_comes_for_clients_that_never_were_is_dropped);
    tcase_add_test(patient, every_client_gets_its_own_answer);
    tcase_add_test(patient, a_client_of_the_agents_own_user_is_told);
    tcase_add_test(patient, a_client_that_has_gone_already_is_nobodys);
    tcase_add_test(patient, a_client_of_another_user_is_told);
    tcase_add_test(patient, unauthenticated_clients_leave_places_for_the_agents_own_user);
    tcase_add_test(patient, the_largest_answer_waits_for_a_client_that_is_slow);
    tcase_add_test(patient, a_last_word_that_comes_twice_cuts_nothing_off);
    tcase_add_test(patient, a_client_that_asks_for_more_than_it_reads_is_hung_up_on);
    tcase_add_test(patient, while_a_client_is_behind_it_is_not_read);
    suite_add_tcase(suite, patient);
    tcase_set_timeout(impatient, 60);
    tcase_add_checked_fixture(impatient, setup_without_patience, teardown);
    tcase_add_test(impatient, a_client_that_reads_nothing_is_hung_up_on_in_time);
    tcase_add_test(impatient, a_client_that_was_stopped_with_its_job_is_waited_for);
    suite_add_tcase(suite, impatient);
    tcase_add_test(closed, what_comes_before_the_relay_is_open_is_dropped);
    suite_add_tcase(suite, closed);
    return unit_run(suite);
}
