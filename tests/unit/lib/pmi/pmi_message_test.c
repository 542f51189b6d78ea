/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the PMI wire protocols: what is read, what is refused, and what is written. */
#include "lib/pmi/pmi_message.h"

#include "lib/hvd.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct pmi_message message;
static struct err err;

static int read_text(enum pmi_dialect dialect, const char *text, size_t length)
{
    int whole = pmi_message_length(dialect, text, length, &err);
    return whole <= 0                                                           ? whole
           : pmi_message_read(&message, dialect, text, (size_t)whole, &err) < 0 ? err.code
                                                                                : whole;
}

static const struct {
    enum pmi_dialect dialect;
    const char *text, *name, *value;
} good[] = {
    { PMI1, "cmd=maxes kvsname_max=256 keylen_max=64\n", "keylen_max", "64" },
    { PMI1, "cmd=get_result rc=0 msg=success value=a,b\n", "value", "a,b" },
    { PMI1, "cmd=get_result rc=-1 msg=key not found value=unknown\n", "value", "unknown" },
    { PMI1, "cmd=get_result rc=0 value=a=b\n", "value", "a=b" },
    { PMI1, "cmd=barrier_out\n", "cmd", "barrier_out" },
    { PMI1, "cmd=put_result value=\n", "value", "" },
    { PMI2, "    25cmd=kvs-get;value=a;;b=c;", "value", "a;b=c" },
    { PMI2, "    18cmd=x;rc=0;value=;", "value", "" },
    { PMI2, "000006cmd=x;", "cmd", "x" },
    { PMI2, "6     cmd=x;", "cmd", "x" },
    { PMI2, "  6   cmd=x;", "cmd", "x" },
};

START_TEST(fields_are_read)
{
    size_t length = strlen(good[_i].text);
    ck_assert_int_eq(read_text(good[_i].dialect, good[_i].text, length), (int)length);
    ck_assert_str_eq(pmi_message_get(&message, good[_i].name), good[_i].value);
    ck_assert_ptr_null(pmi_message_get(&message, "nothing"));
}
END_TEST

START_TEST(a_message_is_whole_when_its_last_byte_has_come)
{
    size_t length = strlen(good[_i].text);
    for (size_t part = 0; part < length; part++)
        ck_assert_int_eq(read_text(good[_i].dialect, good[_i].text, part), 0);
}
END_TEST

static const struct {
    enum pmi_dialect dialect;
    const char *text, *why;
} bad[] = {
    { PMI1, "hello\n", "'hello' is not a field of a message" },
    { PMI1, "cmd=x =y\n", "'=y' is not a field of a message" },
    { PMI1, "cmd=x \001\n", "'\\x01' is not a field of a message" },
    { PMI2, "      cmd=x;", "'      ' is not the length of a message" },
    { PMI2, "-00006cmd=x;", "'-00006' is not the length of a message" },
    { PMI2, " 6  6 cmd=x;", "' 6  6 ' is not the length of a message" },
    { PMI2, "cmd=init;;;;", "'cmd=in' is not the length of a message" },
    { PMI2, "999999cmd=x;", "a message of 999999 bytes" },
    { PMI2, "     5cmd=x;", "a field without an end" },
    { PMI2, "     7cmd=x;;", "a field without an end" },
    { PMI2, "     4abc;", "'abc' is not a field of a message" },
    { PMI2, "     1;", "'' is not a field of a message" },
};

START_TEST(a_bad_message_is_refused_with_what_is_wrong)
{
    ck_assert_int_eq(read_text(bad[_i].dialect, bad[_i].text, strlen(bad[_i].text)),
                     HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, bad[_i].why);
}
END_TEST

START_TEST(a_message_without_an_end_is_refused_at_its_limit)
{
    char text[PMI_MESSAGE_MAX + 1];
    memset(text, 'a', sizeof text);
    ck_assert_int_eq(pmi_message_length(PMI1, text, PMI_MESSAGE_MAX - 1, &err), 0);
    ck_assert_int_eq(pmi_message_length(PMI1, text, PMI_MESSAGE_MAX, &err), HVD_ERR_PROTOCOL);
    text[PMI_MESSAGE_MAX] = '\n';
    ck_assert_int_eq(pmi_message_length(PMI1, text, sizeof text, &err), HVD_ERR_PROTOCOL);
    text[PMI_MESSAGE_MAX - 1] = '\n';
    ck_assert_int_eq(pmi_message_length(PMI1, text, sizeof text, &err), PMI_MESSAGE_MAX);
}
END_TEST

START_TEST(too_many_fields_and_a_nul_are_refused)
{
    char text[PMI_MESSAGE_MAX] = "";
    for (int i = 0; i <= PMI_FIELDS_MAX; i++)
        strcat(text, "a=b ");
    strcat(text, "\n");
    ck_assert_int_eq(read_text(PMI1, text, strlen(text)), HVD_ERR_PROTOCOL);
    ck_assert_int_eq(read_text(PMI1, "cmd=\0x\n", 7), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "a message with a NUL");
}
END_TEST

START_TEST(numbers_are_checked)
{
    int number = 0;
    const char *text = "cmd=x a=7 b=8 c=7x d= e=-1 f=99999999999999999999 h=12\n";
    ck_assert_int_gt(read_text(PMI1, text, strlen(text)), 0);
    ck_assert_int_eq(pmi_message_number(&message, "a", 0, 7, &number, &err), HVD_OK);
    ck_assert_int_eq(number, 7);
    ck_assert_int_eq(pmi_message_number(&message, "h", 0, 99, &number, &err), HVD_OK);
    ck_assert_int_eq(number, 12);
    for (const char *name = "bcdefg"; *name; name++) {
        char one[2] = { *name, '\0' };
        ck_assert_int_eq(pmi_message_number(&message, one, 0, 7, &number, &err), HVD_ERR_PROTOCOL);
    }
    ck_assert_str_eq(err.text, "no 'g' in the answer");
}
END_TEST

START_TEST(another_answer_and_a_failure_are_refused)
{
    ck_assert_int_gt(read_text(PMI1, "cmd=put_result rc=0\n", 20), 0);
    ck_assert_int_eq(pmi_message_expect(&message, "put_result", &err), HVD_OK);
    ck_assert_int_eq(pmi_message_expect(&message, "get_result", &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "'put_result' where get_result was expected");
    ck_assert_int_gt(read_text(PMI1, "cmd=put_result rc=-1\n", 21), 0);
    ck_assert_int_eq(pmi_message_expect(&message, "put_result", &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, "put_result: rc=-1");
    ck_assert_int_gt(read_text(PMI1, "rc=0\n", 5), 0);
    ck_assert_int_eq(pmi_message_expect(&message, "put_result", &err), HVD_ERR_PROTOCOL);
}
END_TEST

static struct pmi_writer writer;

START_TEST(what_is_written_is_read)
{
    enum pmi_dialect dialect = _i ? PMI2 : PMI1;
    pmi_writer_begin(&writer, dialect, "put");
    pmi_writer_put(&writer, "key", "hvd");
    pmi_writer_put(&writer, "value", _i ? ";a;;=b" : "a;=b");
    pmi_writer_end(&writer);
    ck_assert(!writer.failed);
    ck_assert_int_eq(read_text(dialect, writer.text, writer.length), (int)writer.length);
    ck_assert_str_eq(pmi_message_get(&message, "cmd"), "put");
    ck_assert_str_eq(pmi_message_get(&message, "key"), "hvd");
    ck_assert_str_eq(pmi_message_get(&message, "value"), _i ? ";a;;=b" : "a;=b");
}
END_TEST

START_TEST(what_cannot_be_carried_is_not_written)
{
    char value[PMI_MESSAGE_MAX + 1];
    pmi_writer_begin(&writer, PMI1, "put");
    pmi_writer_put(&writer, "value", "a b");
    ck_assert(writer.failed);
    pmi_writer_begin(&writer, PMI1, "put");
    pmi_writer_put(&writer, "value", "a\nb");
    ck_assert(writer.failed);
    memset(value, 'a', PMI_MESSAGE_MAX);
    value[PMI_MESSAGE_MAX] = '\0';
    for (int dialect = PMI1; dialect <= PMI2; dialect++) {
        pmi_writer_begin(&writer, dialect, "put");
        pmi_writer_put(&writer, "value", value);
        pmi_writer_end(&writer);
        ck_assert(writer.failed);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pmi_message");
    TCase *tcase = tcase_create("pmi_message");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, fields_are_read, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tcase, a_message_is_whole_when_its_last_byte_has_come, 0,
                        sizeof good / sizeof *good);
    tcase_add_loop_test(tcase, a_bad_message_is_refused_with_what_is_wrong, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_test(tcase, a_message_without_an_end_is_refused_at_its_limit);
    tcase_add_test(tcase, too_many_fields_and_a_nul_are_refused);
    tcase_add_test(tcase, numbers_are_checked);
    tcase_add_test(tcase, another_answer_and_a_failure_are_refused);
    tcase_add_loop_test(tcase, what_is_written_is_read, 0, 2);
    tcase_add_test(tcase, what_cannot_be_carried_is_not_written);
    return unit_run(suite);
}
