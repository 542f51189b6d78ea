/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts that let a shell complete hvdrun's command line, generated from the table of options. */
#ifndef SRC_OPTIONS_COMPLETION_H
#define SRC_OPTIONS_COMPLETION_H

#include "src/options/options.h"

/* `shell` is "bash" or "zsh", in any case. The caller frees the script. */
char *completion_script(const struct option_table *table, const char *shell);

#endif
