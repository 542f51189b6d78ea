/* SPDX-License-Identifier: Apache-2.0 */
/* The boundaries of frames in a stream that comes in pieces of every length. Fails: a header that
 * is none in each of its fields, and a body that is too long. */
#include "launcher/tree/frame_boundary.h"

#include "lib/base/wire.h"
#include "tests/support/unit.h"

#include <string.h>

enum { FRAMES = 4 };

static const size_t bodies[FRAMES] = { 5, 0, 0, 40 };
static struct wire_writer stream;
static struct frame_boundary boundary;
static struct err err;

static void setup(void)
{
    static const char body[64] = "HVD1 a body may look like a header";
    stream = (struct wire_writer){ 0 };
    boundary = (struct frame_boundary){ 0 };
    for (int i = 0; i < FRAMES; i++)
        frame_put(&stream, (uint16_t)(i + 1), body, bodies[i]);
}

static void teardown(void)
{
    wire_writer_fini(&stream);
}

/* Is there a boundary of the stream before its byte `at`? */
static bool is_boundary(size_t at)
{
    size_t end = 0;
    for (int i = 0; i < FRAMES && end < at; i++)
        end += FRAME_HEADER_SIZE + bodies[i];
    return end == at;
}

START_TEST(a_stream_begins_between_two_frames)
{
    ck_assert(frame_boundary_is_here(&boundary));
}
END_TEST

/* The stream comes in pieces of _i bytes, of which each may hold several boundaries. */
START_TEST(each_boundary_is_found_however_the_stream_is_cut)
{
    size_t piece_max = (size_t)_i, found = 0;
    for (size_t at = 0; at < stream.length;) {
        size_t left = stream.length - at, npassed = 0;
        size_t piece = left < piece_max ? left : piece_max;
        ck_assert_int_eq(frame_boundary_pass(&boundary, stream.data + at, piece, &npassed, &err),
                         HVD_OK);
        ck_assert_uint_gt(npassed, 0);
        ck_assert_uint_le(npassed, piece);
        for (size_t i = 1; i < npassed; i++)
            ck_assert(!is_boundary(at + i));
        at += npassed;
        ck_assert_int_eq(frame_boundary_is_here(&boundary), is_boundary(at));
        ck_assert(npassed == piece || is_boundary(at));
        found += is_boundary(at);
    }
    ck_assert_uint_eq(found, FRAMES);
}
END_TEST

static const struct {
    unsigned char header[FRAME_HEADER_SIZE];
    int rc;
} headers[] = {
    { "HVD2\1\0\0\0\0\0\0", HVD_ERR_PROTOCOL },
    { "hVD1\1\0\0\0\0\0\0", HVD_ERR_PROTOCOL },
    { "HVD1\1\0\1\0\0\0\0", HVD_ERR_PROTOCOL },    /* a flag */
    { "HVD1\1\0\0\0\1\0\20\0", HVD_ERR_PROTOCOL }, /* 1 MiB and a byte */
    { "HVD1\1\0\0\0\377\377\377\377", HVD_ERR_PROTOCOL },
    { "HVD1\1\0\0\0\0\0\20\0", HVD_OK },    /* 1 MiB */
    { "HVD1\377\377\0\0\0\0\0\0", HVD_OK }, /* a type of another version */
};

/* At once, and byte by byte: nothing is said before the header is complete. */
START_TEST(what_is_no_header_is_refused)
{
    const unsigned char *header = headers[_i].header;
    size_t npassed;
    ck_assert_int_eq(frame_boundary_pass(&boundary, header, FRAME_HEADER_SIZE, &npassed, &err),
                     headers[_i].rc);
    boundary = (struct frame_boundary){ 0 };
    for (size_t i = 0; i < FRAME_HEADER_SIZE; i++) {
        int expected = i + 1 == FRAME_HEADER_SIZE ? headers[_i].rc : HVD_OK;
        ck_assert_int_eq(frame_boundary_pass(&boundary, header + i, 1, &npassed, &err), expected);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame_boundary");
    TCase *tcase = tcase_create("boundaries");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_stream_begins_between_two_frames);
    tcase_add_loop_test(tcase, each_boundary_is_found_however_the_stream_is_cut, 1, 100);
    tcase_add_loop_test(tcase, what_is_no_header_is_refused, 0, sizeof headers / sizeof *headers);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
