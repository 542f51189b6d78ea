/* SPDX-License-Identifier: Apache-2.0 */
/* The examples' command lines: each way to write an option, then each mistake. */
#include "tests/support/unit.h"

#include <stdbool.h>
#include <string.h>

#include "examples/support/options.h"

struct fields {
    long epochs, iters, bytes;
    double rate;
    const char *mode;
    bool quiet;
};

#define FIELD(name) offsetof(struct fields, name)

static const struct option_row rows[] = {
    { "--epochs", "N", OPTION_INTEGER, FIELD(epochs), 1, 1000, "times" },
    { "-n, --iters", "N", OPTION_INTEGER, FIELD(iters), -5, 1000, "calls" },
    { "-b, --minbytes", "SIZE", OPTION_SIZE, FIELD(bytes), 1, 0x1p40, "from" },
    { "--rate", "X", OPTION_REAL, FIELD(rate), 0, 1, "of learning" },
    { "--mode", "NAME", OPTION_TEXT, FIELD(mode), 0, 0, "how" },
    { "-q, --quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "nothing but the result" },
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct fields fields;
static struct problem problem;

/* The words of a line, with a single blank between them. */
static int parse(const char *line)
{
    static char text[400];
    char *words[20] = { text };
    int count = 1;
    snprintf(text, sizeof text, "program %s", line);
    for (char *blank = strchr(text, ' '); blank && blank[1]; blank = strchr(blank + 1, ' ')) {
        *blank = '\0';
        words[count++] = blank + 1;
    }
    fields = (struct fields){ .epochs = 1, .mode = "none" };
    problem = (struct problem){ 0 };
    return options_parse(rows, ROWS, &fields, count, words, &problem);
}

static const struct {
    const char *line;
    struct fields fields;
} good[] = {
    { "", { .epochs = 1, .mode = "none" } },
    { "--epochs 7", { .epochs = 7, .mode = "none" } },
    { "--epochs=7 --epochs=8", { .epochs = 8, .mode = "none" } },
    { "-n 20", { .epochs = 1, .iters = 20, .mode = "none" } },
    { "-n20", { .epochs = 1, .iters = 20, .mode = "none" } },
    { "-n -5", { .epochs = 1, .iters = -5, .mode = "none" } },
    { "--iters=20 -q", { .epochs = 1, .iters = 20, .mode = "none", .quiet = true } },
    { "-b 8", { .epochs = 1, .bytes = 8, .mode = "none" } },
    { "-b64K", { .epochs = 1, .bytes = 65536, .mode = "none" } },
    { "--minbytes 32m", { .epochs = 1, .bytes = 32L << 20, .mode = "none" } },
    { "--minbytes=3G", { .epochs = 1, .bytes = 3L << 30, .mode = "none" } },
    { "--minbytes 1T", { .epochs = 1, .bytes = 1L << 40, .mode = "none" } },
    { "--rate .5 --mode=x=y --quiet", { .epochs = 1, .rate = .5, .mode = "x=y", .quiet = true } },
};

START_TEST(an_option_is_written_in_several_ways)
{
    ck_assert_msg(parse(good[_i].line) == 0, "%s: %s", good[_i].line, problem.text);
    ck_assert_int_eq(fields.epochs, good[_i].fields.epochs);
    ck_assert_int_eq(fields.iters, good[_i].fields.iters);
    ck_assert_int_eq(fields.bytes, good[_i].fields.bytes);
    ck_assert_double_eq(fields.rate, good[_i].fields.rate);
    ck_assert_str_eq(fields.mode, good[_i].fields.mode);
    ck_assert_int_eq(fields.quiet, good[_i].fields.quiet);
}
END_TEST

static const char *const bad[][2] = {
    { "--frob", "unknown option '--frob' (--help lists the options)" },
    { "-x", "unknown option '-x' (--help lists the options)" },
    { "-", "unknown option '-' (--help lists the options)" },
    { "--", "unknown option '--' (--help lists the options)" },
    { "-n,", "-n wants an integer from -5 to 1000, not ','" },
    { "--epoch=1", "unknown option '--epoch=1' (--help lists the options)" },
    { "-e 1", "unknown option '-e' (--help lists the options)" },
    { "two\nlines", "unknown argument 'two?lines' (--help lists the options)" },
    { "frob", "unknown argument 'frob' (--help lists the options)" },
    { "--epochs", "--epochs wants N after it" },
    { "-n", "-n wants N after it" },
    { "--epochs=", "--epochs wants an integer from 1 to 1000, not ''" },
    { "--epochs 0", "--epochs wants an integer from 1 to 1000, not '0'" },
    { "--epochs 1001", "--epochs wants an integer from 1 to 1000, not '1001'" },
    { "--epochs 1x", "--epochs wants an integer from 1 to 1000, not '1x'" },
    { "--epochs \t4", "--epochs wants an integer from 1 to 1000, not '?4'" },
    { "--epochs 99999999999999999999",
      "--epochs wants an integer from 1 to 1000, not '99999999999999999999'" },
    { "--rate 2", "--rate wants a number from 0 to 1, not '2'" },
    { "--rate nan", "--rate wants a number from 0 to 1, not 'nan'" },
    { "--rate=", "--rate wants a number from 0 to 1, not ''" },
    { "--mode=", "--mode wants NAME, not nothing" },
    { "--quiet=yes", "--quiet takes no value, not 'yes'" },
    { "-q1", "-q takes no value, not '1'" },
    { "-b 0", "-b wants a size from 1 to 1099511627776 bytes, such as 512 or 64M, not '0'" },
    { "-b 2T", "-b wants a size from 1 to 1099511627776 bytes, such as 512 or 64M, not '2T'" },
    { "-b -8", "-b wants a size from 1 to 1099511627776 bytes, such as 512 or 64M, not '-8'" },
    { "-b 8Q", "-b wants a size from 1 to 1099511627776 bytes, such as 512 or 64M, not '8Q'" },
    { "-b 8KB", "-b wants a size from 1 to 1099511627776 bytes, such as 512 or 64M, not '8KB'" },
    { "--minbytes=K",
      "--minbytes wants a size from 1 to 1099511627776 bytes, such as 512 or 64M, not 'K'" },
    { "--minbytes 99999999999999999999",
      "--minbytes wants a size from 1 to 1099511627776 bytes, such as 512 or 64M, not "
      "'99999999999999999999'" },
};

START_TEST(a_mistake_is_told_with_the_word_and_what_was_expected)
{
    ck_assert_int_eq(parse(bad[_i][0]), -1);
    ck_assert_str_eq(problem.text, bad[_i][1]);
    ck_assert_int_eq(problem.exit_status, EXIT_STATUS_USAGE);
}
END_TEST

START_TEST(the_help_has_a_line_for_each_option)
{
    char text[800];
    FILE *out = fmemopen(text, sizeof text, "w");
    options_print_help(rows, 2, out);
    fclose(out);
    ck_assert_str_eq(text, "  --epochs N             times\n"
                           "  -n, --iters N          calls\n");
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("example options");
    TCase *tests = tcase_create("options");
    tcase_add_loop_test(tests, an_option_is_written_in_several_ways, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tests, a_mistake_is_told_with_the_word_and_what_was_expected, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_test(tests, the_help_has_a_line_for_each_option);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
