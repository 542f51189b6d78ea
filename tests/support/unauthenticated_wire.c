/* SPDX-License-Identifier: Apache-2.0 */
/* Unauthenticated clients that speak the join protocol, or nearly.
 *   rows: what tests/bad/wire.tsv says, each on a connection of its own, all at once.
 *   mutants: OPEN and HELLO, proved with the right key, cut after each byte and with each bit
 *   changed; nothing sealed may come back, because that would mean that the proof was taken. */
#include "tests/support/unauthenticated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHALLENGE_SIZE = FRAME_HEADER_SIZE + 2 + NONCE_SIZE };

void joiner_init(struct joiner *joiner, const struct job_key *key, const char *job)
{
    *joiner = (struct joiner){ .fd = dial(), .key = *key };
    snprintf(joiner->job, sizeof joiner->job, "%s", job);
    nonce_generate(joiner->nonce);
}

void joiner_fini(struct joiner *joiner)
{
    close(joiner->fd);
    wire_writer_fini(&joiner->received);
}

bool joiner_challenged(struct joiner *joiner)
{
    if (joiner->challenged)
        return true;
    if (!read_until(joiner->fd, &joiner->received, CHALLENGE_SIZE))
        return false;
    seal_init(&joiner->seal, SEAL_CLIENT, &joiner->key, joiner->nonce,
              joiner->received.data + CHALLENGE_SIZE - NONCE_SIZE);
    joiner->challenged = true;
    return true;
}

void joiner_put_open(const struct joiner *joiner, struct wire_writer *out, int version,
                     const char *job)
{
    struct wire_writer body = { 0 };
    wire_put_u16(&body, (uint16_t)version);
    wire_put_bytes(&body, joiner->nonce, NONCE_SIZE);
    wire_put_string(&body, job);
    frame_put(out, JOIN_OPEN, body.data, body.length);
    wire_writer_fini(&body);
}

void joiner_put_hello(struct joiner *joiner, struct wire_writer *out, int rank, int size)
{
    struct join_hello hello = { .rank = rank, .size = size, .host = "here", .pid = 1 };
    struct wire_writer payload = { 0 };
    hello.addresses.count = 1;
    strcpy(hello.addresses.text[0], "127.0.0.1:9");
    join_hello_encode(&payload, &hello);
    seal_put(&joiner->seal, out, JOIN_HELLO, payload.data, payload.length);
    wire_writer_fini(&payload);
}

static const char *name_type(uint16_t type)
{
    static const char *const names[] = { NULL,      "OPEN",    "CHALLENGE", "HELLO",
                                         "WELCOME", "REFUSED", "NEWS",      "GOODBYE",
                                         "ASK",     "REPORT",  "BROKEN",    "WAITING" };
    return type > 0 && type < sizeof names / sizeof *names ? names[type] : "?";
}

void name_answers(const struct wire_writer *received, char answers[ANSWERS_SIZE])
{
    struct frame frame;
    struct frame_reader reader;
    size_t length = 0, room;
    bool is_http = received->length >= 5 && memcmp(received->data, "HTTP/", 5) == 0;
    strcpy(answers, is_http ? "HTTP" : "-");
    frame_reader_init(&reader, FRAME_BODY_MAX);
    for (size_t at = 0; at < received->length && !is_http; at++) {
        *(unsigned char *)frame_reader_space(&reader, &room) = received->data[at];
        frame_reader_commit(&reader, 1);
        int rc = frame_reader_next(&reader, &frame, NULL);
        if (rc != 0 && length < ANSWERS_SIZE - 16)
            length += (size_t)sprintf(answers + length, "%s%s", length > 0 ? "," : "",
                                      rc < 0 ? "?" : name_type(frame.type));
        if (rc < 0)
            break;
    }
    frame_reader_fini(&reader);
}

/* ---- rows ---- */

enum { ROWS_MAX = 256, COLUMNS = 5 };

struct row {
    char *line, *columns[COLUMNS]; /* id, sentence, answers, end, bytes */
    struct joiner joiner;
};

static void put_sealed(struct joiner *joiner, struct wire_writer *out, const char *argument);

static void put_open(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    bool is_beside = *argument == '+' || *argument == '-';
    int version = *argument ? atoi(argument) : JOIN_VERSION;
    joiner_put_open(joiner, out, is_beside ? JOIN_VERSION + version : version, joiner->job);
}

static void put_version(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    (void)joiner, (void)argument;
    wire_put_u16(out, JOIN_VERSION);
}

static void put_open_of(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    joiner_put_open(joiner, out, JOIN_VERSION, argument);
}

/* {hello RANK SIZE} */
static void put_hello(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    int rank = -1, size = 4;
    if (*argument && sscanf(argument, "%d %d", &rank, &size) != 2)
        stop("no rank and size: %s", argument);
    joiner_put_hello(joiner, out, rank, size);
}

static void put_forged(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    struct joiner forger = *joiner;
    job_key_generate(&forger.key);
    seal_init(&forger.seal, SEAL_CLIENT, &forger.key, joiner->nonce,
              joiner->received.data + CHALLENGE_SIZE - NONCE_SIZE);
    put_hello(&forger, out, argument);
}

/* Seals a HELLO as the rendezvous would seal its frames. */
static void put_reflected(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    struct joiner mirror = *joiner;
    seal_init(&mirror.seal, SEAL_SERVER, &joiner->key, joiner->nonce,
              joiner->received.data + CHALLENGE_SIZE - NONCE_SIZE);
    put_hello(&mirror, out, argument);
}

static void put_echo(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    (void)argument;
    wire_put_bytes(out, joiner->received.data, joiner->received.length);
}

/* {zeros N} */
static void put_zeros(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    (void)joiner;
    for (int n = atoi(argument); n > 0; n--)
        wire_put_u8(out, 0);
}

static const struct {
    const char *name;
    void (*put)(struct joiner *joiner, struct wire_writer *out, const char *argument);
    bool after_challenge;
} marks[] = {
    { "open", put_open, false },          { "open-of", put_open_of, false },
    { "hello", put_hello, true },         { "forged", put_forged, true },
    { "reflected", put_reflected, true }, { "sealed", put_sealed, true },
    { "echo", put_echo, true },           { "zeros", put_zeros, false },
    { "version", put_version, false },
};

/* Sends the finished bytes, because the next ones depend on the answer. Returns false if no more
 * can follow. */
static bool flush_and_wait(struct joiner *joiner, struct wire_writer *out)
{
    send_all(joiner->fd, out->data, out->length);
    wire_writer_fini(out);
    return joiner_challenged(joiner);
}

/* "{name argument}" at `*text`, which moves behind it. */
static bool put_mark(struct joiner *joiner, struct wire_writer *out, const char **text)
{
    char name[32] = "", argument[256] = "";
    const char *end = strchr(*text, '}');
    if (!end || sscanf(*text, "{%31[a-z-] %255[^}]", name, argument) < 1)
        stop("no mark: %s", *text);
    *text = end + 1;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (strcmp(name, marks[i].name) != 0)
            continue;
        if (marks[i].after_challenge && !joiner->challenged && !flush_and_wait(joiner, out))
            return false;
        marks[i].put(joiner, out, argument);
        return true;
    }
    stop("no mark: {%s}", name);
}

static uint8_t hex_byte(const char **text)
{
    char hex[3] = { 0 };
    memcpy(hex, *text + 2, 2);
    *text += 4;
    return (uint8_t)strtoul(hex, NULL, 16);
}

static void put_plain(struct wire_writer *out, const char **text)
{
    if (strncmp(*text, "\\x", 2) == 0 && strlen(*text) >= 4)
        wire_put_u8(out, hex_byte(text));
    else
        wire_put_u8(out, (uint8_t) * (*text)++);
}

/* {sealed TYPE BYTES} */
static void put_sealed(struct joiner *joiner, struct wire_writer *out, const char *argument)
{
    char *bytes;
    struct wire_writer payload = { 0 };
    long type = strtol(argument, &bytes, 10);
    for (const char *at = bytes + strspn(bytes, " "); *at;)
        put_plain(&payload, &at);
    seal_put(&joiner->seal, out, (uint16_t)type, payload.data, payload.length);
    wire_writer_fini(&payload);
}

static void send_row(struct row *row)
{
    struct wire_writer out = { 0 };
    const char *at = row->columns[COLUMNS - 1];
    bool goes_on = true;
    while (goes_on && *at && strcmp(row->columns[COLUMNS - 1], "-") != 0) {
        if (*at == '{')
            goes_on = put_mark(&row->joiner, &out, &at);
        else
            put_plain(&out, &at);
    }
    send_all(row->joiner.fd, out.data, out.length);
    wire_writer_fini(&out);
    if (strcmp(row->columns[3], "more") == 0)
        shutdown(row->joiner.fd, SHUT_WR);
}

static bool read_row(struct row *row)
{
    size_t size = 0;
    char *rest;
    row->line = NULL;
    if (getline(&row->line, &size, stdin) <= 0)
        return false;
    row->line[strcspn(row->line, "\n")] = '\0';
    rest = row->line;
    for (int i = 0; i < COLUMNS; i++)
        row->columns[i] = strsep(&rest, "\t");
    if (*row->line && *row->line != '#' && (!row->columns[COLUMNS - 1] || rest))
        stop("not %d columns: %s", COLUMNS, row->line);
    return true;
}

int unauthenticated_rows(char **arguments)
{
    static struct row rows[ROWS_MAX];
    struct job_key key;
    int nrows = 0;
    if (job_key_parse(&key, arguments[1], NULL) < 0)
        stop("no key");
    while (nrows < ROWS_MAX && read_row(&rows[nrows])) {
        if (!*rows[nrows].line || *rows[nrows].line == '#') {
            free(rows[nrows].line);
            continue;
        }
        joiner_init(&rows[nrows].joiner, &key, arguments[0]);
        send_row(&rows[nrows++]);
    }
    for (int i = 0; i < nrows; i++) {
        char answers[ANSWERS_SIZE];
        read_to_end(rows[i].joiner.fd, &rows[i].joiner.received);
        name_answers(&rows[i].joiner.received, answers);
        printf("%s\t%s\t%s\t%s\n", rows[i].columns[0], rows[i].columns[1], answers,
               rows[i].columns[3]);
        joiner_fini(&rows[i].joiner);
        free(rows[i].line);
    }
    return EXIT_SUCCESS;
}

/* ---- mutants ---- */

struct mutation {
    bool of_hello; /* otherwise of OPEN */
    bool cut;      /* after `at` bytes; otherwise bit `at` is changed */
    size_t at;
};

/* Sends what is left of a frame; says whether it was all. */
static bool send_mutant(struct joiner *joiner, struct wire_writer *frame,
                        const struct mutation *mutation, bool mutated)
{
    size_t length = mutated && mutation->cut ? mutation->at : frame->length;
    if (mutated && !mutation->cut)
        frame->data[mutation->at / 8] ^= (unsigned char)(1 << mutation->at % 8);
    bool whole = length == frame->length;
    send_all(joiner->fd, frame->data, length);
    wire_writer_fini(frame);
    return whole;
}

/* Sends one mutant on a connection of its own; true if no sealed frame comes back. A changed
 * length may leave the rendezvous waiting for more, so the sending side is closed. */
static bool try_mutant(const struct job_key *key, const char *job, const struct mutation *mutation)
{
    struct joiner joiner;
    struct wire_writer frame = { 0 };
    char answers[ANSWERS_SIZE];
    joiner_init(&joiner, key, job);
    joiner_put_open(&joiner, &frame, JOIN_VERSION, job);
    bool lengthened =
        !mutation->cut && !mutation->of_hello && mutation->at / 8 >= 8 && mutation->at / 8 < 12;
    if (send_mutant(&joiner, &frame, mutation, !mutation->of_hello) && !lengthened &&
        joiner_challenged(&joiner)) {
        joiner_put_hello(&joiner, &frame, -1, 4);
        send_mutant(&joiner, &frame, mutation, mutation->of_hello);
    }
    shutdown(joiner.fd, SHUT_WR);
    read_to_end(joiner.fd, &joiner.received);
    name_answers(&joiner.received, answers);
    bool refused = strcmp(answers, "-") == 0 || strcmp(answers, "CHALLENGE") == 0 ||
                   strcmp(answers, "HTTP") == 0; /* which it is with another magic */
    if (!refused)
        printf("%s, %s %zu: %s\n", mutation->of_hello ? "HELLO" : "OPEN",
               mutation->cut ? "cut at" : "bit", mutation->at, answers);
    joiner_fini(&joiner);
    return refused;
}

static size_t frame_length(const struct job_key *key, const char *job, bool of_hello)
{
    struct joiner joiner;
    struct wire_writer frame = { 0 };
    joiner_init(&joiner, key, job);
    if (of_hello)
        joiner_put_hello(&joiner, &frame, -1, 4);
    else
        joiner_put_open(&joiner, &frame, JOIN_VERSION, job);
    size_t length = frame.length;
    wire_writer_fini(&frame);
    joiner_fini(&joiner);
    return length;
}

int unauthenticated_mutants(char **arguments)
{
    struct job_key key;
    int tried = 0, taken = 0;
    if (job_key_parse(&key, arguments[1], NULL) < 0)
        stop("no key");
    for (int i = 0; i < 4; i++) {
        struct mutation mutation = { .of_hello = i % 2, .cut = i / 2 };
        size_t length = frame_length(&key, arguments[0], mutation.of_hello);
        for (; mutation.at < (mutation.cut ? length : 8 * length); mutation.at++, tried++)
            taken += !try_mutant(&key, arguments[0], &mutation);
    }
    printf("%d tried, %d taken\n", tried, taken);
    return taken > 0 || tried < 1000;
}
