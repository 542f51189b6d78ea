/* SPDX-License-Identifier: Apache-2.0 */
/* Frames are made and measured; see scale_sizes.h. */
#include "tests/simulator/scale_sizes.h"

#include "launcher/protocol/agent_protocol.h"
#include "launcher/tree/agent_bootstrap_script.h"
#include "lib/base/auth.h"
#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t frame_size(struct wire_writer *body)
{
    size_t nbytes = FRAME_HEADER_SIZE + body->length;
    wire_writer_fini(body);
    *body = (struct wire_writer){ 0 };
    return nbytes;
}

static size_t sealed_size(struct wire_writer *body)
{
    return frame_size(body) + PROOF_SIZE;
}

/* "train --epochs 90", variables of 64 bytes, and the heartbeats behind each frame of texts. */
static size_t common_size(size_t environment)
{
    struct wire_writer body = { 0 };
    struct agent_job job = { .version = AGENT_VERSION,
                             .own_environment = true,
                             .heartbeat_timeout_ms = 5000,
                             .answer_ms = 5000,
                             .cwd = "/home/user/project",
                             .id = "0123456789" };
    struct agent_heartbeat heartbeat = { 0 };
    agent_job_encode(&body, &job);
    size_t nbytes = frame_size(&body);
    agent_heartbeat_encode(&body, &heartbeat);
    nbytes += 2 * frame_size(&body);
    wire_put_string(&body, "./train");
    wire_put_string(&body, "--epochs");
    wire_put_string(&body, "90");
    nbytes += frame_size(&body);
    for (size_t i = 0; i < environment / 64; i++) {
        char text[65];
        snprintf(text, sizeof text, "%-64zu", i);
        wire_put_string(&body, text);
    }
    return nbytes + frame_size(&body);
}

/* HOST, a heartbeat, and PREPARE. */
static size_t host_size(void)
{
    struct wire_writer body = { 0 };
    struct agent_host host = { "node9999", 9999, 10000, "" };
    struct agent_heartbeat heartbeat = { 0 };
    agent_host_encode(&body, &host);
    size_t nbytes = frame_size(&body);
    agent_heartbeat_encode(&body, &heartbeat);
    nbytes += frame_size(&body);
    return nbytes + frame_size(&body);
}

static size_t rank_size(void)
{
    struct wire_writer body = { 0 };
    struct agent_worker worker = { 0 };
    agent_worker_encode(&body, &worker);
    return frame_size(&body);
}

/* What starts hvdagent: the script, what an agent gets instead of it (TUNNEL_OPEN with "ssh -o
 * BatchMode=yes HOST /bin/sh", and TUNNEL_SCRIPT), and the marks of the answer. */
static void measure_bootstrap(struct scale_sizes *sizes)
{
    static const char nonce[] = "0123456789abcdef", path[] = "/usr/local/libexec/hvdrun/hvdagent";
    struct wire_writer body = { 0 };
    char *script = agent_bootstrap_script(nonce, path, 1000000);
    sizes->script = strlen(script);
    free(script);
    wire_put_u32(&body, 0);
    wire_put_string(&body, "ssh");
    wire_put_string(&body, "-o");
    wire_put_string(&body, "BatchMode=yes");
    wire_put_string(&body, "node9999");
    wire_put_string(&body, "/bin/sh");
    sizes->open_tunnel = frame_size(&body);
    wire_put_u32(&body, 0);
    wire_put_string(&body, nonce);
    wire_put_string(&body, path);
    wire_put_u64(&body, 1000000);
    sizes->open_tunnel += frame_size(&body);
    sizes->answer = 2 * (sizeof nonce + sizeof "hvd- here");
    wire_put_u32(&body, 0);
    sizes->ask_describe = frame_size(&body);
}

static void measure_agent(struct scale_sizes *sizes, int size, size_t environment)
{
    struct wire_writer body = { 0 };
    struct agent_ready ready = { .machine = "Linux x86_64", .address = "198.51.100.200" };
    struct agent_rank_number number = { .rank = size - 1, .number = 12345 };
    struct agent_exited exited = { .end = rank_end_none() };
    struct agent_stop stop = { 15, 5000 };
    struct agent_relay_client client = { 1, true };
    sizes->common = common_size(environment);
    sizes->host = host_size();
    sizes->rank = rank_size();
    agent_ready_encode(&body, &ready);
    sizes->ready = frame_size(&body);
    sizes->start = frame_size(&body);
    agent_rank_number_encode(&body, &number);
    sizes->started = frame_size(&body);
    agent_exited_encode(&body, &exited);
    sizes->exited = frame_size(&body);
    agent_stop_encode(&body, &stop);
    sizes->stop = frame_size(&body);
    agent_relay_client_encode(&body, &client);
    sizes->relay = frame_size(&body);
    wire_put_u32(&body, 0);
    sizes->done = frame_size(&body);
}

static void measure_join(struct scale_sizes *sizes, int size)
{
    static struct join_hello hello;
    struct wire_writer body = { 0 };
    struct join_open open = { .version = JOIN_VERSION, .owner = "job" };
    struct join_challenge challenge = { .version = JOIN_VERSION };
    struct join_waiting waiting = { 30000, "ranks 2, 3 on node1" };
    struct rank_end none = rank_end_none();
    scale_hello(&hello, size - 1, 8, size);
    join_open_encode(&body, &open);
    sizes->open = frame_size(&body);
    join_challenge_encode(&body, &challenge);
    sizes->challenge = frame_size(&body);
    join_hello_encode(&body, &hello);
    sizes->hello = sealed_size(&body);
    join_waiting_encode(&body, &waiting);
    sizes->waiting = sealed_size(&body);
    rank_end_encode(&body, &none);
    sizes->goodbye = sealed_size(&body);
}

void scale_hello(struct join_hello *hello, int rank, int local_size, int size)
{
    int host = rank / local_size;
    *hello = (struct join_hello){ .rank = rank, .size = size, .worker = -1, .pid = 12345 };
    hello->processors = 2 * local_size;
    hello->addresses.count = 2;
    snprintf(hello->host, sizeof hello->host, "node%d", host);
    snprintf(hello->addresses.text[0], JOIN_ADDRESS_MAX, "10.%d.%d.%d:%d", host >> 14,
             host >> 7 & 127, host & 127, 40000 + rank % local_size);
    snprintf(hello->addresses.text[1], JOIN_ADDRESS_MAX, "unix:%032x", (unsigned)rank);
}

void scale_sizes_measure(struct scale_sizes *sizes, int size, size_t environment)
{
    measure_bootstrap(sizes);
    measure_agent(sizes, size, environment);
    measure_join(sizes, size);
}

size_t scale_welcome_size(const struct membership *membership, int rank)
{
    static struct join_welcome welcome;
    struct wire_writer body = { 0 };
    membership_welcome(membership, rank, &welcome);
    welcome.worker = rank;
    join_welcome_encode(&body, &welcome);
    return sealed_size(&body);
}

size_t scale_news_size(const struct rank_end *news)
{
    struct wire_writer body = { 0 };
    rank_end_encode(&body, news);
    return sealed_size(&body);
}
