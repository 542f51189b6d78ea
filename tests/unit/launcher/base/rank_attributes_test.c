/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes arrive as they were sent, and as they are here. */
#include "launcher/base/rank_attributes.h"

#include "tests/support/unit.h"

#include <signal.h>
#include <sys/stat.h>

static struct wire_writer out;
static struct err err;

static void release(void)
{
    wire_writer_fini(&out);
}

static int decode(struct rank_attributes *attributes, size_t length)
{
    struct wire_reader reader;
    wire_reader_init(&reader, out.data, length);
    int rc = rank_attributes_decode(attributes, &reader, &err);
    return rc == HVD_OK && !wire_reader_finished(&reader) ? HVD_ERR_PROTOCOL : rc;
}

START_TEST(attributes_are_read_as_they_were_written)
{
    struct rank_attributes read, attributes = {
        .umask = 027,
        .ignore_hup = _i & 1,
        .bind_to = _i,
        .report_bindings = _i & 2,
        .torch_env = _i & 4,
    };
    rank_attributes_encode(&out, &attributes);
    ck_assert_int_eq(decode(&read, out.length), HVD_OK);
    ck_assert_uint_eq(read.umask, 027);
    ck_assert_int_eq(read.ignore_hup, attributes.ignore_hup);
    ck_assert_int_eq(read.bind_to, attributes.bind_to);
    ck_assert_int_eq(read.report_bindings, attributes.report_bindings);
    ck_assert_int_eq(read.torch_env, attributes.torch_env);
    for (size_t length = 0; length < out.length; length++)
        ck_assert_int_eq(decode(&read, length), HVD_ERR_PROTOCOL);
}
END_TEST

START_TEST(a_binding_that_does_not_exist_is_refused)
{
    struct rank_attributes attributes = { .bind_to = BIND_TO_COUNT };
    rank_attributes_encode(&out, &attributes);
    ck_assert_int_eq(decode(&attributes, out.length), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "binding 7 does not exist");
}
END_TEST

START_TEST(what_the_ranks_inherit_is_what_this_process_has)
{
    struct rank_attributes attributes = { .bind_to = BIND_TO_CORE };
    umask(031);
    signal(SIGHUP, SIG_DFL);
    rank_attributes_inherit(&attributes);
    ck_assert_uint_eq(attributes.umask, 031);
    ck_assert(!attributes.ignore_hup);
    ck_assert_uint_eq(umask(0), 031);
    signal(SIGHUP, SIG_IGN);
    rank_attributes_inherit(&attributes);
    ck_assert_uint_eq(attributes.umask, 0);
    ck_assert(attributes.ignore_hup);
    ck_assert_int_eq(attributes.bind_to, BIND_TO_CORE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank_attributes");
    TCase *tcase = tcase_create("rank_attributes");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_add_loop_test(tcase, attributes_are_read_as_they_were_written, 0, BIND_TO_COUNT);
    tcase_add_test(tcase, a_binding_that_does_not_exist_is_refused);
    tcase_add_test(tcase, what_the_ranks_inherit_is_what_this_process_has);
    return unit_run(suite);
}
