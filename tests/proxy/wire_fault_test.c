/* SPDX-License-Identifier: Apache-2.0 */
/* What faults make of ten bytes, however these are cut. */
#include "tests/proxy/wire_fault.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *fault, *comes; /* of "0123456789"; '#' for garbage */
    enum wire_verdict verdict;
} rows[] = {
    { "0:pass", "0123456789", WIRE_GOES_ON },
    { "4:cut", "0123", WIRE_IS_CUT },
    { "0:cut", "", WIRE_IS_CUT },
    { "10:cut", "0123456789", WIRE_GOES_ON },
    { "9:reset", "012345678", WIRE_IS_RESET },
    { "0:flip", "1123456789", WIRE_GOES_ON },
    { "3:flip=6", "012s456789", WIRE_GOES_ON },
    { "2:double", "01223456789", WIRE_GOES_ON },
    { "2:double=3", "0123423456789", WIRE_GOES_ON },
    { "8:double=3", "0123456789", WIRE_GOES_ON },
    { "7:double=3", "0123456789789", WIRE_GOES_ON },
    { "2:drop", "013456789", WIRE_GOES_ON },
    { "8:drop=3", "01234567", WIRE_GOES_ON },
    { "5:garbage=2", "01234##56789", WIRE_GOES_ON },
    { "5:stall", "0123456789", WIRE_STALLS },
    { "0:stall=20", "0123456789", WIRE_STALLS },
};

static bool is_as_told(const struct wire_bytes *out, const char *comes)
{
    if (out->length != strlen(comes))
        return false;
    for (size_t i = 0; i < out->length; i++)
        if (comes[i] != '#' && out->data[i] != (unsigned char)comes[i])
            return false;
    return true;
}

START_TEST(a_fault_does_the_same_however_the_bytes_are_cut)
{
    static const unsigned char bytes[] = "0123456789";
    for (size_t step = 1; step <= 10; step++) {
        struct wire_stream stream = { 0 };
        struct wire_bytes out = { 0 };
        enum wire_verdict verdict = WIRE_GOES_ON;
        size_t prompt = SIZE_MAX;
        ck_assert_ptr_null(wire_fault_parse(&stream.fault, rows[_i].fault));
        for (size_t at = 0; at < 10 && verdict != WIRE_IS_CUT && verdict != WIRE_IS_RESET;) {
            size_t nbytes = step < 10 - at ? step : 10 - at;
            enum wire_verdict now = wire_stream_take(&stream, bytes + at, nbytes, &out, &prompt);
            verdict = now == WIRE_GOES_ON ? verdict : now;
            at += nbytes;
        }
        ck_assert_int_eq(verdict, rows[_i].verdict);
        ck_assert_msg(is_as_told(&out, rows[_i].comes), "%s, %zu at a time: %.*s", rows[_i].fault,
                      step, (int)out.length, (const char *)out.data);
        if (verdict == WIRE_STALLS)
            ck_assert_uint_eq(prompt, stream.fault.offset);
        wire_stream_fini(&stream);
        free(out.data);
    }
}
END_TEST

static const char *const malformed[] = { "",
                                         "cut",
                                         "x:cut",
                                         "1:",
                                         "1:cuts",
                                         "1:cut=",
                                         "1:cut=3",
                                         "1:flip=8",
                                         "-1:cut",
                                         "1:flip=",
                                         "1:drop=0",
                                         "1:stall=x",
                                         "99999999999999999999:cut" };

START_TEST(what_is_no_fault_is_refused)
{
    struct wire_fault fault;
    ck_assert_ptr_nonnull(wire_fault_parse(&fault, malformed[_i]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire_fault");
    TCase *tcase = tcase_create("wire_fault");
    tcase_add_loop_test(tcase, a_fault_does_the_same_however_the_bytes_are_cut, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_loop_test(tcase, what_is_no_fault_is_refused, 0,
                        sizeof malformed / sizeof *malformed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
