/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/support/instant.h"

#include "bench/support/sample.h"

#include <err.h>
#include <fcntl.h>
#include <unistd.h>

void instant_write_now(const char *path)
{
    double now = now_us();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, &now, sizeof now) != sizeof now)
        err(1, "%s", path);
    close(file);
}

double instant_read(const char *path)
{
    double then = 0;
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, &then, sizeof then) != sizeof then)
        err(1, "%s", path);
    close(file);
    return then;
}
