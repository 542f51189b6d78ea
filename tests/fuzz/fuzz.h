/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets share. A target is a file with LLVMFuzzerTestOneInput(), which says on top what
 * it promises for any input whatever; a broken promise aborts. The same file is linked with
 * libFuzzer (make fuzz) and with replay.c, which takes the inputs of corpus/ (make check). An input
 * always does the same: random numbers are not. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include "lib/base/status.h"
#include "lib/base/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts, naming the promise, where `condition` is not true. */
#define PROMISE(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))

void fuzz_broken(const char *promise, const char *file, int line) __attribute__((noreturn));

/* The input, from which a target draws what happens next: zeroes and nothing once it is used up. */
struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

/* To be called first. Random numbers begin again. */
struct fuzz_input fuzz_begin(const uint8_t *data, size_t size);

uint8_t fuzz_u8(struct fuzz_input *input);
uint16_t fuzz_u16(struct fuzz_input *input);
int32_t fuzz_i32(struct fuzz_input *input);

/* A length (u8, then that many bytes, or as many as there are), and a copy of the bytes of just
 * that size, so that a read beyond it is seen; to be freed. */
uint8_t *fuzz_bytes(struct fuzz_input *input, size_t *length);

/* The same as a text, cut at a NUL, of at most `size` - 1 bytes. */
void fuzz_text(struct fuzz_input *input, char *text, size_t size);

/* All that is left, with nothing behind it; and the same as a text, cut at a NUL. To be freed. */
uint8_t *fuzz_rest(struct fuzz_input *input, size_t *length);
char *fuzz_rest_text(struct fuzz_input *input);

/* Takes a line off the front of a text: terminates it there, and returns it; NULL at the end. */
char *fuzz_line(char **text);

/* Text of another host's: one line of UTF-8 that can be printed. */
void fuzz_check_text(const char *text);

/* What people are told: one line of printable ASCII that begins with `start` and goes on. */
void fuzz_check_line(const char *line, const char *start);

/* Decodes a body, and if it can be decoded, appends it encoded. */
typedef bool fuzz_again_fn(struct wire_reader *reader, struct wire_writer *writer);

/* What was decoded, encodes to something that decodes to the same. */
void fuzz_round_trip(fuzz_again_fn *again, const void *body, size_t length);

#endif
