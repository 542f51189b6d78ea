/* SPDX-License-Identifier: Apache-2.0 */
/* --config-file: options from a YAML file, with the keys of horovodrun's and no others. The command
 * line has precedence. hvdrun(1) lists the keys. */
#ifndef SRC_HVDRUN_CONFIG_FILE_H
#define SRC_HVDRUN_CONFIG_FILE_H

#include "src/hvdrun/hvdrun_options.h"

#include <stddef.h>

/* Reads options->config_file, if there is one, and sets the options that `seen` does not contain
 * yet. A key that gives way to the command line is a note. HVD_ERR_INVALID and one line that begins
 * with the file, and line, column and key where they are known. */
int config_file_apply(struct hvdrun_options *options, struct options_seen *seen, struct err *err);

/* The part of config_file_apply() after reading: `text` has the contents of the file. */
int config_file_apply_text(struct hvdrun_options *options, struct options_seen *seen,
                           const char *text, size_t length, const char *name, struct err *err);

#endif
