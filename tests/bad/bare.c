/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a program as no shell does:
 *
 *   bare words PROGRAM              without a single word, not even its name
 *   bare entry PROGRAM [WORD]...    with an entry in its environment that has no "=", and an empty
 *                                   one */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char noise[] = "NOISE", nothing[] = "";

static char **odd_environment(void)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **odd = calloc(count + 3, sizeof *odd);
    if (!odd)
        return environ;
    odd[0] = noise;
    odd[1] = nothing;
    memcpy(odd + 2, environ, count * sizeof *odd);
    return odd;
}

int main(int argc, char **argv)
{
    char *none[] = { NULL };
    if (argc >= 3 && strcmp(argv[1], "words") == 0)
        execve(argv[2], none, environ);
    else if (argc >= 3 && strcmp(argv[1], "entry") == 0)
        execve(argv[2], argv + 2, odd_environment());
    perror("bare");
    return 99;
}
