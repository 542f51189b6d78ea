/* SPDX-License-Identifier: Apache-2.0 */
/* Text that can stand in an XML file, between tags or in quotes. */
#ifndef EXAMPLES_SUPPORT_XML_TEXT_H
#define EXAMPLES_SUPPORT_XML_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Writes a text with what XML reads as markup escaped. A byte that is no part of UTF-8, and a
 * character that XML has not, becomes "?". */
void xml_text_put(FILE *out, const char *text);

/* How many characters it writes, as a reader sees them. */
size_t xml_text_length(const char *text);

#endif
