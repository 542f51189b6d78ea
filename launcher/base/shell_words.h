/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command in one line, as a shell would read it, for people to look at. Pure. */
#ifndef LAUNCHER_BASE_SHELL_WORDS_H
#define LAUNCHER_BASE_SHELL_WORDS_H

/* What is longer than this ends in "...". */
enum { SHELL_WORDS_MAX = 1000 };

/* The caller frees it. A word with anything but letters, digits and _@%+=:,./- in it is quoted.
 * `words` end with NULL. */
char *shell_words(char *const *words);

#endif
