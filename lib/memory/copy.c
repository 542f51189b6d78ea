/* SPDX-License-Identifier: Apache-2.0 */
/* Non-temporal stores, and copies with vectors; see copy.h. */
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

/* `to` is the beginning of a line. */
__attribute__((target("avx2"))) static void copy_lines_avx2(unsigned char *to,
                                                            const unsigned char *from, size_t count)
{
    for (; count > 0; count--, to += LINE, from += LINE) {
        __m256i left = _mm256_loadu_si256((const __m256i *)(const void *)from);
        __m256i right = _mm256_loadu_si256((const __m256i *)(const void *)(from + LINE / 2));
        _mm256_store_si256((__m256i *)(void *)to, left);
        _mm256_store_si256((__m256i *)(void *)(to + LINE / 2), right);
    }
}

/* Processors without AVX2 have no fast `rep movsb` for short copies either. */
static void copy_whole_lines(unsigned char *to, const unsigned char *from, size_t count)
{
    if (__builtin_cpu_supports("avx2"))
        copy_lines_avx2(to, from, count);
    else
        memcpy(to, from, count * LINE);
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

static void copy_whole_lines(unsigned char *to, const unsigned char *from, size_t count)
{
    memcpy(to, from, count * LINE);
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

/* The first and the last line may be written twice. */
void copy_lines(void *out, const void *data, size_t nbytes)
{
    unsigned char *to = out;
    const unsigned char *from = data;
    size_t lead = -(uintptr_t)to % LINE;
    memcpy(to, from, LINE);
    copy_whole_lines(to + lead, from + lead, (nbytes - lead) / LINE);
    memcpy(to + nbytes - LINE, from + nbytes - LINE, LINE);
}
