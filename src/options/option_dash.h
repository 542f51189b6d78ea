/* SPDX-License-Identifier: Apache-2.0 */
/* Dashes that look like '-' and are others: what editors, web pages and manuals in PDF make of it.
 * For options.c only. */
#ifndef SRC_OPTIONS_OPTION_DASH_H
#define SRC_OPTIONS_OPTION_DASH_H

#include "lib/base/status.h"

/* Fails if one of the dashes that `word` begins with is not '-', and says what to write:
 * "'-np' is written with an en dash (U+2013) instead of '-'". */
int option_dash_check(const char *word, struct err *err);

#endif
