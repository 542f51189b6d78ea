/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies in JSON, from somebody who may: u8 which, the body.
 *
 *   0 PUT /v1/jobs/new of a service   1 POST /s/n, which does not exist   2 POST /s/n, which is 40
 *
 * Whatever the body: the answer is one, in JSON if it says so; 200 only for what asks for something
 * possible, which then is so; anything else changes nothing. */
#include "tests/fuzz/answers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct key_value_bytes scope = { "s", 1 }, key = { "n", 1 };

static void send_body(struct client *client, const char *request, const struct fuzz_input *body)
{
    char hex[JOB_KEY_HEX_SIZE];
    struct wire_writer out = { 0 };
    char head[256];
    job_key_format(&world_key, hex);
    int length = snprintf(head, sizeof head,
                          "%s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n"
                          "Content-Length: %zu\r\n\r\n",
                          request, hex, body->left);
    wire_put_bytes(&out, head, (size_t)length);
    wire_put_bytes(&out, body->at, body->left);
    client_send(client, out.data, out.length, out.length);
    wire_writer_fini(&out);
}

static int ask(const char *request, const struct fuzz_input *body)
{
    struct client client = { 0 };
    int status;
    client_dial(&client, RENDEZVOUS_ELSEWHERE);
    send_body(&client, request, body);
    PROMISE(answers_check((const char *)client.received.data, client.received.length, &status) ==
            1);
    client_forget(&client);
    return status;
}

static void declare(const struct fuzz_input *body)
{
    int status = ask("PUT /v1/jobs/new", body);
    const struct rendezvous_job *job = job_table_find(&world.job_table, "new");
    PROMISE((status == 200) == (job != NULL));
    if (!job)
        return;
    PROMISE(1 <= job->pending.size && job->pending.size <= WORLD_SIZE_MAX);
    PROMISE(1 <= job->pending.start_timeout_ms && job->pending.start_timeout_ms <= 86400000);
    struct fuzz_input nothing = { (const uint8_t *)"", 0 };
    PROMISE(ask("GET /v1/jobs/new", &nothing) == 200);
    PROMISE(ask("PUT /v1/jobs/new", body) == 200);
}

static long long number(void)
{
    struct key_value_bytes value = { "0", 1 };
    char text[32] = "";
    key_value_get(world.job_table.only->store, scope, key, &value);
    PROMISE(value.length < sizeof text);
    memcpy(text, value.data, value.length);
    return atoll(text);
}

static void add(const struct fuzz_input *body, bool there)
{
    struct key_value *store = world.job_table.only->store;
    PROMISE(!there || key_value_put(store, scope, key, "40", 2) == 200);
    struct world_stock before = world_stock();
    long long number_before = number();
    int status = ask("POST /s/n", body);
    struct world_stock after = world_stock();
    if (status == 200)
        PROMISE(after.keys == 1);
    else
        PROMISE(world_stock_equal(&before, &after) && number() == number_before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    int which = fuzz_u8(&input) % 3;
    world_begin(which == 0);
    if (input.left == 0)
        input.at = (const uint8_t *)"";
    if (which == 0)
        declare(&input);
    else
        add(&input, which == 2);
    world_end();
    return 0;
}
