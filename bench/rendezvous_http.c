/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP under load: requests per second on connections that stay open, and many connections at once.
 * What is asked for is a key of 16 bytes in a job that is declared for it, "bench". */
#include "bench/rendezvous.h"
#include "bench/support/crowd.h"
#include "bench/support/sample.h"
#include "rendezvous/http/http_access.h"

#include <err.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB "bench"
#define TARGET "/bench/key"

enum { SAMPLES_MAX = 4 * 1000 * 1000, DIALS_PER_TURN = 64, PORTS_PER_SOURCE = 20000 };

struct asker {
    double began_us;
    unsigned char nonce[NONCE_SIZE];
    uint64_t counter; /* 0: the nonce has not come */
    bool answered;
};

struct load {
    struct job_key key;
    char bearer[JOB_KEY_HEX_SIZE + sizeof JOB];
    bool proves;
    bool goes_on; /* the next request follows an answer */
    struct asker *askers;
    double *samples_us;
    int nsamples, failures, ended;
};

static void load_init(struct load *load, int connections)
{
    struct job_key service;
    char hex[JOB_KEY_HEX_SIZE];
    *load = (struct load){ .askers = calloc((size_t)connections, sizeof *load->askers),
                           .samples_us = malloc(SAMPLES_MAX * sizeof *load->samples_us) };
    if (!load->askers || !load->samples_us)
        errx(1, "out of memory");
    bench_service_key(&service);
    job_key_derive(&load->key, &service, JOB);
    job_key_format(&load->key, hex);
    snprintf(load->bearer, sizeof load->bearer, JOB ":%s", hex);
}

static void load_fini(struct load *load)
{
    free(load->askers);
    free(load->samples_us);
}

static void put_request(struct crowd *crowd, int index)
{
    struct load *load = crowd->context;
    struct asker *asker = &load->askers[index];
    char proof[HTTP_PROOF_SIZE], text[HTTP_PROOF_SIZE + 256];
    int length;
    if (load->proves && asker->counter > 0)
        http_proof_make(proof, &load->key, JOB, asker->nonce, asker->counter++, "GET", TARGET, "",
                        0);
    else
        snprintf(proof, sizeof proof, "Bearer %s", load->bearer);
    if (load->proves && asker->counter == 0) /* to be told the nonce */
        length = snprintf(text, sizeof text, "GET " TARGET " HTTP/1.1\r\nHost: h\r\n\r\n");
    else
        length = snprintf(text, sizeof text,
                          "GET " TARGET " HTTP/1.1\r\nHost: h\r\nAuthorization: %s\r\n\r\n", proof);
    asker->began_us = now_us();
    crowd_put(crowd, index, text, (size_t)length);
}

/* The length of the whole answer; 0 if it has not come. */
static size_t answer_length(const struct wire_writer *in)
{
    static const char name[] = "\r\nContent-Length: ";
    const char *text = (const char *)in->data;
    const char *end = memmem(text, in->length, "\r\n\r\n", 4);
    const char *header = end ? memmem(text, (size_t)(end - text), name, strlen(name)) : NULL;
    if (!header)
        return 0;
    size_t length = (size_t)(end + 4 - text) + strtoul(header + strlen(name), NULL, 10);
    return length <= in->length ? length : 0;
}

static void read_nonce(struct asker *asker, const struct wire_writer *in)
{
    static const char name[] = "HVD1 nonce=\"";
    const char *hex = memmem(in->data, in->length, name, strlen(name));
    if (!hex || sodium_hex2bin(asker->nonce, NONCE_SIZE, hex + strlen(name), 2 * NONCE_SIZE, NULL,
                               NULL, NULL) != 0)
        errx(1, "401 without a nonce");
    asker->counter = 1;
}

static void on_answer(struct load *load, struct asker *asker, const struct wire_writer *in)
{
    if (load->proves && asker->counter == 0) {
        read_nonce(asker, in);
        return;
    }
    asker->answered = true;
    if (memcmp(in->data, "HTTP/1.1 200 ", 13) != 0)
        load->failures++;
    else if (load->nsamples < SAMPLES_MAX)
        load->samples_us[load->nsamples++] = now_us() - asker->began_us;
}

static void on_bytes(struct crowd *crowd, int index)
{
    struct load *load = crowd->context;
    struct asker *asker = &load->askers[index];
    struct wire_writer *in = &crowd->members[index].in;
    for (size_t length; (length = answer_length(in)) > 0;) {
        on_answer(load, asker, in);
        crowd_take(crowd, index, length);
        if (load->goes_on)
            put_request(crowd, index);
    }
}

static void on_end(struct crowd *crowd, int index)
{
    struct load *load = crowd->context;
    load->failures += !load->askers[index].answered || load->goes_on;
    load->ended++;
}

/* One request by itself; ends the program if it is not answered with 200. */
static void on_asked(struct crowd *crowd, int index)
{
    const struct wire_writer *in = &crowd->members[index].in;
    if (answer_length(in) == 0)
        return;
    if (memcmp(in->data, "HTTP/1.1 200 ", 13) != 0)
        errx(1, "the rendezvous says: %.*s", (int)in->length, (const char *)in->data);
    ((struct load *)crowd->context)->ended++;
}

static void ask(const char *address, const char *request, const char *key, const char *body)
{
    struct crowd crowd;
    struct load load = { 0 };
    char text[512];
    int length = snprintf(text, sizeof text,
                          "%s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          request, key, strlen(body), body);
    crowd_init(&crowd, address, 1);
    crowd.on_bytes = on_asked;
    crowd.on_end = on_asked;
    crowd.context = &load;
    crowd_put(&crowd, 0, text, (size_t)length);
    crowd_dial(&crowd, 0, 1);
    while (load.ended == 0)
        if (!crowd_turn(&crowd, BENCH_PATIENCE_MS))
            errx(1, "%s is not answered", request);
    crowd_fini(&crowd);
}

void bench_ask_service(const char *address, const char *request, const char *body)
{
    char hex[JOB_KEY_HEX_SIZE];
    struct job_key service;
    bench_service_key(&service);
    job_key_format(&service, hex);
    ask(address, request, hex, body);
}

static void begin(struct crowd *crowd, struct load *load, const char *address, int connections)
{
    load_init(load, connections);
    bench_ask_service(address, "PUT /v1/jobs/" JOB, "{\"size\":1}");
    ask(address, "PUT " TARGET, load->bearer, "sixteen bytes...");
    crowd_init(crowd, address, connections);
    crowd->on_bytes = on_bytes;
    crowd->on_end = on_end;
    crowd->context = load;
}

static void dial_all(struct crowd *crowd)
{
    for (int i = 0; i < crowd->size; i++) {
        put_request(crowd, i);
        crowd_dial(crowd, i, 2 + i / PORTS_PER_SOURCE);
        if (i % DIALS_PER_TURN == DIALS_PER_TURN - 1)
            crowd_turn(crowd, 0);
    }
}

static void print_percentiles(struct load *load)
{
    bench_sort(load->samples_us, load->nsamples);
    if (load->nsamples == 0)
        errx(1, "no answer at all, %d failures", load->failures);
    printf("%.2f\t%.2f\t%.2f\t%d\n", bench_percentile(load->samples_us, load->nsamples, 50) / 1e3,
           bench_percentile(load->samples_us, load->nsamples, 99) / 1e3,
           load->samples_us[load->nsamples - 1] / 1e3, load->failures);
}

void bench_requests(const char *address, const char *scheme, int connections, int seconds)
{
    struct crowd crowd;
    struct load load;
    begin(&crowd, &load, address, connections);
    load.proves = strcmp(scheme, "proof") == 0;
    load.goes_on = true;
    double begin_us = now_us(), end_us = begin_us + seconds * 1e6;
    dial_all(&crowd);
    while (now_us() < end_us && load.ended < connections)
        if (!crowd_turn(&crowd, 1000))
            errx(1, "no answer within a second");
    double took_s = (now_us() - begin_us) / 1e6;
    printf("scheme\tconnections\trequests_per_s\tp50_ms\tp99_ms\tmax_ms\tfailures\n");
    printf("%s\t%d\t%.0f\t", scheme, connections, load.nsamples / took_s);
    print_percentiles(&load);
    crowd_fini(&crowd);
    load_fini(&load);
}

void bench_gets(const char *address, int connections)
{
    struct crowd crowd;
    struct load load;
    begin(&crowd, &load, address, connections);
    double begin_us = now_us();
    dial_all(&crowd);
    while (load.nsamples + load.failures < connections)
        if (!crowd_turn(&crowd, BENCH_PATIENCE_MS)) {
            load.failures += connections - load.nsamples - load.failures;
            break;
        }
    printf("connections\tall_ms\tp50_ms\tp99_ms\tmax_ms\tfailures\n");
    printf("%d\t%.1f\t", connections, (now_us() - begin_us) / 1e3);
    print_percentiles(&load);
    crowd_fini(&crowd);
    load_fini(&load);
}
