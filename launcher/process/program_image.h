/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a program file: how much of the file is needed to run it, and which file runs it,
 * the loader of an ELF file or the interpreter of a script. Behind the last segment that is loaded
 * an ELF file has symbols, debugging information and the table of sections, which neither the
 * kernel nor a dynamic linker reads. */
#ifndef LAUNCHER_PROCESS_PROGRAM_IMAGE_H
#define LAUNCHER_PROCESS_PROGRAM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

/* The needed bytes from the beginning of the file; the whole file for a script, or an ELF file of
 * another kind than this machine's. Returns 0 or an errno. */
int program_image_size(int fd, size_t *size);

/* The path of the file's dynamic loader; false if there is none, or the file is no ELF file of this
 * machine's kind. */
bool program_image_loader(int fd, char *loader, size_t size);

/* The path behind "#!", which has a carriage return at its end if the line ends in CR LF. False if
 * there is none, or the kernel does not take the line: it reads 256 bytes of the file. */
bool program_image_interpreter(int fd, char *interpreter, size_t size);

/* The program that env(1), as the interpreter, looks for in PATH. False if the interpreter is
 * another one, or env gets an option or a variable, with which it may look elsewhere. */
bool program_image_env_command(int fd, char *command, size_t size);

#endif
