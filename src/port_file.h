/* SPDX-License-Identifier: Apache-2.0 */
/* A file that says which port was chosen: decimal digits and a newline, there as a whole or not at
 * all, and gone when we are. */
#ifndef SRC_PORT_FILE_H
#define SRC_PORT_FILE_H

#include "lib/base/status.h"

#include <sys/types.h>

struct port_file {
    const char *path; /* borrowed; NULL: there is none */
    dev_t device;     /* what we put there */
    ino_t inode;
};

/* Puts the file there, over one of that name. HVD_ERR_SYSTEM. */
int port_file_write(struct port_file *file, const char *path, int port, struct err *err);

/* Removes it, unless another has taken its place. */
void port_file_remove(struct port_file *file);

#endif
