/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping. That the output cannot be written is noticed by who closes it. */
#include "examples/support/xml_text.h"

#include <stdbool.h>
#include <stdint.h>

/* XML has no other control characters than these, no halves of surrogates, no U+FFFE, no U+FFFF. */
static bool in_xml(uint32_t code)
{
    return code < 0x20 ? code == '\t' || code == '\n' || code == '\r'
                       : (code < 0xd800 || code > 0xdfff) && code != 0xfffe && code != 0xffff &&
                             code <= 0x10ffff;
}

/* The bytes of the character that `text`, which is not empty, begins with; 0 if XML cannot have
 * it. */
static size_t character_size(const char *text)
{
    static const unsigned char sizes[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 3, 4 };
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *bytes = (const unsigned char *)text;
    size_t size = bytes[0] < 0xf8 ? sizes[bytes[0] >> 4] : 0;
    if (size == 0)
        return 0;
    uint32_t code = size == 1 ? bytes[0] : bytes[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    return code >= smallest[size] && in_xml(code) ? size : 0;
}

static const char *entity(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&apos;";
    default:
        return NULL;
    }
}

void xml_text_put(FILE *out, const char *text)
{
    while (*text != '\0') {
        size_t size = character_size(text);
        if (size == 0)
            fputc('?', out);
        else if (entity(*text) != NULL)
            fputs(entity(*text), out);
        else
            fwrite(text, 1, size, out);
        text += size == 0 ? 1 : size;
    }
}

size_t xml_text_length(const char *text)
{
    size_t length = 0;
    for (; *text != '\0'; length++) {
        size_t size = character_size(text);
        text += size == 0 ? 1 : size;
    }
    return length;
}
