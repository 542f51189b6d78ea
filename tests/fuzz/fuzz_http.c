/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP connection to a rendezvous with something in its store.
 *
 *   u8: bit 0 the client is the job's own user, bit 1 a service instead of a launcher's job, bits 2-4
 *   the size of the pieces that the text comes in; then text, in which a byte stands for
 *     1   the job's key in hexadecimal           2   the service's
 *     3   a proof of the job's key (HVD1), for the request line before it and the body behind it
 *     4   a second that passes                   5   a minute
 *     6   the key of worker 1 of the job
 *
 * Whatever comes: the answers are answers, and no more in one go than http_session.h says; how the
 * text is cut into pieces makes no other difference; who has no key, and is not the job's own user,
 * changes nothing; no key ever comes back. */
#include "tests/fuzz/answers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_UID = 1, SERVICE = 2 };
enum { ONE_ANSWER_MAX = 64 * 1024 }; /* to an unauthenticated client: the page */
enum { THE_JOBS_KEY = 1, THE_SERVICES_KEY, A_PROOF, A_SECOND, A_MINUTE, A_WORKERS_KEY };

static struct client client;
static struct wire_writer text; /* what was made of the input */
static size_t sent;             /* of it */
static size_t received;         /* when something was sent last */
static size_t piece;
static uint64_t counter;
static bool proved; /* some key was used */
static bool own;
static bool counts; /* it asks for metrics, which count the bytes so far */

/* Since something was sent last. */
static void check_answers(void)
{
    int status;
    const struct wire_writer *all = &client.received;
    PROMISE(proved || own || piece > 0 ||
            all->length - received <= HTTP_UNAUTHENTICATED_BYTES + ONE_ANSWER_MAX);
    if (piece == 0 && all->length > received && memcmp(all->data, "HVD1", 4) != 0)
        PROMISE(answers_check((const char *)all->data + received, all->length - received,
                              &status) <= HTTP_PIPELINE_MAX);
}

static void send_rest(void)
{
    if (sent == text.length)
        return;
    received = client.received.length;
    client_send(&client, (const char *)text.data + sent, text.length - sent,
                piece ? piece : text.length - sent);
    sent = text.length;
    check_answers();
}

static void put_key(const struct job_key *key)
{
    char hex[JOB_KEY_HEX_SIZE];
    job_key_format(key, hex);
    wire_put_bytes(&text, hex, strlen(hex));
    proved = true;
}

static void put_key_of_worker(void)
{
    struct job_key key;
    worker_key_derive(&key, &job_key, 1);
    put_key(&key);
}

/* The last line so far that could be a request's: its method and target. */
static bool find_request(char method[16], char target[256])
{
    bool found = false;
    wire_put_u8(&text, '\0');
    text.length--;
    for (const char *line = (const char *)text.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        int end = 0;
        if (sscanf(line, "%15[A-Z] %255[^ \r\n] HTTP/1.%*1[01]%n", method, target, &end) == 2 &&
            end)
            found = true;
    }
    return found;
}

/* The body that comes after the rest of the head, if it says how long it is. */
static struct fuzz_input find_body(const struct fuzz_input *input)
{
    static const char header[] = "Content-Length: ", end[] = "\r\n\r\n";
    const char *at = memmem(input->at, input->left, header, strlen(header));
    const char *body = memmem(input->at, input->left, end, strlen(end));
    if (!at || !body || at > body)
        return (struct fuzz_input){ 0 };
    body += strlen(end);
    size_t left = input->left - (size_t)(body - (const char *)input->at);
    size_t length = strtoul(at + strlen(header), NULL, 10);
    return (struct fuzz_input){ (const uint8_t *)body, length < left ? length : left };
}

static void put_proof(const struct fuzz_input *input)
{
    char proof[HTTP_PROOF_SIZE], method[16], target[256];
    send_rest();
    if (!find_request(method, target) || !client.connection ||
        client.connection->language != SERVER_HTTP)
        return;
    struct fuzz_input body = find_body(input);
    http_proof_make(proof, &job_key, WORLD_JOB, client.connection->http.gate.nonce, ++counter,
                    method, target, body.at ? (const char *)body.at : "", body.left);
    wire_put_bytes(&text, proof, strlen(proof));
    proved = true;
}

static void pass(uint64_t ms)
{
    send_rest();
    world_pass(ms);
    check_answers();
}

static void put(uint8_t byte, const struct fuzz_input *rest)
{
    switch (byte) {
    case THE_JOBS_KEY:
        put_key(&job_key);
        break;
    case THE_SERVICES_KEY:
        put_key(&world_key);
        break;
    case A_PROOF:
        put_proof(rest);
        break;
    case A_SECOND:
        pass(1000);
        break;
    case A_MINUTE:
        pass(60000);
        break;
    case A_WORKERS_KEY:
        put_key_of_worker();
        break;
    default:
        wire_put_u8(&text, byte);
    }
}

/* `said`: the input. A key in it, which a search may come to, may be repeated in a refusal. */
static void check_no_key(const char *data, size_t length, const uint8_t *said, size_t nsaid)
{
    char hex[JOB_KEY_HEX_SIZE];
    const struct job_key *keys[] = { &world_key, &job_key };
    for (int i = 0; i < 2; i++) {
        job_key_format(keys[i], hex);
        PROMISE(!memmem(data, length, keys[i]->bytes, sizeof keys[i]->bytes));
        /* One that was put into the store may be read from it. */
        PROMISE(proved || memmem(said, nsaid, hex, strlen(hex)) ||
                !memmem(data, length, hex, strlen(hex)));
    }
}

/* Something is there already. */
static void fill_store(bool service)
{
    struct key_value_bytes scope = { "global", 6 }, key = { "0", 1 };
    struct rendezvous_job *job = world.job_table.only;
    if (service)
        job = job_table_make(&world.job_table, WORLD_JOB, 0, 0, world_ms, NULL);
    PROMISE(job && key_value_put(job->store, scope, key, "here\r\n\0", 7) == 200);
}

/* Returns what has come back; to be freed. */
static struct wire_writer talk(uint8_t what, const uint8_t *data, size_t size, size_t pieces,
                               int *nanswers)
{
    struct fuzz_input input = fuzz_begin(data, size);
    int status;
    piece = pieces, sent = received = 0, counter = 0, proved = false;
    own = what & OWN_UID;
    world_begin(what & SERVICE);
    fill_store(what & SERVICE);
    client_dial(&client, own ? RENDEZVOUS_OWN_UID : RENDEZVOUS_ELSEWHERE);
    struct world_stock before = world_stock();
    while (input.left > 0)
        put(fuzz_u8(&input), &input);
    send_rest();
    struct world_stock after = world_stock();
    PROMISE(proved || own || world_ms >= RENDEZVOUS_JOB_LAPSE_MS ||
            world_stock_equal(&before, &after));
    world_pass(120000); /* whoever is held is answered */
    struct wire_writer came = client.received;
    client.received = (struct wire_writer){ 0 };
    client_forget(&client);
    world_end();
    counts = text.length > 0 && memmem(text.data, text.length, "/metrics", strlen("/metrics"));
    wire_writer_fini(&text);
    if (came.length > 0)
        check_no_key((const char *)came.data, came.length, data, size);
    *nanswers = 0;
    if (came.length > 4 && memcmp(came.data, "HVD1", 4) != 0)
        *nanswers = answers_check((const char *)came.data, came.length, &status);
    return came;
}

static size_t same_length(const struct wire_writer *a, const struct wire_writer *b)
{
    size_t length = 0;
    while (length < a->length && length < b->length && a->data[length] == b->data[length])
        length++;
    return length;
}

/* In one go more was asked for than is answered: the last answer says so, and is else the same. */
static bool was_enough(const struct wire_writer *whole, const struct wire_writer *pieces)
{
    static const char close[] = "close\r\n";
    size_t same = same_length(whole, pieces);
    return whole->length - same >= strlen(close) &&
           memcmp(whole->data + same, close, strlen(close)) == 0;
}

static bool equal(const struct wire_writer *a, const struct wire_writer *b)
{
    return a->length == b->length && same_length(a, b) == a->length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t sizes[] = { 1, 2, 3, 7, 16, 64, 333, 1024 };
    uint8_t what = size > 0 ? data[0] : 0;
    int once, again;
    if (size == 0)
        return 0;
    struct wire_writer whole = talk(what, data + 1, size - 1, 0, &once);
    struct wire_writer pieces = talk(what, data + 1, size - 1, sizes[what >> 2 & 7], &again);
    PROMISE(counts || equal(&whole, &pieces) || (once >= 2 && was_enough(&whole, &pieces)));
    wire_writer_fini(&whole);
    wire_writer_fini(&pieces);
    return 0;
}
