/* SPDX-License-Identifier: Apache-2.0 */
/* A file with the chosen port: decimal digits and a newline. The file appears as a whole or not at
 * all, and is removed when we end. */
#ifndef SRC_SERVICE_PORT_FILE_H
#define SRC_SERVICE_PORT_FILE_H

#include "lib/base/status.h"

#include <sys/types.h>

struct port_file {
    const char *path; /* borrowed; NULL: there is none */
    dev_t device;     /* of the file that we created */
    ino_t inode;
    int port;
};

/* May a file be created under this name? Only where nothing exists, or a regular file that is empty
 * or holds a port, left by a killed process. Else HVD_ERR_SYSTEM and one line. */
int port_file_check(const char *path, struct err *err);

/* Checks again and creates the file. HVD_ERR_SYSTEM. */
int port_file_write(struct port_file *file, const char *path, int port, struct err *err);

/* Removes the file, unless another has replaced it or its contents have changed. */
void port_file_remove(struct port_file *file);

#endif
