/* SPDX-License-Identifier: Apache-2.0 */
/* What is a declaration of a job, and what is said of what is none. Each body lies in memory of
 * exactly its own size. */
#include "rendezvous/world/job_declaration.h"

#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define OBJECT "expected one JSON object, such as {\"size\": 4, \"start_timeout_s\": 60}"
#define SIZE "field \"size\": expected a whole number from 1 to 131072"
#define TIMEOUT "field \"start_timeout_s\": expected a number of seconds from 0.001 to 86400"
#define UNKNOWN(field)                                                                             \
    "field \"" field                                                                               \
    "\" is not known; expected \"size\", or \"min\" and \"max\", and maybe \"start_timeout_s\""

/* `complaint` is NULL where size and timeout count. */
static const struct row {
    const char *body;
    const char *complaint;
    int size;
    uint64_t start_timeout_ms;
} rows[] = {
    { "{\"size\":4}", NULL, 4, 0 },
    { "{\"size\":1}", NULL, 1, 0 },
    { "{\"size\":131072}", NULL, 131072, 0 },
    { "{\"size\":4e2}", NULL, 400, 0 },
    { "{\"size\":4.0e02}", NULL, 400, 0 },
    { " {\r\n\t\"size\" : 4 , \"start_timeout_s\" : 1.5 }\n", NULL, 4, 1500 },
    { "{\"start_timeout_s\":0.001,\"size\":2}", NULL, 2, 1 },
    { "{\"start_timeout_s\":86400,\"size\":2}", NULL, 2, 86400000 },

    { "", OBJECT, 0, 0 },
    { " ", OBJECT, 0, 0 },
    { "4", OBJECT, 0, 0 },
    { "null", OBJECT, 0, 0 },
    { "\"size\"", OBJECT, 0, 0 },
    { "[]", OBJECT, 0, 0 },
    { "[{\"size\":4}]", OBJECT, 0, 0 },
    { "{\"size\":4", OBJECT, 0, 0 },
    { "{\"size\":4,}", OBJECT, 0, 0 },
    { "{\"size\" 4}", OBJECT, 0, 0 },
    { "{size:4}", OBJECT, 0, 0 },
    { "{'size':4}", OBJECT, 0, 0 },
    { "{\"size\":+4}", OBJECT, 0, 0 },
    { "{\"size\":02}", OBJECT, 0, 0 },
    { "{\"size\":4.}", OBJECT, 0, 0 },
    { "{\"size\":4,\"start_timeout_s\":060}", OBJECT, 0, 0 },
    { "{\"size\":0x4}", OBJECT, 0, 0 },
    { "{\"size\":NaN}", OBJECT, 0, 0 },
    { "{\"size\":4} x", OBJECT, 0, 0 },
    { "{\"size\":4}{\"size\":4}", OBJECT, 0, 0 },
    { "{\"size\":4}]", OBJECT, 0, 0 },
    { "\xef\xbb\xbf{\"size\":4}", OBJECT, 0, 0 },
    { "{\"size\x01\":4}", OBJECT, 0, 0 },
    { "{\v\"size\":4}", OBJECT, 0, 0 },
    { "{\"size\\u0000\":4}", OBJECT, 0, 0 },
    { "{\"\\u0073ize\":4}", OBJECT, 0, 0 },
    { "{\"size\":4,\"n\xc3\xa4me\":1}", OBJECT, 0, 0 },
    { "{\"size\":[[[[[[[[[[1]]]]]]]]]]}", OBJECT, 0, 0 },
    { "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":{\"h\":1}}}}}}}}}", OBJECT, 0, 0 },

    { "{}", "field \"size\" is missing: expected a whole number from 1 to 131072", 0, 0 },
    { "{\"start_timeout_s\":5}",
      "field \"size\" is missing: expected a whole number from 1 to 131072", 0, 0 },
    { "{\"size\":0}", SIZE, 0, 0 },
    { "{\"size\":-1}", SIZE, 0, 0 },
    { "{\"size\":131073}", SIZE, 0, 0 },
    { "{\"size\":4.5}", SIZE, 0, 0 },
    { "{\"size\":1e999}", SIZE, 0, 0 },
    { "{\"size\":18446744073709551617}", SIZE, 0, 0 },
    { "{\"size\":\"4\"}", SIZE, 0, 0 },
    { "{\"size\":true}", SIZE, 0, 0 },
    { "{\"size\":null}", SIZE, 0, 0 },
    { "{\"size\":[4]}", SIZE, 0, 0 },
    { "{\"size\":{\"size\":4}}", SIZE, 0, 0 },
    { "{\"size\":4,\"start_timeout_s\":0}", TIMEOUT, 0, 0 },
    { "{\"size\":4,\"start_timeout_s\":0.0009}", TIMEOUT, 0, 0 },
    { "{\"size\":4,\"start_timeout_s\":-1}", TIMEOUT, 0, 0 },
    { "{\"size\":4,\"start_timeout_s\":86400.001}", TIMEOUT, 0, 0 },
    { "{\"size\":4,\"start_timeout_s\":\"60\"}", TIMEOUT, 0, 0 },
    { "{\"size\":4,\"size\":4}", "field \"size\" is there twice", 0, 0 },
    { "{\"size\":4,\"Size\":4}", UNKNOWN("Size"), 0, 0 },
    { "{\"size\":4,\"\":4}", UNKNOWN(""), 0, 0 },
    { "{\"size-02\":4}", UNKNOWN("size-02"), 0, 0 },
    { "{\"np\":4}", UNKNOWN("np"), 0, 0 },
};

static int parse(struct job_declaration *declaration, const char *body, size_t length,
                 struct err *err)
{
    char *copy = malloc(length ? length : 1);
    memcpy(copy, body, length);
    int rc = job_declaration_parse(declaration, copy, length, err);
    free(copy);
    return rc;
}

START_TEST(a_body_is_taken_or_complained_of)
{
    const struct row *row = &rows[_i];
    struct job_declaration declaration = { 0 };
    struct err err = { 0 };
    int rc = parse(&declaration, row->body, strlen(row->body), &err);
    ck_assert_str_eq(err.text, row->complaint ? row->complaint : "");
    ck_assert_int_eq(rc, row->complaint ? HVD_ERR_INVALID : HVD_OK);
    ck_assert_int_eq(declaration.size, row->size);
    ck_assert_uint_eq(declaration.start_timeout_ms, row->start_timeout_ms);
}
END_TEST

/* `complaint` is NULL where minimum and maximum count. */
static const struct {
    const char *body, *complaint;
    int min, max;
} elastic_rows[] = {
    { "{\"min\":2,\"max\":8}", NULL, 2, 8 },
    { "{\"max\":131072,\"min\":1,\"start_timeout_s\":5}", NULL, 1, 131072 },
    { "{\"min\":4,\"max\":4}", NULL, 4, 4 },
    { "{\"min\":2}", "field \"max\" is missing: expected a whole number from 1 to 131072", 0, 0 },
    { "{\"max\":2}", "field \"min\" is missing: expected a whole number from 1 to 131072", 0, 0 },
    { "{\"min\":0,\"max\":2}", "field \"min\": expected a whole number from 1 to 131072", 0, 0 },
    { "{\"min\":1,\"max\":131073}", "field \"max\": expected a whole number from 1 to 131072", 0,
      0 },
    { "{\"min\":3,\"max\":2}", "field \"min\" is 3 but field \"max\" is 2", 0, 0 },
    { "{\"size\":3,\"min\":2,\"max\":4}",
      "field \"size\" is there, but a job with \"min\" and \"max\" is elastic", 0, 0 },
};

START_TEST(an_elastic_job_has_a_minimum_and_a_maximum)
{
    struct job_declaration declaration = { 0 };
    struct err err = { 0 };
    const char *body = elastic_rows[_i].body, *complaint = elastic_rows[_i].complaint;
    int rc = parse(&declaration, body, strlen(body), &err);
    ck_assert_str_eq(err.text, complaint ? complaint : "");
    ck_assert_int_eq(rc, complaint ? HVD_ERR_INVALID : HVD_OK);
    ck_assert_int_eq(declaration.size, 0);
    ck_assert_int_eq(declaration.min, elastic_rows[_i].min);
    ck_assert_int_eq(declaration.max, elastic_rows[_i].max);
}
END_TEST

START_TEST(a_body_cut_anywhere_is_none)
{
    static const char body[] = "{\"start_timeout_s\":60.5,\"size\":12}";
    for (size_t length = 0; length < sizeof body - 1; length++) {
        struct job_declaration declaration = { 0 };
        struct err err = { 0 };
        ck_assert_int_eq(parse(&declaration, body, length, &err), HVD_ERR_INVALID);
        ck_assert_str_eq(err.text, OBJECT);
    }
}
END_TEST

START_TEST(nesting_and_length_have_bounds)
{
    static char body[JOB_DECLARATION_MAX + 1];
    struct job_declaration declaration;
    struct err err;
    memset(body, '[', sizeof body);
    ck_assert_int_eq(parse(&declaration, body, JOB_DECLARATION_MAX, &err), HVD_ERR_INVALID);
    memset(body, ' ', sizeof body);
    memcpy(body, "{\"size\":4}", 10);
    ck_assert_int_eq(parse(&declaration, body, JOB_DECLARATION_MAX, &err), HVD_OK);
    ck_assert_int_eq(parse(&declaration, body, sizeof body, &err), HVD_ERR_INVALID);
}
END_TEST

START_TEST(no_body_is_no_declaration)
{
    struct job_declaration declaration;
    struct err err;
    ck_assert_int_eq(job_declaration_parse(&declaration, NULL, 0, &err), HVD_ERR_INVALID);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_declaration");
    TCase *tcase = tcase_create("job_declaration");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, no_body_is_no_declaration);
    tcase_add_loop_test(tcase, a_body_is_taken_or_complained_of, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tcase, an_elastic_job_has_a_minimum_and_a_maximum, 0,
                        sizeof elastic_rows / sizeof *elastic_rows);
    tcase_add_test(tcase, a_body_cut_anywhere_is_none);
    tcase_add_test(tcase, nesting_and_length_have_bounds);
    return unit_run(suite);
}
