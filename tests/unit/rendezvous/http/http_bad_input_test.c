/* SPDX-License-Identifier: Apache-2.0 */
/* What clients get who speak HTTP, or what they take for it: the rows of tests/bad/http.tsv, each
 * in one piece, byte by byte, and in pieces in between. Nothing is changed by what is refused. */
#include "tests/support/http_fixture.h"
#include "tests/support/http_rows.h"
#include "tests/support/unit.h"

#include <string.h>

static struct http_fixture fixture;
static const struct job_key key_of_all = { "thirty-two bytes that all share" };

static FILE *rows_open(void)
{
    char path[4096];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/bad/http.tsv", srcdir ? srcdir : ".");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file, "%s", path);
    return file;
}

static void set_up(void)
{
    const struct key_value_bytes scope = { "known", 5 }, key = { "key", 3 };
    http_fixture_init(&fixture, false);
    fixture.keyring.key = key_of_all;
    ck_assert_int_eq(key_value_put(fixture.job->store, scope, key, "kept", 4), 200);
}

static bool store_is_unchanged(void)
{
    const char *kept = http_fixture_stored(&fixture, "known", "key");
    return key_value_keys(fixture.job->store) == 1 && kept && strcmp(kept, "kept") == 0;
}

/* How the connection has ended. */
static const char *end(const struct http_row *row)
{
    if (!fixture.goes_on)
        return "closes";
    if (fixture.session.phase == HTTP_IDLE || strcmp(row->end, "late") != 0)
        return fixture.session.phase == HTTP_IDLE ? "stays" : "waits";
    http_session_expire(&fixture.session, fixture.session.deadline_ms, &fixture.out);
    return "late";
}

static void check_row(const struct http_row *row, size_t piece)
{
    char answers[HTTP_ROW_TEXT_SIZE];
    set_up();
    http_fixture_send(&fixture, (const char *)row->request.data, row->request.length, piece);
    const char *ended = end(row);
    const char *received = http_fixture_answers(&fixture);
    http_row_statuses(received, answers);
    ck_assert_msg(strcmp(answers, row->answers) == 0, "%s, %s: %s instead of %s", row->id,
                  row->sentence, answers, row->answers);
    ck_assert_msg(strcmp(ended, row->end) == 0, "%s, %s: %s", row->id, row->sentence, ended);
    bool closing = strstr(received, "\r\nConnection: close\r\n");
    ck_assert_msg(!*received || closing == (strcmp(ended, "closes") == 0 || strstr(answers, "408")),
                  "%s, %s: does not say how it goes on", row->id, row->sentence);
    ck_assert_msg(strstr(answers, "200") || store_is_unchanged(), "%s, %s: changes the store",
                  row->id, row->sentence);
    http_fixture_fini(&fixture);
}

static void check_pieces(const struct http_row *row)
{
    enum { LONG = 64 * 1024 };
    check_row(row, 0);
    check_row(row, row->request.length < LONG ? 1 : 1021);
    check_row(row, row->request.length < LONG ? 7 : 65521);
}

START_TEST(each_request_has_its_answer)
{
    char key[JOB_KEY_HEX_SIZE];
    struct http_row row;
    FILE *file = rows_open();
    job_key_format(&key_of_all, key);
    while (http_row_next(file, key, &row)) {
        check_pieces(&row);
        http_row_fini(&row);
    }
    fclose(file);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("http_bad_input");
    tcase_add_test(tcase, each_request_has_its_answer);
    Suite *all = suite_create("http_bad_input");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
