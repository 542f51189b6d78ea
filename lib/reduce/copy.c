/* SPDX-License-Identifier: Apache-2.0 */
/* Non-temporal stores; see copy.h. Results are made block by block in the first-level cache and
 * copied from there. The extra copy costs little compared to memory, and serves every loop. */
#include "lib/reduce/copy.h"

#include <stdint.h>
#include <string.h>

enum { LINE = 64, BLOCK = 4096 };

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>

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
static void stream_line(unsigned char *to, const unsigned char *from)
{
    memcpy(to, from, LINE);
}

static void copy_finish(void) {}
#endif

/* Lines that are only partly written are read first anyway. */
static void stream(unsigned char *to, const unsigned char *from, size_t nbytes)
{
    size_t lead = -(uintptr_t)to % LINE, done = lead < nbytes ? lead : nbytes;
    memcpy(to, from, done);
    for (; nbytes - done >= LINE; done += LINE)
        stream_line(to + done, from + done);
    memcpy(to + done, from + done, nbytes - done);
}

void copy_streaming(void *to, const void *from, size_t nbytes)
{
    stream(to, from, nbytes);
    copy_finish();
}

/* One of the two functions is NULL. */
static void copy_combine(reduce_fn *reduce, divide_fn *divide, int divisor, unsigned char *out,
                         const unsigned char *left, const unsigned char *right, size_t nbytes,
                         size_t size)
{
    unsigned char block[BLOCK] __attribute__((aligned(LINE)));
    for (size_t done = 0, piece; done < nbytes; done += piece) {
        piece = nbytes - done < BLOCK ? nbytes - done : BLOCK;
        if (reduce)
            reduce(block, left + done, right + done, piece / size);
        else
            divide(block, left + done, right + done, piece / size, divisor);
        stream(out + done, block, piece);
    }
    copy_finish();
}

void reduce_streaming(reduce_fn *reduce, void *out, const void *left, const void *right,
                      size_t count, size_t size)
{
    copy_combine(reduce, NULL, 0, out, left, right, count * size, size);
}

void divide_streaming(divide_fn *divide, void *out, const void *left, const void *right,
                      size_t count, int divisor, size_t size)
{
    copy_combine(NULL, divide, divisor, out, left, right, count * size, size);
}
