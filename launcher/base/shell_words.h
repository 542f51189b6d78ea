/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command in one line, quoted as for a shell, for people to read. Pure. */
#ifndef LAUNCHER_BASE_SHELL_WORDS_H
#define LAUNCHER_BASE_SHELL_WORDS_H

/* A longer line is cut and ends in "...". */
enum { SHELL_WORDS_MAX = 1000 };

/* The caller frees the text. A word with anything but letters, digits and _@%+=:,./- is quoted.
 * `words` end with NULL. */
char *shell_words(char *const *words);

#endif
