/* SPDX-License-Identifier: Apache-2.0 */
/* Options that hvdrun does not have, refused by name. For hvdrun_option_table.c only. */
#ifndef SRC_HVDRUN_REFUSED_OPTIONS_H
#define SRC_HVDRUN_REFUSED_OPTIONS_H

#include "src/options/options.h"

enum { REFUSED_OPTIONS = 56 };

extern const struct option_row refused_options[REFUSED_OPTIONS];

#endif
