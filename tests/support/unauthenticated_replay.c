/* SPDX-License-Identifier: Apache-2.0 */
/* Unauthenticated clients that have listened, or ask what there is.
 *   replays: a proved request is sent again on its connection, on a new one, and on a new one that
 *   has its own nonce; a counter that does not rise; a HELLO that was taken, again on its
 *   connection and on a new one that begins with the same OPEN. All of it with the key of the job
 *   at hand, and none of it changes a value or a job.
 *   alike: whatever an unauthenticated client asks about a job is answered with the same bytes
 *   whether it is there or not, apart from nonces, and from its name where the client itself has a
 *   key. */
#include "tests/support/unauthenticated.h"

#include "rendezvous/http/http_access.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong;

static void expect(const char *what, bool as_expected)
{
    if (as_expected)
        return;
    printf("%s\n", what);
    wrong++;
}

/* ---- HTTP ---- */

struct person {
    int fd;
    struct job_key key;
    const char *job;
    unsigned char nonce[NONCE_SIZE];
    struct wire_writer received;
};

/* Sends bytes and reads one answer with its body; its status, 0 if the connection ends before. */
static int ask(struct person *person, const void *request, size_t length)
{
    struct wire_writer *received = &person->received;
    wire_writer_fini(received);
    send_all(person->fd, request, length);
    const char *end = NULL, *body_length = NULL;
    while (!end && read_until(person->fd, received, received->length + 1)) {
        wire_put_u8(received, 0);
        received->length--;
        end = strstr((const char *)received->data, "\r\n\r\n");
    }
    if (!end)
        return 0;
    body_length = strstr((const char *)received->data, "Content-Length: ");
    size_t head = (size_t)(end + 4 - (const char *)received->data);
    read_until(person->fd, received, head + (body_length ? (size_t)atoi(body_length + 16) : 0));
    wire_put_u8(received, 0);
    return atoi((const char *)received->data + 9);
}

static int ask_text(struct person *person, const char *request)
{
    return ask(person, request, strlen(request));
}

/* Connected, and told a nonce. */
static void person_init(struct person *person, const struct job_key *key, const char *job)
{
    *person = (struct person){ .fd = dial(), .key = *key, .job = job };
    int status = ask_text(person, "GET /v1/jobs HTTP/1.1\r\nHost: a\r\n\r\n");
    const char *nonce = status ? strstr((const char *)person->received.data, "nonce=\"") : NULL;
    if (status != 401 || !nonce ||
        sodium_hex2bin(person->nonce, NONCE_SIZE, nonce + 7, 2 * NONCE_SIZE, NULL, NULL, NULL) != 0)
        stop("no challenge, but %d", status);
}

static void person_fini(struct person *person)
{
    close(person->fd);
    wire_writer_fini(&person->received);
}

/* A PUT of one byte, or a GET if there is none. */
static void put_request(const struct person *person, struct wire_writer *out, uint64_t counter,
                        const char *value)
{
    static const char target[] = "/unauthenticated/replay";
    char proof[HTTP_PROOF_SIZE], head[HTTP_PROOF_SIZE + 256];
    const char *method = *value ? "PUT" : "GET";
    http_proof_make(proof, &person->key, person->job, person->nonce, counter, method, target, value,
                    strlen(value));
    int length =
        snprintf(head, sizeof head,
                 "%s %s HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\nContent-Length: %zu\r\n\r\n%s",
                 method, target, proof, strlen(value), value);
    wire_put_bytes(out, head, (size_t)length);
}

static int ask_proved(struct person *person, uint64_t counter, const char *value)
{
    struct wire_writer request = { 0 };
    put_request(person, &request, counter, value);
    int status = ask(person, request.data, request.length);
    wire_writer_fini(&request);
    return status;
}

static bool value_is(const struct job_key *key, const char *job, const char *value)
{
    struct person person;
    person_init(&person, key, job);
    bool is = ask_proved(&person, 1, "") == 200 &&
              strcmp(strstr((const char *)person.received.data, "\r\n\r\n") + 4, value) == 0;
    person_fini(&person);
    return is;
}

static void replay_elsewhere(const struct job_key *key, const char *job,
                             const struct wire_writer *recorded)
{
    struct person person = { .fd = dial() };
    expect("a request again on a new connection",
           ask(&person, recorded->data, recorded->length) == 401);
    person_fini(&person);
    person_init(&person, key, job);
    expect("a request again on a new connection with a nonce",
           ask(&person, recorded->data, recorded->length) == 401);
    person_fini(&person);
}

/* A refused request that has a body ends its connection: each try needs one. */
static void replay_counter(const struct job_key *key, const char *job, uint64_t first,
                           uint64_t next, int status, const char *what)
{
    struct person person;
    person_init(&person, key, job);
    expect("a proved request", ask_proved(&person, first, "2") == 200);
    expect(what, ask_proved(&person, next, status == 200 ? "2" : "1") == status);
    person_fini(&person);
}

static void replay_requests(const struct job_key *key, const char *job)
{
    struct person person;
    struct wire_writer recorded = { 0 };
    person_init(&person, key, job);
    put_request(&person, &recorded, 7, "1");
    expect("a proved request", ask(&person, recorded.data, recorded.length) == 200);
    expect("the next one", ask_proved(&person, 8, "2") == 200);
    expect("a request again on its connection",
           ask(&person, recorded.data, recorded.length) == 401);
    person_fini(&person);
    replay_elsewhere(key, job, &recorded);
    wire_writer_fini(&recorded);
    replay_counter(key, job, 7, 7, 401, "the same counter");
    replay_counter(key, job, 7, 6, 401, "a lower counter");
    replay_counter(key, job, 7, 0, 401, "a counter of 0");
    replay_counter(key, job, 7, UINT64_MAX, 200, "the largest counter");
    replay_counter(key, job, UINT64_MAX, 0, 401, "what comes after the largest counter");
    expect("the value", value_is(key, job, "2"));
}

/* ---- HELLO ---- */

static bool refused_as(struct joiner *joiner, const char *expected)
{
    char answers[ANSWERS_SIZE];
    read_to_end(joiner->fd, &joiner->received);
    name_answers(&joiner->received, answers);
    return strcmp(answers, expected) == 0;
}

static void replay_hello(const struct job_key *key, const char *job)
{
    struct joiner first, second;
    struct wire_writer open = { 0 }, hello = { 0 };
    joiner_init(&first, key, job);
    joiner_put_open(&first, &open, JOIN_VERSION, job);
    send_all(first.fd, open.data, open.length);
    if (!joiner_challenged(&first))
        stop("no CHALLENGE");
    joiner_put_hello(&first, &hello, -1, 4);
    send_all(first.fd, hello.data, hello.length);
    send_all(first.fd, hello.data, hello.length);
    expect("a HELLO, and again on its connection", refused_as(&first, "CHALLENGE,REFUSED"));
    joiner_init(&second, key, job);
    send_all(second.fd, open.data, open.length);
    joiner_challenged(&second);
    send_all(second.fd, hello.data, hello.length);
    expect("OPEN and HELLO again on a new connection", refused_as(&second, "CHALLENGE"));
    joiner_fini(&first);
    joiner_fini(&second);
    wire_writer_fini(&open);
    wire_writer_fini(&hello);
}

int unauthenticated_replays(char **arguments)
{
    struct job_key key;
    if (job_key_parse(&key, arguments[1], NULL) < 0)
        stop("no key");
    replay_requests(&key, arguments[0]);
    replay_hello(&key, arguments[0]);
    printf("%d wrong\n", wrong);
    return wrong > 0;
}

/* ---- alike ---- */

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define PROOF                                                                                      \
    "Authorization: HVD1 job=\"@\", counter=\"1\", body=\"" ZEROS "\", proof=\"" ZEROS "\"\r\n"
#define REST " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"

/* '@' is the id of a job; the first argument of '%' one of somebody's own, the second its key. */
static const char *const questions[] = {
    "GET /v1/jobs/@" REST "\r\n",
    "HEAD /v1/jobs/@" REST "\r\n",
    "GET /v1/jobs/@?ask" REST "\r\n",
    "DELETE /v1/jobs/@" REST "\r\n",
    "PUT /v1/jobs/@" REST "Content-Length: 10\r\n\r\n{\"size\":4}",
    "PATCH /v1/jobs/@" REST "\r\n",
    "GET /v1/jobs/@" REST "Authorization: Bearer @:" ZEROS "\r\n\r\n",
    "GET /v1/jobs/@" REST "Authorization: Bearer @:x\r\n\r\n",
    "GET /v1/jobs/@" REST "Authorization: Bearer @\r\n\r\n",
    "GET /v1/jobs/@" REST PROOF "\r\n",
    "GET /v1/jobs" REST "Authorization: Bearer @:" ZEROS "\r\n\r\n",
    "GET /unauthenticated/replay" REST "Authorization: Bearer @:" ZEROS "\r\n\r\n",
    "GET /unauthenticated/replay" REST PROOF "\r\n",
    "DELETE /unauthenticated/replay" REST "Authorization: Bearer @:" ZEROS "\r\n\r\n",
    "GET /unauthenticated/replay?wait=1" REST "Authorization: Bearer @:" ZEROS "\r\n\r\n",
    "GET /metrics" REST "Authorization: Bearer @:" ZEROS "\r\n\r\n",
    "GET /v1/jobs/@" REST "Authorization: Bearer %s:%s\r\n\r\n",
    "GET /v1/jobs/@?ask" REST "Authorization: Bearer %s:%s\r\n\r\n",
    "DELETE /v1/jobs/@" REST "Authorization: Bearer %s:%s\r\n\r\n",
    "PUT /v1/jobs/@" REST "Authorization: Bearer %s:%s\r\nContent-Length: 10\r\n\r\n{\"size\":4}",
    "GET /v1/jobs/@" REST "Authorization: Bearer @:%.0s%s\r\n\r\n",
};

/* With the id put in. */
static void put_question(struct wire_writer *out, const char *question, const char *id)
{
    for (; *question; question++)
        wire_put_bytes(out, *question == '@' ? id : question, *question == '@' ? strlen(id) : 1);
}

/* Nonces are not the same, nor is the id of a job that the client has named itself. */
static void mask(struct wire_writer *answer, const char *id)
{
    wire_put_u8(answer, 0);
    char *text = (char *)answer->data, *at = strstr(text, "nonce=\"");
    if (at)
        memset(at + 7, '#', 2 * NONCE_SIZE);
    while ((at = strstr(text, id)))
        memset(at, '@', strlen(id));
}

static void answer_to(const char *question, const char *id, struct wire_writer *answer)
{
    struct wire_writer request = { 0 };
    int fd = dial();
    put_question(&request, question, id);
    send_all(fd, request.data, request.length);
    read_to_end(fd, answer);
    mask(answer, id);
    close(fd);
    wire_writer_fini(&request);
}

static bool same(const struct wire_writer *a, const struct wire_writer *b)
{
    return a->length == b->length && a->length > 1 && memcmp(a->data, b->data, a->length) == 0;
}

static bool is_success(const struct wire_writer *answer)
{
    return strncmp((const char *)answer->data, "HTTP/1.1 2", 10) == 0;
}

static void compare_answers(const char *question, const char *job, const char *nojob)
{
    struct wire_writer there = { 0 }, absent = { 0 };
    answer_to(question, job, &there);
    answer_to(question, nojob, &absent);
    if (!same(&there, &absent) || is_success(&there))
        printf("%s\n%s\n%s\n", question, (char *)there.data, (char *)absent.data);
    wrong += !same(&there, &absent) || is_success(&there);
    wire_writer_fini(&there);
    wire_writer_fini(&absent);
}

/* OPEN, and a HELLO with a key that is none. */
static void answer_to_frames(const char *id, struct wire_writer *answer)
{
    struct joiner joiner;
    struct job_key key;
    struct wire_writer frame = { 0 };
    job_key_generate(&key);
    joiner_init(&joiner, &key, id);
    joiner_put_open(&joiner, &frame, JOIN_VERSION, id);
    send_all(joiner.fd, frame.data, frame.length);
    wire_writer_fini(&frame);
    if (!joiner_challenged(&joiner))
        stop("no CHALLENGE");
    joiner_put_hello(&joiner, &frame, -1, 4);
    send_all(joiner.fd, frame.data, frame.length);
    wire_writer_fini(&frame);
    read_to_end(joiner.fd, &joiner.received);
    memset(joiner.received.data + FRAME_HEADER_SIZE + 2, 0, NONCE_SIZE);
    wire_put_bytes(answer, joiner.received.data, joiner.received.length);
    joiner_fini(&joiner);
}

int unauthenticated_alike(char **arguments)
{
    const char *job = arguments[0], *nojob = arguments[1], *other = arguments[2],
               *key = arguments[3];
    struct wire_writer there = { 0 }, absent = { 0 };
    char question[1024];
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        snprintf(question, sizeof question, questions[i], other, key);
        compare_answers(question, job, nojob);
    }
    answer_to_frames(job, &there);
    answer_to_frames(nojob, &absent);
    expect("frames", same(&there, &absent));
    wire_writer_fini(&there);
    wire_writer_fini(&absent);
    printf("%d differ\n", wrong);
    return wrong > 0;
}
