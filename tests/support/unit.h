/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a unit test program: runs a Check suite and prints TAP, which Automake's driver
 * reads. */
#ifndef TESTS_SUPPORT_UNIT_H
#define TESTS_SUPPORT_UNIT_H

#include <check.h>
#include <stdlib.h>

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
