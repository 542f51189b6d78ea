/* SPDX-License-Identifier: Apache-2.0 */
/* Dashes that look like '-' but are other characters: editors, web pages and manuals in PDF replace
 * '-' by them. For options.c only. */
#ifndef SRC_OPTIONS_OPTION_DASH_H
#define SRC_OPTIONS_OPTION_DASH_H

#include "lib/base/status.h"

/* Fails if one of the leading dashes of `word` is not '-', and names the replacement: "'-np' is
 * written with an en dash (U+2013) instead of '-'". */
int option_dash_check(const char *word, struct err *err);

#endif
