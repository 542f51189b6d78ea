/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of every command line, on a small table of its own. */
#include "src/options/options.h"

#include "launcher/base/bad_input.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct settings {
    int number;
    const char *text;
    bool flag;
    bool help;
    int variable;
    struct string_list list;
    struct string_list set;
    int choice;
};

#define MEMBER(name) offsetof(struct settings, name)

/* Not more than three bytes. */
static int check_short(const char *value, const char *source, struct err *err)
{
    return strlen(value) <= 3 ? HVD_OK : bad_input(err, source, "too long");
}

static const struct option_row rows[] = {
    { .names = { "-np", "--number" },
      .metavar = "N",
      .help = "a number",
      .kind = OPTION_INT,
      .offset = MEMBER(number),
      .min = 1,
      .max = 100,
      .group = "First" },
    { .names = { "-t", "--text", "-longtext" },
      .metavar = "TEXT",
      .help = "a text that is explained at such a length that its explanation takes two lines",
      .kind = OPTION_TEXT,
      .offset = MEMBER(text),
      .group = "First" },
    { .names = { "--flag" },
      .help = "a flag",
      .kind = OPTION_FLAG,
      .offset = MEMBER(flag),
      .group = "Second" },
    { .names = { "-h", "--help" },
      .help = "help",
      .kind = OPTION_FINAL,
      .offset = MEMBER(help),
      .group = "Second" },
    { .names = { "--an-option-with-a-long-name" },
      .metavar = "N",
      .help = "from the environment",
      .kind = OPTION_INT,
      .offset = MEMBER(variable),
      .max = 999999999,
      .variable = "HVD_TEST_VARIABLE",
      .group = "Second" },
};

static const struct option_row refused[] = {
    { .names = { "--fly", "--float" }, .help = "it is too heavy", .kind = OPTION_REFUSED },
    { .names = { "-p", "--port" }, .help = "no port", .kind = OPTION_REFUSED },
    { .names = { "-n", "--numb", "--zebra" }, .help = "not ours", .kind = OPTION_OTHER_PROGRAM },
};

static const struct option_table table = {
    "program [OPTION]... COMMAND", "Before.", "After.", rows, COUNT(rows), refused, COUNT(refused),
};

enum { WORDS = 8 };

struct good_case {
    char *argv[WORDS];
    struct settings settings;
    int rest; /* index of the command's first word */
};

static void expect_settings(const struct settings *got, const struct settings *wanted)
{
    ck_assert_int_eq(got->number, wanted->number);
    ck_assert_pstr_eq(got->text, wanted->text);
    ck_assert_int_eq(got->flag, wanted->flag);
    ck_assert_int_eq(got->help, wanted->help);
    ck_assert_int_eq(got->variable, wanted->variable);
}

START_TEST(options_are_read_up_to_the_command)
{
    static struct good_case cases[] = {
        { { NULL }, { 0 }, 0 },
        { { "run", "--flag" }, { 0 }, 0 },
        { { "-np", "4", "run" }, { .number = 4 }, 2 },
        { { "--number", "4", "run" }, { .number = 4 }, 2 },
        { { "--number=4", "run" }, { .number = 4 }, 1 },
        { { "-np=4", "run" }, { .number = 4 }, 1 },
        { { "--num", "4" }, { .number = 4 }, 2 },
        { { "--num=4" }, { .number = 4 }, 1 },
        { { "-np", "0100" }, { .number = 100 }, 2 },
        { { "-t", "x" }, { .text = "x" }, 2 },
        { { "-tx" }, { .text = "x" }, 1 },
        { { "-tx=y" }, { .text = "x=y" }, 1 },
        { { "-t=x" }, { .text = "x" }, 1 },
        { { "-longtext", "x" }, { .text = "x" }, 2 },
        { { "--text==" }, { .text = "=" }, 1 },
        { { "-t", "-x", "run" }, { .text = "-x" }, 2 },
        { { "-t", "-", "run" }, { .text = "-" }, 2 },
        { { "--text=--flag", "run" }, { .text = "--flag" }, 1 },
        { { "-t", "--flag=1", "run" }, { .text = "--flag=1" }, 2 },
        { { "--flag", "--flag", "run" }, { .flag = true }, 2 },
        { { "--fla", "run" }, { .flag = true }, 1 },
        { { "--", "run" }, { 0 }, 1 },
        { { "--", "--flag" }, { 0 }, 1 },
        { { "--flag", "--" }, { .flag = true }, 2 },
        { { "--flag", "--", "--", "x" }, { .flag = true }, 2 },
        { { "-", "--flag" }, { 0 }, 0 },
        { { "", "--flag" }, { 0 }, 0 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct settings settings = { 0 };
        struct options_seen seen;
        struct err err;
        int rc = options_parse(&table, &settings, &seen, cases[i].argv, &err);
        ck_assert_msg(rc == HVD_OK, "%s", err.text);
        expect_settings(&settings, &cases[i].settings);
        ck_assert_ptr_eq(seen.rest, cases[i].argv + cases[i].rest);
    }
}
END_TEST

struct bad_case {
    char *argv[WORDS];
    const char *error;
};

static void expect_errors(struct bad_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct settings settings = { 0 };
        struct options_seen seen;
        struct err err;
        int rc = options_parse(&table, &settings, &seen, cases[i].argv, &err);
        ck_assert_msg(rc == HVD_ERR_INVALID, "accepted: %s", cases[i].error);
        ck_assert_str_eq(err.text, cases[i].error);
    }
}

START_TEST(numbers_are_digits_in_range)
{
    static struct bad_case cases[] = {
        { { "-np", "abc" }, "-np: not a number: 'abc'" },
        { { "--number", "abc" }, "--number: not a number: 'abc'" },
        { { "--num=abc" }, "--number: not a number: 'abc'" },
        { { "-np=" }, "-np: not a number: ''" },
        { { "-np", "" }, "-np: not a number: ''" },
        { { "-np", "1e3" }, "-np: not a number: '1e3'" },
        { { "-np", "0x10" }, "-np: not a number: '0x10'" },
        { { "-np", "+4" }, "-np: not a number: '+4'" },
        { { "-np", " 4" }, "-np: not a number: ' 4'" },
        { { "-np", "4 " }, "-np: not a number: '4 '" },
        { { "-np", "1_000" }, "-np: not a number: '1_000'" },
        { { "-np", "\xd9\xa4" }, "-np: not a number: '\\xd9\\xa4'" },
        { { "-np", "-" }, "-np: not a number: '-'" },
        { { "-np", "--1" }, "-np: not a number: '--1'" },
        { { "-np", "0" }, "-np: out of range (1 to 100): '0'" },
        { { "-np", "-1" }, "-np: out of range (1 to 100): '-1'" },
        { { "-np", "101" }, "-np: out of range (1 to 100): '101'" },
        { { "-np", "4294967297" }, "-np: out of range (1 to 100): '4294967297'" },
        { { "-np", "99999999999999999999" },
          "-np: out of range (1 to 100): '99999999999999999999'" },
    };
    expect_errors(cases, COUNT(cases));
}
END_TEST

START_TEST(options_that_do_not_fit_are_refused)
{
    static struct bad_case cases[] = {
        { { "--nosuch" }, "unknown option: '--nosuch'" },
        { { "--flog" }, "unknown option: '--flog' (did you mean '--flag'?)" },
        { { "--txet=x" }, "unknown option: '--txet' (did you mean '--text'?)" },
        { { "-np4" }, "unknown option: '-np4' (did you mean '-np'?)" },
        { { "-x" }, "unknown option: '-x'" },
        { { "-n", "4" }, "-n: not ours" },
        { { "-n4" }, "-n: not ours" },
        { { "-nine" }, "unknown option: '-nine'" },
        { { "--numb", "4" }, "--numb: not ours" },
        { { "--zebra=4" }, "--zebra: not ours" },
        { { "--zeb" }, "unknown option: '--zeb'" },
        { { "-long=x" }, "unknown option: '-long'" },
        { { "-hx" }, "unknown option: '-hx' (did you mean '-h'?)" },
        { { "--flags" }, "unknown option: '--flags' (did you mean '--flag'?)" },
        { { "-\x1b[0m" }, "unknown option: '-\\x1b[0m'" },
        { { "--=x" }, "unknown option: '--'" },
        { { "-=x" }, "unknown option: '-'" },
        { { "---" }, "unknown option: '---'" },
        { { "-np" }, "-np: missing value (N)" },
        { { "--num" }, "--number: missing value (N)" },
        { { "-np", "--flag" }, "-np: missing value (N) before '--flag'" },
        { { "-np", "--", "run" }, "-np: missing value (N) before '--'" },
        { { "-np", "--zebra" }, "-np: missing value (N) before '--zebra'" },
        { { "-np", "-p" }, "-np: missing value (N) before '-p'" },
        { { "--flag=1" }, "--flag: takes no value: '1'" },
        { { "--flag=" }, "--flag: takes no value: ''" },
        { { "--help=1" }, "--help: takes no value: '1'" },
        { { "-t", "" }, "-t: empty value: ''" },
        { { "--text=" }, "--text: empty value: ''" },
        { { "-np", "2", "-np", "2" }, "-np: given twice" },
        { { "-np", "2", "--number=3" }, "--number: given twice" },
        { { "--fly" }, "--fly: it is too heavy" },
        { { "--flo" }, "--float: it is too heavy" },
        { { "--fly=high" }, "--fly: it is too heavy" },
        { { "-p", "22" }, "-p: no port" },
        { { "-p22" }, "-p: no port" },
    };
    expect_errors(cases, COUNT(cases));
}
END_TEST

START_TEST(an_abbreviation_that_fits_several_options_names_them)
{
    static const struct option_row similar[] = {
        { .names = { "--host" }, .help = "", .kind = OPTION_FLAG, .offset = MEMBER(flag) },
        { .names = { "--hosts" }, .help = "", .kind = OPTION_FLAG, .offset = MEMBER(flag) },
        { .names = { "--hostfile", "--hostf" },
          .help = "",
          .kind = OPTION_FLAG,
          .offset = MEMBER(flag) },
        { .names = { "--hot" }, .help = "", .kind = OPTION_FLAG, .offset = MEMBER(flag) },
        { .names = { "--hover" }, .help = "", .kind = OPTION_FLAG, .offset = MEMBER(flag) },
    };
    static const struct option_table hosts = { .rows = similar, .count = COUNT(similar) };
    static struct bad_case cases[] = {
        { { "--hos" }, "ambiguous option: '--hos' ('--host', '--hosts', '--hostfile')" },
        { { "--ho" },
          "ambiguous option: '--ho' ('--host', '--hosts', '--hostfile', '--hot', ...)" },
        { { "--host" }, NULL },
        { { "--hostf" }, NULL },
        { { "--hostfi" }, NULL },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct settings settings = { 0 };
        struct options_seen seen;
        struct err err = { 0 };
        int rc = options_parse(&hosts, &settings, &seen, cases[i].argv, &err);
        ck_assert_int_eq(rc, cases[i].error ? HVD_ERR_INVALID : HVD_OK);
        ck_assert_str_eq(err.text, cases[i].error ? cases[i].error : "");
    }
}
END_TEST

/* One row of every kind that a list is the target of. */
enum { RIVALS_COLOUR = 1 };

static const struct option_row list_rows[] = {
    { .names = { "-l", "--list" },
      .metavar = "ITEM",
      .help = "",
      .kind = OPTION_LIST,
      .offset = MEMBER(list),
      .check = check_short,
      .variable = "HVD_TEST_LIST" },
    { .names = { "--megabytes" },
      .metavar = "N",
      .help = "",
      .kind = OPTION_SETS,
      .offset = MEMBER(set),
      .sets = "BYTES",
      .max = 99999,
      .unit = 1048576 },
    { .names = { "--level" },
      .metavar = "LEVEL",
      .help = "",
      .kind = OPTION_SETS,
      .offset = MEMBER(set),
      .sets = "LEVEL",
      .choices = "low high" },
    { .names = { "--colour" },
      .help = "",
      .kind = OPTION_SETS,
      .offset = MEMBER(set),
      .sets = "COLOUR",
      .constant = "1",
      .rivals = RIVALS_COLOUR },
    { .names = { "--no-colour", "--grey" },
      .help = "",
      .kind = OPTION_SETS,
      .offset = MEMBER(set),
      .sets = "COLOUR",
      .constant = "0",
      .rivals = RIVALS_COLOUR },
};

static const struct option_table list_table = {
    .rows = list_rows,
    .count = COUNT(list_rows),
    .refused = refused,
    .refused_count = COUNT(refused),
};

static void free_lists(struct settings *settings)
{
    string_list_fini(&settings->list);
    string_list_fini(&settings->set);
}

/* The items with blanks between. */
static void expect_list(const struct string_list *list, const char *wanted)
{
    char text[256] = "";
    for (size_t i = 0; i < list->count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, list->items[i]);
    }
    ck_assert_str_eq(text, wanted);
}

START_TEST(lists_and_variables_take_what_is_given)
{
    static struct {
        char *argv[WORDS];
        const char *list, *set;
    } cases[] = {
        { { "run" }, "", "" },
        { { "-l", "a", "-lb", "--list=c", "run" }, "a b c", "" },
        { { "--megabytes", "0" }, "", "BYTES=0" },
        { { "--megabytes", "99999" }, "", "BYTES=104856551424" },
        { { "--level", "HIGH" }, "", "LEVEL=HIGH" },
        { { "--colour", "--colour" }, "", "COLOUR=1" },
        { { "--grey", "--no-colour" }, "", "COLOUR=0" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct settings settings = { 0 };
        struct options_seen seen;
        struct err err;
        int rc = options_parse(&list_table, &settings, &seen, cases[i].argv, &err);
        ck_assert_msg(rc == HVD_OK, "%s", err.text);
        expect_list(&settings.list, cases[i].list);
        expect_list(&settings.set, cases[i].set);
        free_lists(&settings);
    }
}
END_TEST

START_TEST(values_of_lists_and_variables_are_checked)
{
    static struct bad_case cases[] = {
        { { "-l", "" }, "-l: empty value: ''" },
        { { "-l", "a", "--list", "long" }, "--list: too long" },
        { { "--level", "medium" }, "--level: unknown value: 'medium' (expected low or high)" },
        { { "--level", "lo" }, "--level: unknown value: 'lo' (expected low or high)" },
        { { "--level", "low high" }, "--level: unknown value: 'low high' (expected low or high)" },
        { { "--level", "low", "--level", "low" }, "--level: given twice" },
        { { "--megabytes", "x" }, "--megabytes: not a number: 'x'" },
        { { "--megabytes", "100000" }, "--megabytes: out of range (0 to 99999): '100000'" },
        { { "--colour", "--grey" }, "--grey: not together with '--colour'" },
        { { "--no-colour", "--colour" }, "--colour: not together with '--no-colour'" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct settings settings = { 0 };
        struct options_seen seen;
        struct err err;
        int rc = options_parse(&list_table, &settings, &seen, cases[i].argv, &err);
        ck_assert_msg(rc == HVD_ERR_INVALID, "accepted: %s", cases[i].error);
        ck_assert_str_eq(err.text, cases[i].error);
        free_lists(&settings);
    }
}
END_TEST

START_TEST(a_list_that_is_given_is_not_taken_from_the_environment)
{
    char *none[] = { NULL }, *given[] = { "-l", "a", NULL };
    struct settings settings = { 0 };
    struct options_seen seen;
    setenv("HVD_TEST_LIST", "v", 1);
    ck_assert_int_eq(options_parse(&list_table, &settings, &seen, none, NULL), HVD_OK);
    expect_list(&settings.list, "v");
    free_lists(&settings);
    ck_assert_int_eq(options_parse(&list_table, &settings, &seen, given, NULL), HVD_OK);
    expect_list(&settings.list, "a");
    free_lists(&settings);
    unsetenv("HVD_TEST_LIST");
}
END_TEST

static const struct option_row default_rows[] = {
    { .names = { "--number" },
      .metavar = "N",
      .help = "a number",
      .kind = OPTION_INT,
      .offset = MEMBER(number),
      .max = 100,
      .value = "7",
      .variable = "HVD_TEST_VARIABLE",
      .group = "All" },
    { .names = { "--text" },
      .metavar = "TEXT",
      .help = "a text",
      .kind = OPTION_TEXT,
      .offset = MEMBER(text),
      .value = "some",
      .group = "All" },
    { .names = { "--list" },
      .metavar = "ITEM",
      .help = "a list",
      .kind = OPTION_LIST,
      .offset = MEMBER(list),
      .value = "item",
      .group = "All" },
    { .names = { "--colour" },
      .metavar = "COLOUR",
      .help = "a word",
      .kind = OPTION_CHOICE,
      .offset = MEMBER(choice),
      .choices = "red green blue",
      .value = "green",
      .group = "All" },
    { .names = { "--level" },
      .metavar = "LEVEL",
      .help = "for others",
      .kind = OPTION_SETS,
      .offset = MEMBER(set),
      .sets = "LEVEL",
      .choices = "low high",
      .value = "low",
      .group = "All" },
    { .names = { "--limit" },
      .metavar = "N",
      .help = "a limit",
      .kind = OPTION_INT,
      .offset = MEMBER(variable),
      .min = 1,
      .max = 9,
      .otherwise = "none",
      .group = "All" },
};

static const struct option_table default_table = {
    .usage = "program",
    .before = "Before.",
    .after = "After.",
    .rows = default_rows,
    .count = COUNT(default_rows),
};

static void expect_defaults(char **argv, int number, const char *text, const char *list, int choice,
                            const char *set)
{
    struct settings settings = { 0 };
    struct options_seen seen;
    struct err err = { 0 };
    int rc = options_parse(&default_table, &settings, &seen, argv, &err);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
    ck_assert_int_eq(settings.number, number);
    ck_assert_str_eq(settings.text, text);
    expect_list(&settings.list, list);
    ck_assert_int_eq(settings.choice, choice);
    expect_list(&settings.set, set);
    ck_assert_int_eq(settings.variable, 0);
    free_lists(&settings);
}

START_TEST(what_nobody_gives_has_the_default_of_its_row)
{
    char *none[] = { NULL };
    char *all[] = { "--number=0",    "--text=x",     "--list=a", "--list=b",
                    "--colour=BLUE", "--level=high", NULL };
    expect_defaults(none, 7, "some", "item", 1, "");
    expect_defaults(all, 0, "x", "a b", 2, "LEVEL=high");
    setenv("HVD_TEST_VARIABLE", "9", 1);
    expect_defaults(none, 9, "some", "item", 1, "");
    expect_defaults(all, 0, "x", "a b", 2, "LEVEL=high");
    setenv("HVD_TEST_VARIABLE", "", 1);
    expect_defaults(none, 7, "some", "item", 1, "");
    unsetenv("HVD_TEST_VARIABLE");
}
END_TEST

START_TEST(the_help_has_ranges_and_defaults)
{
    char *help = options_help(&default_table);
    ck_assert_str_eq(help, "usage: program\n"
                           "\n"
                           "Before.\n"
                           "\n"
                           "All:\n"
                           "  --number N                    a number (0 to 100; default: "
                           "$HVD_TEST_VARIABLE,\n"
                           "                                else 7)\n"
                           "  --text TEXT                   a text (default: some)\n"
                           "  --list ITEM                   a list (default: item)\n"
                           "  --colour COLOUR               a word (default: green)\n"
                           "  --level LEVEL                 for others (default: low)\n"
                           "  --limit N                     a limit (1 to 9; default: none)\n"
                           "\n"
                           "After.\n");
    free(help);
}
END_TEST

START_TEST(an_option_can_be_set_by_its_name)
{
    char *argv[] = { "--grey", NULL };
    struct settings settings = { 0 };
    struct options_seen seen;
    struct err err;
    ck_assert_int_eq(options_parse_words(&list_table, &settings, &seen, argv, NULL), HVD_OK);
    ck_assert_str_eq(options_given(&list_table, &seen, "--no-colour"), "--grey");
    ck_assert_str_eq(options_given(&list_table, &seen, "--colour"), "--grey");
    ck_assert_ptr_null(options_given(&list_table, &seen, "--level"));
    ck_assert_ptr_null(options_given(&list_table, &seen, "--fly"));
    int rc = options_set(&list_table, &settings, &seen, "--level", "low", "f:1", &err);
    ck_assert_int_eq(rc, HVD_OK);
    ck_assert_str_eq(options_given(&list_table, &seen, "--level"), "f:1");
    expect_list(&settings.set, "COLOUR=0 LEVEL=low");
    rc = options_set(&list_table, &settings, &seen, "--megabytes", "x", "f:2", &err);
    ck_assert_int_eq(rc, HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "f:2: not a number: 'x'");
    rc = options_set(&list_table, &settings, &seen, "--fly", NULL, "f:3", &err);
    ck_assert_int_eq(rc, HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "f:3: it is too heavy");
    rc = options_set(&list_table, &settings, &seen, "--lev", "low", "f:4", &err);
    ck_assert_int_eq(rc, HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "f:4: unknown option: '--lev'");
    free_lists(&settings);
}
END_TEST

START_TEST(a_final_option_ends_the_parsing)
{
    char *argv[] = { "--flag", "--help", "-np", "x", "--nosuch", NULL };
    struct settings settings = { 0 };
    struct options_seen seen;
    setenv("HVD_TEST_VARIABLE", "x", 1);
    ck_assert_int_eq(options_parse(&table, &settings, &seen, argv, NULL), HVD_OK);
    ck_assert(seen.final && settings.help && settings.flag);
    unsetenv("HVD_TEST_VARIABLE");
}
END_TEST

START_TEST(the_environment_fills_in_what_is_not_given)
{
    char *none[] = { NULL }, *given[] = { "--an-option", "7", NULL };
    struct settings settings = { 0 };
    struct options_seen seen;
    struct err err;
    setenv("HVD_TEST_VARIABLE", "42", 1);
    ck_assert_int_eq(options_parse(&table, &settings, &seen, none, &err), HVD_OK);
    ck_assert_int_eq(settings.variable, 42);
    setenv("HVD_TEST_VARIABLE", " ", 1);
    ck_assert_int_eq(options_parse(&table, &settings, &seen, none, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "$HVD_TEST_VARIABLE: not a number: ' '");
    ck_assert_int_eq(options_parse(&table, &settings, &seen, given, &err), HVD_OK);
    ck_assert_int_eq(settings.variable, 7);
    unsetenv("HVD_TEST_VARIABLE");
}
END_TEST

START_TEST(an_empty_variable_is_none)
{
    char *none[] = { NULL };
    struct settings settings = { .variable = 3 };
    struct options_seen seen;
    setenv("HVD_TEST_VARIABLE", "", 1);
    ck_assert_int_eq(options_parse(&table, &settings, &seen, none, NULL), HVD_OK);
    ck_assert_int_eq(settings.variable, 3);
    setenv("HVD_TEST_LIST", "", 1);
    ck_assert_int_eq(options_parse(&list_table, &settings, &seen, none, NULL), HVD_OK);
    expect_list(&settings.list, "");
    unsetenv("HVD_TEST_VARIABLE");
    unsetenv("HVD_TEST_LIST");
}
END_TEST

START_TEST(a_long_word_makes_a_short_message)
{
    char word[5000];
    char *argv[] = { word, NULL };
    struct settings settings = { 0 };
    struct options_seen seen;
    struct err err;
    memset(word, '\xff', sizeof word - 1);
    memcpy(word, "--", 2);
    word[sizeof word - 1] = '\0';
    ck_assert_int_eq(options_parse(&table, &settings, &seen, argv, &err), HVD_ERR_INVALID);
    ck_assert_uint_lt(strlen(err.text), 284);
}
END_TEST

START_TEST(the_help_is_made_of_the_table)
{
    char *help = options_help(&table);
    ck_assert_str_eq(
        help, "usage: program [OPTION]... COMMAND\n"
              "\n"
              "Before.\n"
              "\n"
              "First:\n"
              "  -np, --number N               a number (1 to 100)\n"
              "  -t, --text, -longtext TEXT    a text that is explained at such a length that\n"
              "                                its explanation takes two lines\n"
              "\n"
              "Second:\n"
              "  --flag                        a flag\n"
              "  -h, --help                    help\n"
              "  --an-option-with-a-long-name N\n"
              "                                from the environment (0 to 999999999; default:\n"
              "                                $HVD_TEST_VARIABLE)\n"
              "\n"
              "After.\n");
    free(help);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("options");
    TCase *options = tcase_create("options");
    tcase_add_test(options, options_are_read_up_to_the_command);
    tcase_add_test(options, numbers_are_digits_in_range);
    tcase_add_test(options, options_that_do_not_fit_are_refused);
    tcase_add_test(options, an_abbreviation_that_fits_several_options_names_them);
    tcase_add_test(options, lists_and_variables_take_what_is_given);
    tcase_add_test(options, values_of_lists_and_variables_are_checked);
    tcase_add_test(options, a_list_that_is_given_is_not_taken_from_the_environment);
    tcase_add_test(options, what_nobody_gives_has_the_default_of_its_row);
    tcase_add_test(options, the_help_has_ranges_and_defaults);
    tcase_add_test(options, an_option_can_be_set_by_its_name);
    tcase_add_test(options, a_final_option_ends_the_parsing);
    tcase_add_test(options, the_environment_fills_in_what_is_not_given);
    tcase_add_test(options, an_empty_variable_is_none);
    tcase_add_test(options, a_long_word_makes_a_short_message);
    tcase_add_test(options, the_help_is_made_of_the_table);
    suite_add_tcase(suite, options);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
