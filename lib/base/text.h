/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign text that people will read on a terminal: characters that could harm there become '?'. */
#ifndef LIB_BASE_TEXT_H
#define LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number of bytes of the UTF-8 character (RFC 3629: shortest form, no surrogates, up to
 * U+10FFFF) that begins at `at`, where `length` bytes may be read; 0 if no character begins
 * there. */
size_t text_utf8_length(const char *at, size_t length);

static inline bool text_is_ascii(const char *text, size_t length)
{
    uint64_t eight, bits = 0;
    for (; length >= sizeof eight; length -= sizeof eight, text += sizeof eight) {
        memcpy(&eight, text, sizeof eight);
        bits |= eight;
    }
    for (; length > 0; length--)
        bits |= (unsigned char)*text++;
    return !(bits & UINT64_C(0x8080808080808080));
}

/* Replaces, in place, each byte that is not printable ASCII. */
void text_make_ascii(char *text);

/* Replaces, in place, each byte that belongs to no UTF-8 character, and each control character,
 * including those of two bytes (C1). text_make_lines() keeps newlines. */
void text_make_line(char *text);
void text_make_lines(char *text);

#endif
