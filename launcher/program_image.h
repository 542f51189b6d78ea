/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a program file is needed to run it. Behind the last segment that is loaded an ELF file
 * has symbols, debugging information and the table of sections, which neither the kernel nor a
 * dynamic linker reads. */
#ifndef LAUNCHER_PROGRAM_IMAGE_H
#define LAUNCHER_PROGRAM_IMAGE_H

#include <stddef.h>

/* In bytes from the begin of the file; all of it if it is a script, or an ELF file of another kind
 * than this machine's. Returns 0 or an errno. */
int program_image_size(int fd, size_t *size);

#endif
