/* SPDX-License-Identifier: Apache-2.0 */
/* Who may: what each Authorization, Host and Origin shows, of a job's own server and of a service,
 * and that no proof counts twice. */
#include "rendezvous/http/http_access.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define ID "train-7"
#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct keyring keyring;
static struct http_gate gate;
static unsigned char nonce[NONCE_SIZE];

static void open_gate(bool service, enum rendezvous_origin origin)
{
    char challenge[HTTP_CHALLENGE_SIZE];
    ck_assert_int_eq(auth_init(NULL), HVD_OK);
    keyring = (struct keyring){ .service = service };
    job_key_generate(&keyring.key);
    strcpy(keyring.job, service ? "" : ID);
    http_gate_init(&gate, &keyring, origin);
    http_gate_challenge(&gate, challenge);
    memcpy(nonce, gate.nonce, sizeof nonce);
}

static struct http_text text_of(const char *text)
{
    return (struct http_text){ text, text ? strlen(text) : 0 };
}

static struct http_request request_of(const char *authorization)
{
    return (struct http_request){ .method = HTTP_PUT,
                                  .target = "/a/b?c",
                                  .target_length = 6,
                                  .authorization = text_of(authorization),
                                  .host = text_of("example.org") };
}

static int check(const char *authorization, struct http_access *access)
{
    struct http_request request = request_of(authorization);
    return http_gate_check(&gate, &request, access);
}

enum whose { OF_JOB, OF_OTHER, OF_SERVICE, OF_NOBODY, OF_WORKER };

static struct job_key key_of(enum whose whose)
{
    struct job_key key = keyring.key;
    if (whose == OF_NOBODY)
        job_key_generate(&key);
    else if (keyring.service && whose != OF_SERVICE)
        job_key_derive(&key, &keyring.key, whose == OF_JOB || whose == OF_WORKER ? ID : "other");
    if (whose == OF_WORKER)
        worker_key_derive(&key, &key, 3);
    return key;
}

/* What a Bearer or a prover of this id and key is let do. */
static const struct {
    bool service;
    const char *id; /* NULL: not named */
    enum whose key;
    int refused;
    enum http_level level;
    const char *job;
} rights[] = {
    { false, NULL, OF_JOB, 0, HTTP_OF_JOB, ID },
    { false, ID, OF_JOB, 0, HTTP_OF_JOB, ID },
    { false, "other", OF_JOB, 401, HTTP_ANYBODY, "" },
    { false, NULL, OF_NOBODY, 401, HTTP_ANYBODY, "" },
    { false, ID, OF_NOBODY, 401, HTTP_ANYBODY, "" },
    { false, "/3", OF_WORKER, 0, HTTP_OF_JOB, ID },
    { false, ID "/3", OF_WORKER, 0, HTTP_OF_JOB, ID },
    { false, ID "/4", OF_WORKER, 401, HTTP_ANYBODY, "" },
    { false, ID, OF_WORKER, 401, HTTP_ANYBODY, "" },
    { false, ID "/3", OF_JOB, 401, HTTP_ANYBODY, "" },
    { true, ID "/3", OF_WORKER, 0, HTTP_OF_JOB, ID },
    { true, "/3", OF_WORKER, 401, HTTP_ANYBODY, "" },
    { true, "/3", OF_SERVICE, 401, HTTP_ANYBODY, "" },
    { true, NULL, OF_SERVICE, 0, HTTP_OF_SERVICE, "" },
    { true, ID, OF_JOB, 0, HTTP_OF_JOB, ID },
    { true, "other", OF_OTHER, 0, HTTP_OF_JOB, "other" },
    { true, "other", OF_JOB, 401, HTTP_ANYBODY, "" },
    { true, ID, OF_SERVICE, 401, HTTP_ANYBODY, "" },
    { true, NULL, OF_JOB, 401, HTTP_ANYBODY, "" },
    { true, ID, OF_NOBODY, 401, HTTP_ANYBODY, "" },
};
enum { RIGHTS = sizeof rights / sizeof *rights };

static void check_rights(const char *authorization, int row)
{
    struct http_access access;
    ck_assert_int_eq(check(authorization, &access), rights[row].refused);
    ck_assert_int_eq(access.level, rights[row].level);
    ck_assert_str_eq(access.job, rights[row].job);
    ck_assert_int_eq(access.credentials, rights[row].refused == 0);
    http_gate_fini(&gate);
}

START_TEST(a_bearer_may_do_what_its_key_opens)
{
    char text[256], hex[JOB_KEY_HEX_SIZE];
    open_gate(rights[_i].service, RENDEZVOUS_ELSEWHERE);
    struct job_key key = key_of(rights[_i].key);
    const char *id = rights[_i].id;
    job_key_format(&key, hex);
    snprintf(text, sizeof text, "Bearer %s%s%s", id ? id : "", id ? ":" : "", hex);
    check_rights(text, _i);
}
END_TEST

static const char *prove(const struct job_key *key, const char *id, uint64_t counter)
{
    static char text[HTTP_PROOF_SIZE];
    http_proof_make(text, key, id, nonce, counter, "PUT", "/a/b?c", "body", 4);
    return text;
}

START_TEST(who_proves_a_key_may_do_the_same)
{
    open_gate(rights[_i].service, RENDEZVOUS_ELSEWHERE);
    struct job_key key = key_of(rights[_i].key);
    check_rights(prove(&key, rights[_i].id ? rights[_i].id : "", 1), _i);
}
END_TEST

START_TEST(a_proof_names_the_body)
{
    struct http_access access;
    unsigned char digest[DIGEST_SIZE];
    auth_digest(digest, "body", 4);
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    ck_assert_int_eq(check(prove(&keyring.key, "", 1), &access), 0);
    ck_assert(access.digest_known);
    ck_assert_mem_eq(access.digest, digest, sizeof digest);
}
END_TEST

START_TEST(a_counter_only_rises)
{
    static const struct {
        uint64_t counter;
        int refused;
    } steps[] = {
        { 0, 401 },        { 1, 0 },
        { 1, 401 },        { 0, 401 },
        { 7, 0 },          { 6, 401 },
        { 7, 401 },        { UINT64_MAX - 1, 0 },
        { UINT64_MAX, 0 }, { UINT64_MAX, 401 },
        { 8, 401 },        { 0, 401 },
    };
    struct http_access access;
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        ck_assert_int_eq(check(prove(&keyring.key, ID, steps[i].counter), &access),
                         steps[i].refused);
}
END_TEST

START_TEST(a_wrong_proof_does_not_move_the_counter)
{
    struct http_access access;
    struct job_key wrong;
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    job_key_generate(&wrong);
    ck_assert_int_eq(check(prove(&wrong, "", UINT64_MAX), &access), 401);
    ck_assert_int_eq(check(prove(&keyring.key, "", 1), &access), 0);
}
END_TEST

START_TEST(a_proof_is_of_one_connection)
{
    struct http_access access;
    char challenge[HTTP_CHALLENGE_SIZE];
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    const char *proof = prove(&keyring.key, "", 1);
    http_gate_init(&gate, &keyring, RENDEZVOUS_ELSEWHERE);
    ck_assert_int_eq(check(proof, &access), 401); /* no nonce yet */
    memset(nonce, 0, sizeof nonce);
    ck_assert_int_eq(check(prove(&keyring.key, "", 1), &access), 401);
    http_gate_challenge(&gate, challenge);
    ck_assert_int_eq(check(proof, &access), 401);
}
END_TEST

START_TEST(a_proof_is_of_one_request)
{
    static const struct {
        int method;
        const char *target;
    } others[] = { { HTTP_GET, "/a/b?c" },
                   { HTTP_PUT, "/a/b?d" },
                   { HTTP_PUT, "/a/b" },
                   { HTTP_PUT, "/a/b?c " } };
    struct http_access access;
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    struct http_request request = request_of(prove(&keyring.key, "", 1));
    request.method = others[_i].method;
    request.target = others[_i].target;
    request.target_length = strlen(others[_i].target);
    ck_assert_int_eq(http_gate_check(&gate, &request, &access), 401);
}
END_TEST

START_TEST(a_target_that_no_request_can_have_is_not_proved)
{
    char target[4 * HTTP_REQUEST_LINE_MAX], text[HTTP_PROOF_SIZE];
    struct http_access access;
    memset(target, 'a', sizeof target);
    target[0] = '/';
    target[sizeof target - 1] = '\0';
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    http_proof_make(text, &keyring.key, "", nonce, 1, "PUT", target, "", 0);
    ck_assert_int_eq(check(text, &access), 401);
}
END_TEST

START_TEST(every_bit_of_a_proof_counts)
{
    struct http_access access;
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    char text[HTTP_PROOF_SIZE];
    strcpy(text, prove(&keyring.key, ID, 1));
    for (char *at = text; *at; at++) {
        char was = *at;
        for (int bit = 0; bit < 8; bit++) {
            *at = (char)(was ^ 1 << bit);
            struct http_request request = request_of(text);
            bool same_letter = bit == 5 && ((was >= 'a' && was <= 'f') || at < text + 4);
            if (*at && !same_letter)
                ck_assert_msg(http_gate_check(&gate, &request, &access) != 0, "%s", text);
        }
        *at = was;
    }
    ck_assert_int_eq(check(text, &access), 0);
}
END_TEST

/* Of a browser that says which page has caused a request. */
static const struct {
    const char *site;
    int refused;
} sites[] = {
    { NULL, 0 },
    { "none", 0 },
    { "same-origin", 0 },
    { "Same-Origin", 0 },
    { "cross-site", 403 },
    { "same-site", 403 },
    { "", 403 },
    { "none, cross-site", 403 },
    { "something new", 403 },
};
enum { SITES = sizeof sites / sizeof *sites };

START_TEST(what_another_web_page_causes_is_refused_also_with_a_key)
{
    char bearer[128], hex[JOB_KEY_HEX_SIZE];
    struct http_access access;
    open_gate(false, RENDEZVOUS_OWN_UID);
    job_key_format(&keyring.key, hex);
    snprintf(bearer, sizeof bearer, "Bearer %s", hex);
    struct http_request request = request_of(bearer);
    request.fetch_site = text_of(sites[_i].site);
    ck_assert_int_eq(http_gate_check(&gate, &request, &access), sites[_i].refused);
    ck_assert_int_eq(access.level, sites[_i].refused ? HTTP_ANYBODY : HTTP_OF_JOB);
    request.authorization = text_of(NULL);
    request.host = text_of("localhost:4000");
    ck_assert_int_eq(http_gate_check(&gate, &request, &access), sites[_i].refused);
    ck_assert_int_eq(access.level, sites[_i].refused ? HTTP_ANYBODY : HTTP_OF_JOB);
}
END_TEST

START_TEST(a_proof_is_nothing_before_its_last_byte)
{
    struct http_access access;
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    char text[HTTP_PROOF_SIZE];
    strcpy(text, prove(&keyring.key, ID, 1));
    for (size_t length = 0; length < strlen(text); length++) {
        char *exact = strndup(text, length);
        struct http_request request = request_of(exact);
        ck_assert_int_ne(http_gate_check(&gate, &request, &access), 0);
        ck_assert_int_eq(access.level, HTTP_ANYBODY);
        free(exact);
    }
}
END_TEST

#define COUNTED(counter)                                                                           \
    "HVD1 job=\"\", counter=\"" counter "\", body=\"" HEX64 "\", proof=\"" HEX64 "\""

static const struct {
    const char *text;
    int refused;
} texts[] = {
    { "", 401 },
    { "Bearer", 401 },
    { "Bearer ", 400 },
    { "Basic YTpi", 401 },
    { "Digest username=\"a\"", 401 },
    { "Bearer abc", 401 },
    { "Bearer " HEX64, 401 },
    { "bearer " HEX64, 401 },
    { "Bearer " HEX64 "0", 401 },
    { "Bearer :" HEX64, 400 },
    { "Bearer a:", 400 },
    { "Bearer -a:" HEX64, 400 },
    { "Bearer a/b:" HEX64, 400 },
    { "Bearer a:b:" HEX64, 401 },
    { "Bearer " HEX64 " " HEX64, 400 },
    { "Bearer " HEX64 HEX64 ":" HEX64, 400 },
    { "HVD1", 401 },
    { "HVD1 ", 400 },
    { "HVD1 job", 400 },
    { "HVD1 job=", 400 },
    { "HVD1 job=\"", 400 },
    { "HVD1 job=\"\"", 400 },
    { COUNTED("1"), 401 },
    { COUNTED("0"), 401 },
    { COUNTED("18446744073709551615"), 401 },
    { COUNTED("18446744073709551616"), 400 },
    { COUNTED("99999999999999999999"), 400 },
    { COUNTED("100000000000000000000"), 400 },
    { COUNTED(""), 400 },
    { COUNTED("01"), 400 },
    { COUNTED("00"), 400 },
    { COUNTED("+1"), 400 },
    { COUNTED("-1"), 400 },
    { COUNTED(" 1"), 400 },
    { COUNTED("1 "), 400 },
    { COUNTED("0x1"), 400 },
    { COUNTED("1.0"), 400 },
    { COUNTED("1") ",", 400 },
    { COUNTED("1") " x", 400 },
    { COUNTED("1") ", x=\"\"", 400 },
    { COUNTED("1") ", job=\"\"", 400 },
    { "HVD1 counter=\"1\",proof=\"" HEX64 "\",body=\"" HEX64 "\",job=\"a\"", 401 },
    { "HVD1 job=a, counter=1, body=" HEX64 ", proof=" HEX64, 400 },
    { "HVD1 job=\"a b\", counter=\"1\", body=\"" HEX64 "\", proof=\"" HEX64 "\"", 400 },
    { "HVD1 job=\"" HEX64 "1\", counter=\"1\", body=\"" HEX64 "\", proof=\"" HEX64 "\"", 400 },
    { "HVD1 job=\"\", counter=\"1\", body=\"\", proof=\"" HEX64 "\"", 400 },
    { "HVD1 job=\"\", counter=\"1\", body=\"" HEX64 "00\", proof=\"" HEX64 "\"", 400 },
    { "HVD1 job=\"\", counter=\"1\", body=\"" HEX64 "\", proof=\"\"", 401 },
    { "HVD1 job=\"\", counter=\"1\", body=\"" HEX64 "\", proof=\"0\"", 401 },
    { "HVD1 job=\"\", counter=\"1\", body=\"" HEX64 "\"", 400 },
};

START_TEST(what_cannot_be_read_is_refused_and_what_can_is_wrong)
{
    struct http_access access;
    open_gate(false, RENDEZVOUS_OWN_UID);
    ck_assert_int_eq(check(texts[_i].text, &access), texts[_i].refused);
    ck_assert_int_eq(access.level, HTTP_ANYBODY);
}
END_TEST

START_TEST(who_shows_nothing_is_anybody)
{
    struct http_access access;
    open_gate(_i, RENDEZVOUS_ELSEWHERE);
    struct http_request request = request_of(NULL);
    request.host = text_of("127.0.0.1");
    ck_assert_int_eq(http_gate_check(&gate, &request, &access), 0);
    ck_assert_int_eq(access.level, HTTP_ANYBODY);
}
END_TEST

/* Clients whose socket is the user's own. */
static const struct {
    const char *host, *origin;
    bool own;
} clients[] = {
    { "127.0.0.1", NULL, true },
    { "127.0.0.1:80", NULL, true },
    { "127.255.0.3:65535", NULL, true },
    { "localhost", NULL, true },
    { "LocalHost:1234", NULL, true },
    { "[::1]", NULL, true },
    { "[::1]:5", NULL, true },
    { "127.0.0.1:80", "http://127.0.0.1:80", true },
    { "localhost", "HTTP://LOCALHOST", true },
    { "[::1]:5", "http://[::1]:5", true },
    { NULL, NULL, false },
    { "", NULL, false },
    { "example.org", NULL, false },
    { "128.0.0.1", NULL, false },
    { "127.1", NULL, false },
    { "127.0.0.1.example.org", NULL, false },
    { "127.0.0.256", NULL, false },
    { "127.0.0.01", NULL, false },
    { "0127.0.0.1", NULL, false },
    { "2130706433", NULL, false },
    { "0.0.0.0", NULL, false },
    { "localhost.example.org", NULL, false },
    { "localhost.", NULL, false },
    { "xlocalhost", NULL, false },
    { "localhost:", NULL, false },
    { "localhost:x", NULL, false },
    { "localhost:123456", NULL, false },
    { "localhost:80:80", NULL, false },
    { "a@localhost", NULL, false },
    { "::1", NULL, false },
    { "[::1", NULL, false },
    { "[::1]x", NULL, false },
    { "[::2]", NULL, false },
    { "[::ffff:127.0.0.1]", NULL, false },
    { "127.0.0.1", "http://example.org", false },
    { "127.0.0.1:80", "http://127.0.0.1:81", false },
    { "127.0.0.1:80", "http://127.0.0.1", false },
    { "127.0.0.1", "http://localhost", false },
    { "127.0.0.1", "https://127.0.0.1", false },
    { "127.0.0.1", "null", false },
    { "127.0.0.1", "", false },
};

START_TEST(the_jobs_own_user_needs_no_key_but_web_pages_do)
{
    struct http_access access;
    open_gate(false, RENDEZVOUS_OWN_UID);
    struct http_request request = request_of(NULL);
    request.host = text_of(clients[_i].host);
    request.origin = text_of(clients[_i].origin);
    ck_assert_int_eq(http_gate_check(&gate, &request, &access), 0);
    ck_assert_int_eq(access.level, clients[_i].own ? HTTP_OF_JOB : HTTP_ANYBODY);
    ck_assert_str_eq(access.job, clients[_i].own ? ID : "");
    ck_assert(!access.credentials);
}
END_TEST

START_TEST(a_service_has_no_user_of_its_own)
{
    struct http_access access;
    open_gate(true, RENDEZVOUS_OWN_UID);
    struct http_request request = request_of(NULL);
    request.host = text_of("127.0.0.1");
    ck_assert_int_eq(http_gate_check(&gate, &request, &access), 0);
    ck_assert_int_eq(access.level, HTTP_ANYBODY);
}
END_TEST

START_TEST(a_challenge_is_the_same_for_the_whole_connection)
{
    char first[HTTP_CHALLENGE_SIZE], second[HTTP_CHALLENGE_SIZE];
    open_gate(false, RENDEZVOUS_ELSEWHERE);
    http_gate_challenge(&gate, first);
    http_gate_challenge(&gate, second);
    ck_assert_str_eq(first, second);
    ck_assert_ptr_nonnull(strstr(first, "Bearer"));
    http_gate_init(&gate, &keyring, RENDEZVOUS_ELSEWHERE);
    http_gate_challenge(&gate, second);
    ck_assert_str_ne(first, second);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("http_access");
    tcase_add_loop_test(tcase, a_bearer_may_do_what_its_key_opens, 0, RIGHTS);
    tcase_add_loop_test(tcase, who_proves_a_key_may_do_the_same, 0, RIGHTS);
    tcase_add_test(tcase, a_proof_names_the_body);
    tcase_add_test(tcase, a_counter_only_rises);
    tcase_add_test(tcase, a_wrong_proof_does_not_move_the_counter);
    tcase_add_test(tcase, a_proof_is_of_one_connection);
    tcase_add_loop_test(tcase, a_proof_is_of_one_request, 0, 4);
    tcase_add_test(tcase, a_target_that_no_request_can_have_is_not_proved);
    tcase_add_test(tcase, every_bit_of_a_proof_counts);
    tcase_add_loop_test(tcase, what_another_web_page_causes_is_refused_also_with_a_key, 0, SITES);
    tcase_add_test(tcase, a_proof_is_nothing_before_its_last_byte);
    tcase_add_loop_test(tcase, what_cannot_be_read_is_refused_and_what_can_is_wrong, 0,
                        sizeof texts / sizeof *texts);
    tcase_add_loop_test(tcase, who_shows_nothing_is_anybody, 0, 2);
    tcase_add_loop_test(tcase, the_jobs_own_user_needs_no_key_but_web_pages_do, 0,
                        sizeof clients / sizeof *clients);
    tcase_add_test(tcase, a_service_has_no_user_of_its_own);
    tcase_add_test(tcase, a_challenge_is_the_same_for_the_whole_connection);
    Suite *all = suite_create("http_access");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
