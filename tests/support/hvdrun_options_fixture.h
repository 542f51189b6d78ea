/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the command line of hvdrun: lines are parsed without the variables of the test's own
 * environment. */
#ifndef TESTS_SUPPORT_HVDRUN_OPTIONS_FIXTURE_H
#define TESTS_SUPPORT_HVDRUN_OPTIONS_FIXTURE_H

#include "src/hvdrun/hvdrun_options.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { WORDS = 16 };

static struct hvdrun_options options;
static struct err err;

static inline int parse(char **argv)
{
    int argc = 0;
    hvdrun_options_fini(&options);
    while (argv[argc])
        argc++;
    return hvdrun_options_parse(&options, argc, argv, &err);
}

static inline void parse_well(char **argv)
{
    int rc = parse(argv);
    ck_assert_msg(rc == HVD_OK, "%s", err.text);
}

/* Every variable that is read. */
static const char *const variables[] = {
    "HOROVOD_START_TIMEOUT",
    "HOROVOD_ELASTIC_TIMEOUT",
    "HVD_REMOTE_SHELL",
    "HVD_NETWORK_INTERFACES",
    "HVD_PORT_RANGE",
    "OMPI_MCA_plm_rsh_agent",
    "HVD_TEST_VARIABLE",
    "HOROVOD_STALL_CHECK_TIME_SECONDS",
    "HOROVOD_STALL_CHECK_DISABLE",
    "HOROVOD_AUTOTUNE",
    "HOROVOD_TIMELINE",
};

enum { READ_BY_US = 6 }; /* of them; the rest is for the ranks */

static inline void without_variables(void)
{
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
}

static inline void release(void)
{
    hvdrun_options_fini(&options);
}

/* The items with blanks between. */
static inline void expect_list(const struct string_list *list, const char *wanted)
{
    char text[1024] = "";
    for (size_t i = 0; i < list->count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, list->items[i]);
    }
    ck_assert_str_eq(text, wanted);
}

/* The suite with its only case, to which a test program adds. */
static inline TCase *lines_of(Suite *suite)
{
    TCase *lines = tcase_create("lines");
    tcase_add_checked_fixture(lines, without_variables, release);
    suite_add_tcase(suite, lines);
    return lines;
}

#endif
