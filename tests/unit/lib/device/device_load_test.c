/* SPDX-License-Identifier: Apache-2.0 */
/* Where the module of an accelerator is looked for: beside the file that has this library, which
 * here is the program, by the name that its argv[0] has, and only if that name is absolute. */
#include "lib/device/device_load.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char **arguments;

static const struct {
    const char *path, *text;
} programs[] = {
    { "/nowhere/lib/libhvd.so.0", "/nowhere/lib/hvdrun/hvd_cuda.so: cannot open shared object" },
    { "/libhvd.so.0", "/hvdrun/hvd_cuda.so: cannot open shared object" },
    { "lib/libhvd.so.0", "hvdrun/hvd_cuda.so is looked for beside 'lib/libhvd.so.0', whose path is "
                         "not absolute" },
    { "libhvd.so.0", "hvdrun/hvd_cuda.so is looked for beside 'libhvd.so.0', whose path is not "
                     "absolute" },
};

START_TEST(the_module_is_looked_for_beside_the_library)
{
    const struct device_module_options options = { .ordinal = 0 };
    struct err err = { 0 };
    char *own = arguments[0], path[64];
    int device = 0;
    snprintf(path, sizeof path, "%s", programs[_i].path);
    arguments[0] = path;
    int rc = device_load_open(&options, &device, &err);
    arguments[0] = own;
    ck_assert_int_eq(rc, HVD_ERR_SYSTEM);
    ck_assert_msg(strncmp(err.text, programs[_i].text, strlen(programs[_i].text)) == 0, "%s",
                  err.text);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("device_load");
    TCase *tcase = tcase_create("device_load");
    (void)argc;
    arguments = argv;
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_module_is_looked_for_beside_the_library, 0,
                        sizeof programs / sizeof *programs);
    return unit_run(suite);
}
