/* SPDX-License-Identifier: Apache-2.0 */
/* The time of now_us() in a file, which another process of the machine reads. Both calls end the
 * program if the file cannot be used. */
#ifndef BENCH_SUPPORT_INSTANT_H
#define BENCH_SUPPORT_INSTANT_H

void instant_write_now(const char *path);
double instant_read(const char *path);

#endif
