/* SPDX-License-Identifier: Apache-2.0 */
/* Notes for --verbose about variables of the environment whose value does not count, because an
 * option or a key of the configuration file has precedence. */
#ifndef SRC_HVDRUN_OVERRIDDEN_VARIABLES_H
#define SRC_HVDRUN_OVERRIDDEN_VARIABLES_H

#include "src/hvdrun/hvdrun_options.h"
#include "src/options/options.h"

/* Adds a line for each of them to options->notes, "$HOROVOD_CACHE_CAPACITY: '7' gives way to
 * --cache-capacity". Call it while options->set has the values of options, not those of -x, which
 * is there to replace variables. */
void overridden_variables_note(struct hvdrun_options *options, const struct options_seen *seen);

#endif
