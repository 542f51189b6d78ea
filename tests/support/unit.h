/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a unit test program: runs a Check suite and prints TAP, which Automake's driver
 * reads. */
#ifndef TESTS_SUPPORT_UNIT_H
#define TESTS_SUPPORT_UNIT_H

#include <check.h>
#include <stdlib.h>

/* Check writes into a file where each assertion that holds stands, to say after a crash which was
 * the last one. An assertion in a loop over bytes does so a million times; here it does so once in
 * each thread, and the last one is the same. */
static inline void unit_mark_point(const char *file, int line)
{
    static _Thread_local const char *last_file;
    static _Thread_local int last_line;
    if (file == last_file && line == last_line)
        return;
    last_file = file;
    last_line = line;
    _mark_point(file, line);
}
#define _mark_point(file, line) unit_mark_point(file, line)

/* Returns the exit status for main(). Frees the suite. */
static inline int unit_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    srunner_free(runner);
    return EXIT_SUCCESS; /* TAP carries the result */
}

#endif
