/* SPDX-License-Identifier: Apache-2.0 */
/* What strangers get who speak HTTP, or what they take for it: a table of requests and first lines
 * of answers. Every row is sent in one piece and byte by byte. */
#include "rendezvous/http_session.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define OK "HTTP/1.1 200 OK"
#define BAD "HTTP/1.1 400 Bad Request"
#define NOT_FOUND "HTTP/1.1 404 Not Found"
#define NOT_ALLOWED "HTTP/1.1 405 Method Not Allowed"
#define LENGTH_REQUIRED "HTTP/1.1 411 Length Required"
#define TOO_LARGE "HTTP/1.1 413 Payload Too Large"
#define URI_TOO_LONG "HTTP/1.1 414 URI Too Long"
#define EXPECTATION "HTTP/1.1 417 Expectation Failed"
#define HEADERS_TOO_LARGE "HTTP/1.1 431 Request Header Fields Too Large"
#define NOT_IMPLEMENTED "HTTP/1.1 501 Not Implemented"
#define VERSION "HTTP/1.1 505 HTTP Version Not Supported"
#define NOTHING ""

enum end { CLOSES, STAYS };

#define GET "GET /healthz HTTP/1.1\r\nHost: a\r\n"
#define PUT "PUT /a/b HTTP/1.1\r\nHost: a\r\n"

/* The request is `head`, `count` times `fill`, `tail`. */
struct row {
    const char *sentence;
    const char *expected;
    enum end end;
    const char *head;
    const char *tail;
    const char *fill;
    int count;
};

static const struct row rows[] = {
    { "a health check", OK, STAYS, GET "\r\n", "", "", 0 },
    { "HEAD of it", OK, STAYS, "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "HTTP/1.0 closes", OK, CLOSES, "GET /healthz HTTP/1.0\r\n\r\n", "", "", 0 },
    { "HTTP/1.0 can stay", OK, STAYS, "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "",
      "", 0 },
    { "Connection: close", OK, CLOSES, GET "connection: Close\r\n\r\n", "", "", 0 },
    { "a tab around a value", OK, STAYS, GET "X:\ty\t\r\n\r\n", "", "", 0 },
    { "a body that nobody reads", OK, STAYS, GET "Content-Length: 5\r\n\r\nhello", "", "", 0 },
    { "a length of zero", OK, STAYS, GET "Content-Length: 0\r\n\r\n", "", "", 0 },

    { "an empty line", NOTHING, CLOSES, "\r\n", "", "", 0 },
    { "a bare line feed", NOTHING, CLOSES, "\n", "", "", 0 },
    { "nothing but one byte", NOTHING, STAYS, "G", "", "", 0 },
    { "a TLS hello", NOTHING, CLOSES, "\x16\x03\x01", "", "\x01\x7f", 100 },
    { "an SMB hello", NOTHING, CLOSES, "\xff\x53\x4d\x42r", "", "", 0 },
    { "an SSH banner", BAD, CLOSES, "SSH-2.0-OpenSSH_9.2\r\n", "", "", 0 },
    { "an HTTP/2 preface", VERSION, CLOSES, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", "", 0 },

    { "HTTP/0.9", BAD, CLOSES, "GET /a/b\r\n", "", "", 0 },
    { "HTTP/0.9 with a version", VERSION, CLOSES, "GET /a/b HTTP/0.9\r\n", "", "", 0 },
    { "HTTP/1.2", VERSION, CLOSES, "GET /a/b HTTP/1.2\r\n", "", "", 0 },
    { "HTTP/2.0", VERSION, CLOSES, "GET /a/b HTTP/2.0\r\n", "", "", 0 },
    { "HTTP/1.10", BAD, CLOSES, "GET /a/b HTTP/1.10\r\n", "", "", 0 },
    { "HTTP/1", BAD, CLOSES, "GET /a/b HTTP/1\r\n", "", "", 0 },
    { "http in lower case", BAD, CLOSES, "GET /a/b http/1.1\r\n", "", "", 0 },
    { "another protocol", BAD, CLOSES, "SOURCE /a ICE/1.0\r\n", "", "", 0 },
    { "two spaces", BAD, CLOSES, "GET  /healthz HTTP/1.1\r\n", "", "", 0 },
    { "a space at the end", BAD, CLOSES, "GET /healthz HTTP/1.1 \r\n", "", "", 0 },
    { "a space in front", BAD, CLOSES, " GET /healthz HTTP/1.1\r\n", "", "", 0 },
    { "a tab for a space", BAD, CLOSES, "GET\t/healthz HTTP/1.1\r\n", "", "", 0 },

    { "an unknown method", NOT_IMPLEMENTED, CLOSES, "BREW /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "",
      "", 0 },
    { "a method in lower case", NOT_IMPLEMENTED, CLOSES, "get /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
      "", "", 0 },
    { "a method that goes on", NOT_IMPLEMENTED, CLOSES, "GETS / HTTP/1.1\r\nHost: a\r\n\r\n", "",
      "", 0 },
    { "a method of 1 MiB", NOT_IMPLEMENTED, CLOSES, "", "", "G", 1 << 20 },
    { "POST", NOT_ALLOWED, STAYS, "POST /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "DELETE", NOT_ALLOWED, STAYS, "DELETE /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "OPTIONS", NOT_ALLOWED, STAYS, "OPTIONS /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "TRACE", NOT_ALLOWED, STAYS, "TRACE /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "PATCH", NOT_ALLOWED, STAYS, "PATCH /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "PUT", NOT_ALLOWED, STAYS, "PUT /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
      "", "", 0 },
    { "CONNECT", BAD, CLOSES, "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "DELETE elsewhere", NOT_FOUND, STAYS, "DELETE /a/b HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },

    { "the root", NOT_FOUND, STAYS, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "three parts", NOT_FOUND, STAYS, "GET /a/b/c HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "two slashes", NOT_FOUND, STAYS, "GET //healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "a slash more", NOT_FOUND, STAYS, "GET /healthz/ HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "a query", NOT_FOUND, STAYS, "GET /healthz?x HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "traversal", NOT_FOUND, STAYS, "GET /../healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "escapes", NOT_FOUND, STAYS, "GET /%68ealthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "an escaped NUL", NOT_FOUND, STAYS, "GET /a/%00 HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "the absolute form", BAD, CLOSES, "GET http://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "",
      0 },
    { "an asterisk", BAD, CLOSES, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },
    { "no path", BAD, CLOSES, "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", "", "", 0 },

    { "a request line at its limit", NOT_FOUND, STAYS, "GET /", " HTTP/1.1\r\nHost: a\r\n\r\n", "a",
      HTTP_REQUEST_LINE_MAX - 14 },
    { "a request line beyond", URI_TOO_LONG, CLOSES, "GET /", " HTTP/1.1\r\nHost: a\r\n\r\n", "a",
      HTTP_REQUEST_LINE_MAX - 13 },
    { "a header at its limit", OK, STAYS, GET "X:", "\r\n\r\n", "a", HTTP_HEADER_MAX - 2 },
    { "a header beyond", HEADERS_TOO_LARGE, CLOSES, GET "X:", "\r\n\r\n", "a",
      HTTP_HEADER_MAX - 1 },
    { "100 kB of a header", HEADERS_TOO_LARGE, CLOSES, GET "X: ", "", "a", 100000 },
    { "64 headers", OK, STAYS, GET, "\r\n", "X: y\r\n", 63 },
    { "65 headers", HEADERS_TOO_LARGE, CLOSES, GET, "\r\n", "X: y\r\n", 64 },

    { "a bare line feed after a header", BAD, CLOSES, GET "X: y\n\r\n", "", "", 0 },
    { "a bare line feed after the request", BAD, CLOSES, "GET /healthz HTTP/1.1\nHost: a\r\n", "",
      "", 0 },
    { "a bare line feed at the end", BAD, CLOSES, GET "\n", "", "", 0 },
    { "a bare carriage return", BAD, CLOSES, GET "X: a\rb\r\n\r\n", "", "", 0 },
    { "two carriage returns", BAD, CLOSES, GET "X: a\r\r\n\r\n", "", "", 0 },
    { "a folded header", BAD, CLOSES, GET "X: a\r\n b\r\n\r\n", "", "", 0 },
    { "a folded header with a colon", BAD, CLOSES, GET "X: a\r\n\tb: c\r\n\r\n", "", "", 0 },
    { "a space before the colon", BAD, CLOSES, GET "X : a\r\n\r\n", "", "", 0 },
    { "no colon", BAD, CLOSES, GET "X\r\n\r\n", "", "", 0 },
    { "no name", BAD, CLOSES, GET ": x\r\n\r\n", "", "", 0 },
    { "a control byte in a header", BAD, CLOSES, GET "X: a\x01\r\n\r\n", "", "", 0 },
    { "DEL in a header", BAD, CLOSES, GET "X: a\x7f\r\n\r\n", "", "", 0 },
    { "8 bits in a header", BAD, CLOSES, GET "X: \xc3\xa4\r\n\r\n", "", "", 0 },
    { "8 bits in a target", BAD, CLOSES, "GET /\xc3\xa4 HTTP/1.1\r\n", "", "", 0 },

    { "PUT without a length", LENGTH_REQUIRED, CLOSES, PUT "\r\n", "", "", 0 },
    { "a negative length", BAD, CLOSES, PUT "Content-Length: -1\r\n\r\n", "", "", 0 },
    { "a length with a sign", BAD, CLOSES, PUT "Content-Length: +5\r\n\r\n", "", "", 0 },
    { "a hexadecimal length", BAD, CLOSES, PUT "Content-Length: 0x5\r\n\r\n", "", "", 0 },
    { "a length with a fraction", BAD, CLOSES, PUT "Content-Length: 5.0\r\n\r\n", "", "", 0 },
    { "a length and a space", BAD, CLOSES, PUT "Content-Length: 5 \r\n\r\n", "", "", 0 },
    { "two lengths in one", BAD, CLOSES, PUT "Content-Length: 5,5\r\n\r\n", "", "", 0 },
    { "two lengths", BAD, CLOSES, PUT "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "", "", 0 },
    { "the same length twice", BAD, CLOSES, PUT "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
      "", "", 0 },
    { "zero twice", BAD, CLOSES, PUT "Content-Length: 0\r\ncontent-length: 0\r\n\r\n", "", "", 0 },
    { "an empty length", BAD, CLOSES, PUT "Content-Length:\r\n\r\n", "", "", 0 },
    { "a length of 2^64", BAD, CLOSES, PUT "Content-Length: 18446744073709551616\r\n\r\n", "", "",
      0 },
    { "a length of 20 digits", BAD, CLOSES, PUT "Content-Length: 00000000000000000005\r\n\r\n", "",
      "", 0 },
    { "the longest body", NOT_FOUND, STAYS, PUT "Content-Length: 4194304\r\n\r\n", "",
      "0123456789abcdef", 262144 },
    { "a longer body", TOO_LARGE, CLOSES, PUT "Content-Length: 4194305\r\n\r\n", "", "", 0 },
    { "a body of 2^31", TOO_LARGE, CLOSES, PUT "Content-Length: 2147483648\r\n\r\n", "", "", 0 },
    { "a body of 2^63-1", TOO_LARGE, CLOSES, PUT "Content-Length: 9223372036854775807\r\n\r\n", "",
      "", 0 },
    { "a body that does not come", NOTHING, STAYS, PUT "Content-Length: 6\r\n\r\nhello", "", "",
      0 },

    { "chunks", NOT_IMPLEMENTED, CLOSES, PUT "Transfer-Encoding: chunked\r\n\r\n", "", "", 0 },
    { "chunks and a length", BAD, CLOSES,
      PUT "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", "", "", 0 },
    { "a length and chunks", BAD, CLOSES,
      PUT "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", "", "", 0 },
    { "chunks, identity", BAD, CLOSES, PUT "Transfer-Encoding: chunked, identity\r\n\r\n", "", "",
      0 },
    { "chunks twice", BAD, CLOSES,
      PUT "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "", "", 0 },
    { "an unknown coding", BAD, CLOSES, PUT "Transfer-Encoding: xchunked\r\n\r\n", "", "", 0 },
    { "an empty coding", BAD, CLOSES, GET "Transfer-Encoding:\r\n\r\n", "", "", 0 },

    { "Expect", EXPECTATION, CLOSES, PUT "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n", "",
      "", 0 },
    { "Upgrade", BAD, CLOSES, GET "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "", "", 0 },
    { "Trailer", BAD, CLOSES, GET "Trailer: x\r\n\r\n", "", "", 0 },
    { "eight options of a connection", OK, STAYS, GET "Connection: a,b,c,d,e,f,g,h\r\n\r\n", "", "",
      0 },
    { "a thousand of them", BAD, CLOSES, GET "Connection: a", "\r\n\r\n", ",b", 1000 },
    { "no Host", BAD, CLOSES, "GET /healthz HTTP/1.1\r\n\r\n", "", "", 0 },
    { "two Hosts", BAD, CLOSES, GET "Host: a\r\n\r\n", "", "", 0 },
};

static char *request_make(const struct row *row, size_t *length)
{
    size_t head = strlen(row->head), fill = strlen(row->fill), tail = strlen(row->tail);
    *length = head + fill * (size_t)row->count + tail;
    char *request = malloc(*length + 1), *at = request;
    memcpy(at, row->head, head);
    at += head;
    for (int i = 0; i < row->count; i++, at += fill)
        memcpy(at, row->fill, fill);
    memcpy(at, row->tail, tail);
    return request;
}

/* Sends in pieces of `piece` bytes, as long as the session goes on; returns the end. */
static enum end send_pieces(struct http_session *session, const char *request, size_t length,
                            size_t piece, struct wire_writer *out)
{
    bool goes_on = true;
    for (size_t sent = 0; goes_on && sent < length; sent += piece) {
        size_t n = length - sent < piece ? length - sent : piece;
        char *exact = malloc(n); /* so that a read beyond it is seen */
        memcpy(exact, request + sent, n);
        goes_on = http_session_receive(session, exact, n, 0, out);
        free(exact);
    }
    return goes_on ? STAYS : CLOSES;
}

static void check_row(const struct row *row, const char *request, size_t length, size_t piece)
{
    struct http_session session;
    struct wire_writer out = { 0 };
    http_session_init(&session, HTTP_HEAD_MS);
    enum end end = send_pieces(&session, request, length, piece, &out);
    wire_put_u8(&out, 0);
    char *line_end = strstr((char *)out.data, "\r\n");
    bool closing = strstr((char *)out.data, "Connection: close\r\n");
    if (line_end)
        *line_end = '\0';
    ck_assert_msg(strcmp((char *)out.data, row->expected) == 0, "%s: '%s' instead of '%s'",
                  row->sentence, (char *)out.data, row->expected);
    ck_assert_msg(end == row->end, "%s: %s", row->sentence, end == STAYS ? "stays" : "closes");
    ck_assert_msg(closing == (line_end && end == CLOSES), "%s: does not say so", row->sentence);
    wire_writer_fini(&out);
    http_session_fini(&session);
}

START_TEST(each_request_has_its_answer)
{
    size_t length;
    char *request = request_make(&rows[_i], &length);
    check_row(&rows[_i], request, length, length);
    check_row(&rows[_i], request, length, 1);
    check_row(&rows[_i], request, length, 7);
    free(request);
}
END_TEST

/* The whole answer to `request` in one go. */
static char *exchange(struct http_session *session, const char *request, bool *goes_on)
{
    struct wire_writer out = { 0 };
    *goes_on = http_session_receive(session, request, strlen(request), 0, &out);
    wire_put_u8(&out, 0);
    return (char *)out.data;
}

static void check_answer(const char *request, const char *expected)
{
    struct http_session session;
    bool goes_on;
    http_session_init(&session, HTTP_HEAD_MS);
    char *answer = exchange(&session, request, &goes_on);
    ck_assert_str_eq(answer, expected);
    free(answer);
    http_session_fini(&session);
}

START_TEST(answers_are_what_they_are_to_the_byte)
{
    check_answer(GET "\r\n", OK "\r\nContent-Type: application/json\r\nContent-Length: 16\r\n"
                                "Connection: keep-alive\r\n\r\n{\"status\":\"ok\"}\n");
    check_answer("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
                 OK "\r\nContent-Type: application/json\r\nContent-Length: 16\r\n"
                    "Connection: keep-alive\r\n\r\n");
    check_answer("POST /healthz HTTP/1.0\r\n\r\n",
                 NOT_ALLOWED "\r\nContent-Type: text/plain\r\nContent-Length: 23\r\n"
                             "Allow: GET, HEAD\r\n"
                             "Connection: close\r\n\r\n405 Method Not Allowed\n");
}
END_TEST

START_TEST(a_NUL_in_a_header_is_refused)
{
    static const char request[] = GET "X: a\0b\r\n\r\n";
    struct http_session session;
    struct wire_writer out = { 0 };
    http_session_init(&session, HTTP_HEAD_MS);
    ck_assert(!http_session_receive(&session, request, sizeof request - 1, 0, &out));
    ck_assert_mem_eq(out.data, BAD, strlen(BAD));
    wire_writer_fini(&out);
    http_session_fini(&session);
}
END_TEST

static int count_answers(const char *answers)
{
    int count = 0;
    for (; (answers = strstr(answers, "HTTP/1.1 ")); answers++)
        count++;
    return count;
}

/* A request whose header lines and their CR LF are `nbytes` together, none of them too long. */
static char *request_with_headers(size_t nbytes)
{
    char *request = calloc(1, 64 + nbytes), *at = request;
    at += sprintf(at, "GET /healthz HTTP/1.0\r\n");
    while (nbytes > 0) {
        size_t line = nbytes < 2000 ? nbytes : 1000;
        at += sprintf(at, "X:%0*d\r\n", (int)line - 4, 0);
        nbytes -= line;
    }
    strcpy(at, "\r\n");
    return request;
}

START_TEST(all_headers_together_are_bounded)
{
    static const char *const expected[] = { OK, HEADERS_TOO_LARGE };
    char *request = request_with_headers(HTTP_HEADERS_SIZE_MAX + (size_t)_i);
    struct http_session session;
    bool goes_on;
    http_session_init(&session, HTTP_HEAD_MS);
    char *answer = exchange(&session, request, &goes_on);
    ck_assert_mem_eq(answer, expected[_i], strlen(expected[_i]));
    free(answer);
    free(request);
    http_session_fini(&session);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
    struct http_session session;
    bool goes_on;
    http_session_init(&session, HTTP_HEAD_MS);
    char *answers =
        exchange(&session, GET "\r\n" PUT "Content-Length: 3\r\n\r\nabc" GET "\r\n", &goes_on);
    ck_assert(goes_on);
    ck_assert_int_eq(count_answers(answers), 3);
    ck_assert_ptr_nonnull(strstr(strstr(strstr(answers, OK), NOT_FOUND), OK));
    free(answers);
    http_session_fini(&session);
}
END_TEST

START_TEST(garbage_after_a_body_spoils_the_next_request_only)
{
    struct http_session session;
    bool goes_on;
    http_session_init(&session, HTTP_HEAD_MS);
    char *answers = exchange(&session, GET "Content-Length: 3\r\n\r\nabcdef\r\n", &goes_on);
    ck_assert(!goes_on);
    ck_assert_int_eq(count_answers(answers), 2);
    ck_assert_ptr_nonnull(strstr(strstr(answers, OK), BAD));
    free(answers);
    http_session_fini(&session);
}
END_TEST

static bool send_many(struct http_session *session, int count, int at_once, int *answered)
{
    bool goes_on = true;
    for (int sent = 0; goes_on && sent < count; sent += at_once) {
        struct row row = { .head = "", .tail = "", .fill = GET "\r\n", .count = at_once };
        size_t length;
        char *requests = request_make(&row, &length);
        requests[length] = '\0';
        char *answers = exchange(session, requests, &goes_on);
        *answered += count_answers(answers);
        free(answers);
        free(requests);
    }
    return goes_on;
}

START_TEST(pipelining_and_requests_per_connection_are_bounded)
{
    static const struct {
        int count, at_once, answered;
        bool goes_on;
    } cases[] = {
        { 15, 15, 15, true },
        { 16, 16, 16, false },
        { 1000, 1000, 16, false },
        { HTTP_REQUESTS_MAX - 1, 1, HTTP_REQUESTS_MAX - 1, true },
        { HTTP_REQUESTS_MAX + 1, 1, HTTP_REQUESTS_MAX, false },
    };
    struct http_session session;
    int answered = 0;
    http_session_init(&session, HTTP_HEAD_MS);
    ck_assert_int_eq(send_many(&session, cases[_i].count, cases[_i].at_once, &answered),
                     cases[_i].goes_on);
    ck_assert_int_eq(answered, cases[_i].answered);
    http_session_fini(&session);
}
END_TEST

static void receive_at(struct http_session *session, const char *text, uint64_t now_ms)
{
    struct wire_writer out = { 0 };
    ck_assert(http_session_receive(session, text, strlen(text), now_ms, &out));
    wire_writer_fini(&out);
}

START_TEST(each_phase_has_its_deadline)
{
    struct http_session session;
    http_session_init(&session, 5000);
    receive_at(&session, "G", 4000);
    ck_assert_uint_eq(session.deadline_ms, 5000);
    receive_at(&session, "ET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n", 4900);
    ck_assert_uint_eq(session.deadline_ms, 4000 + HTTP_REQUEST_MS);
    receive_at(&session, "ab", 6000);
    ck_assert_uint_eq(session.deadline_ms, 6000 + HTTP_IDLE_MS);
    receive_at(&session, "G", 50000);
    receive_at(&session, "E", 51000);
    ck_assert_uint_eq(session.deadline_ms, 50000 + HTTP_HEAD_MS);
    http_session_fini(&session);
}
END_TEST

START_TEST(who_is_late_is_told_so_and_who_is_silent_is_not)
{
    static const struct {
        const char *request, *expected;
    } cases[] = { { "", "" },
                  { "GET /healthz", "HTTP/1.1 408 Request Timeout\r\n" },
                  { PUT "Content-Length: 5\r\n\r\nab", "HTTP/1.1 408 Request Timeout\r\n" },
                  { GET "\r\n", "" } };
    struct http_session session;
    http_session_init(&session, 5000);
    receive_at(&session, cases[_i].request, 0);
    struct wire_writer out = { 0 };
    http_session_expire(&session, &out);
    wire_put_u8(&out, 0);
    ck_assert_mem_eq(out.data, cases[_i].expected, strlen(cases[_i].expected));
    ck_assert_int_eq(out.length > 1, *cases[_i].expected != '\0');
    wire_writer_fini(&out);
    http_session_fini(&session);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("http");
    tcase_add_loop_test(tcase, each_request_has_its_answer, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tcase, answers_are_what_they_are_to_the_byte);
    tcase_add_test(tcase, a_NUL_in_a_header_is_refused);
    tcase_add_loop_test(tcase, all_headers_together_are_bounded, 0, 2);
    tcase_add_test(tcase, pipelined_requests_are_answered_in_order);
    tcase_add_test(tcase, garbage_after_a_body_spoils_the_next_request_only);
    tcase_add_loop_test(tcase, pipelining_and_requests_per_connection_are_bounded, 0, 5);
    tcase_add_test(tcase, each_phase_has_its_deadline);
    tcase_add_loop_test(tcase, who_is_late_is_told_so_and_who_is_silent_is_not, 0, 4);
    Suite *all = suite_create("rendezvous_http");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
