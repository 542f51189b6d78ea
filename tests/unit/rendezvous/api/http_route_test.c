/* SPDX-License-Identifier: Apache-2.0 */
/* Which handler answers which target, how targets are cut, and what a path allows. */
#include "rendezvous/api/http_route.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct http_route *find(int method, const char *target, struct http_path *path,
                                     struct http_answer *answer)
{
    struct http_request request = { .method = method,
                                    .target = target,
                                    .target_length = strlen(target) };
    return http_route_find(&request, path, answer);
}

static const struct {
    int method;
    const char *target;
    http_handler_fn *handle; /* NULL: refused */
    int status;
    const char *allow;
} cases[] = {
    { HTTP_GET, "/", http_page, 0, "" },
    { HTTP_HEAD, "/?x", http_page, 0, "" },
    { HTTP_GET, "/healthz", http_healthz, 0, "" },
    { HTTP_GET, "/metrics", http_metrics, 0, "" },
    { HTTP_GET, "/v1/jobs", http_jobs, 0, "" },
    { HTTP_GET, "/v1/jobs/a", http_job, 0, "" },
    { HTTP_HEAD, "/v1/jobs/a", http_job, 0, "" },
    { HTTP_PUT, "/v1/jobs/a", http_job_put, 0, "" },
    { HTTP_DELETE, "/v1/jobs/a", http_job_delete, 0, "" },
    { HTTP_GET, "/rank_and_size/a:0", http_rank_and_size, 0, "" },
    { HTTP_GET, "/a/b", http_key_value_get, 0, "" },
    { HTTP_PUT, "/a/b", http_key_value_put, 0, "" },
    { HTTP_POST, "/a/b", http_key_value_post, 0, "" },
    { HTTP_DELETE, "/a/b", http_key_value_delete, 0, "" },
    { HTTP_GET, "/../..", http_key_value_get, 0, "" }, /* which refuses it */
    { HTTP_GET, "/%2f/b", http_key_value_get, 0, "" },
    { HTTP_GET, "/healthz/b", http_key_value_get, 0, "" },
    { HTTP_GET, "/v1/job", http_key_value_get, 0, "" },

    { HTTP_GET, "", NULL, 404, "" },
    { HTTP_GET, "//", NULL, 404, "" },
    { HTTP_GET, "///", NULL, 404, "" },
    { HTTP_GET, "////", NULL, 404, "" },
    { HTTP_GET, "/a", NULL, 404, "" },
    { HTTP_GET, "/a/", NULL, 404, "" },
    { HTTP_GET, "//a", NULL, 404, "" },
    { HTTP_GET, "/a/b/", NULL, 404, "" },
    { HTTP_GET, "/a/b/c", NULL, 404, "" },
    { HTTP_GET, "/a/b/c/d", NULL, 404, "" },
    { HTTP_GET, "/v1/jobs/", NULL, 404, "" },
    { HTTP_GET, "/v1/jobs/a/b", NULL, 404, "" },
    { HTTP_GET, "/Healthz", NULL, 404, "" },
    { HTTP_GET, "/healthz/", NULL, 404, "" },
    { HTTP_GET, "/?/b", http_page, 0, "" },
    { HTTP_GET, "/a?/b", NULL, 404, "" },

    { HTTP_PUT, "/", NULL, 405, "GET, HEAD" },
    { HTTP_POST, "/healthz", NULL, 405, "GET, HEAD" },
    { HTTP_PUT, "/v1/jobs", NULL, 405, "GET, HEAD" },
    { HTTP_POST, "/v1/jobs/a", NULL, 405, "GET, HEAD, PUT, DELETE" },
    { HTTP_PUT, "/rank_and_size/a:0", NULL, 405, "GET, HEAD" },
    { HTTP_PATCH, "/a/b", NULL, 405, "GET, HEAD, PUT, DELETE, POST" },
};

START_TEST(each_target_has_its_handler)
{
    struct http_path path;
    struct http_answer answer = { 0 };
    const struct http_route *route = find(cases[_i].method, cases[_i].target, &path, &answer);
    ck_assert_ptr_eq(route ? (void *)route->handle : NULL, (void *)cases[_i].handle);
    ck_assert_int_eq(answer.status, cases[_i].status);
    ck_assert_str_eq(answer.allow, cases[_i].allow);
}
END_TEST

static void check_text(struct http_text text, const char *expected)
{
    ck_assert_uint_eq(text.length, strlen(expected));
    ck_assert_mem_eq(text.data, expected, text.length);
}

START_TEST(a_target_is_cut_and_not_decoded)
{
    struct http_path path;
    ck_assert(http_path_split(&path, "/a%2Fb/c?d/e?f", 14));
    ck_assert_int_eq(path.count, 2);
    check_text(path.segments[0], "a%2Fb");
    check_text(path.segments[1], "c");
    check_text(path.query, "d/e?f");
    ck_assert(http_path_split(&path, "/?", 2));
    ck_assert_int_eq(path.count, 0);
    ck_assert_ptr_nonnull(path.query.data);
    ck_assert_uint_eq(path.query.length, 0);
    ck_assert(http_path_split(&path, "/a//", 4));
    ck_assert_int_eq(path.count, 3);
    ck_assert_ptr_null(path.query.data);
    ck_assert(!http_path_split(&path, "/a/b/c/", 7));
    ck_assert(!http_path_split(&path, "a", 1));
}
END_TEST

START_TEST(a_path_has_one_number_and_name_for_all_methods)
{
    struct http_path path;
    struct http_answer answer;
    int get = http_route_index(find(HTTP_GET, "/a/b", &path, &answer));
    int put = http_route_index(find(HTTP_PUT, "/a/b", &path, &answer));
    ck_assert_int_eq(get, put);
    ck_assert_str_eq(http_route_name(get), "/SCOPE/KEY");
    ck_assert_int_eq(get, http_route_count() - 1);
    for (int i = 0; i < http_route_count(); i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(http_route_name(i), http_route_name(j));
    ck_assert_int_eq(http_route_index(find(HTTP_GET, "/", &path, &answer)), 0);
}
END_TEST

START_TEST(only_the_page_and_the_health_check_are_open)
{
    struct http_path path;
    struct http_answer answer;
    const struct http_route *route = find(HTTP_GET, cases[_i].target, &path, &answer);
    if (route)
        ck_assert_int_eq(route->open, route->handle == http_page || route->handle == http_healthz);
}
END_TEST

static Suite *suite(void)
{
    enum { CASES = sizeof cases / sizeof *cases };
    TCase *tcase = tcase_create("http_route");
    tcase_add_loop_test(tcase, each_target_has_its_handler, 0, CASES);
    tcase_add_test(tcase, a_target_is_cut_and_not_decoded);
    tcase_add_test(tcase, a_path_has_one_number_and_name_for_all_methods);
    tcase_add_loop_test(tcase, only_the_page_and_the_health_check_are_open, 0, CASES);
    Suite *all = suite_create("http_route");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
