/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the values of hvdrun's options, beyond those of every table. All are pure, fail with
 * HVD_ERR_INVALID and one line, and are of type option_check_fn unless they say more. */
#ifndef SRC_OPTIONS_OPTION_CHECKS_H
#define SRC_OPTIONS_OPTION_CHECKS_H

#include "lib/base/status.h"

#include <stddef.h>

/* A command in which %h stands for the host. */
int check_remote_shell(const char *value, const char *source, struct err *err);

/* Milliseconds in the library's form: digits, perhaps a point and more digits; 0 to 60000. */
int check_milliseconds(const char *value, const char *source, struct err *err);

/* From 0 to 1, in the same form. */
int check_share(const char *value, const char *source, struct err *err);

/* Numbers with commas between. */
int check_cores(const char *value, const char *source, struct err *err);

/* Less than 4096 bytes. */
int check_path(const char *value, const char *source, struct err *err);

/* Not "-", which stands for standard input elsewhere: that of hvdrun belongs to rank 0. */
int check_input_file(const char *value, const char *source, struct err *err);

/* NAME or NAME=VALUE, where NAME begins with a letter or "_" and has no blanks, commas or control
 * characters, and is not a variable that hvdrun itself sets for each rank. */
int check_variable(const char *value, const char *source, struct err *err);

/* As port_range_parse() reads it. */
int check_port_range(const char *value, const char *source, struct err *err);

#endif
