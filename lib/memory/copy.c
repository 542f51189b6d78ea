/* SPDX-License-Identifier: Apache-2.0 */
/* Non-temporal stores; see copy.h. */
#include "lib/memory/copy.h"

#include <stdint.h>
#include <string.h>

enum { LINE = 64 };

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>

enum { CAN_STREAM = true };

/* `to` is the beginning of a line. */
static void stream_line(unsigned char *to, const unsigned char *from)
{
    for (int i = 0; i < LINE; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

/* Other threads may see such stores after later ones. */
static void copy_finish(void)
{
    _mm_sfence();
}
#else
enum { CAN_STREAM = false };

static void stream_line(unsigned char *to, const unsigned char *from)
{
    memcpy(to, from, LINE);
}

static void copy_finish(void) {}
#endif

bool copy_can_stream(void)
{
    return CAN_STREAM;
}

/* Lines that are only partly written are read first anyway. */
void copy_streaming(void *out, const void *data, size_t nbytes)
{
    unsigned char *to = out;
    const unsigned char *from = data;
    size_t lead = -(uintptr_t)to % LINE, done = lead < nbytes ? lead : nbytes;
    memcpy(to, from, done);
    for (; nbytes - done >= LINE; done += LINE)
        stream_line(to + done, from + done);
    memcpy(to + done, from + done, nbytes - done);
    copy_finish();
}
