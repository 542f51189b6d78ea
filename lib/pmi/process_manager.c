/* SPDX-License-Identifier: Apache-2.0 */
/* Whether MPI shares the process manager; see process_manager.h. */
#include "lib/pmi/process_manager.h"

#include <link.h>
#include <string.h>

/* "/usr/lib/libmpich.so.12", "libmpi.so.40" */
static int is_library_of_mpi(struct dl_phdr_info *library, size_t size, void *found)
{
    const char *slash = strrchr(library->dlpi_name, '/');
    (void)size;
    *(bool *)found |= strncmp(slash ? slash + 1 : library->dlpi_name, "libmpi", 6) == 0;
    return 0;
}

bool process_manager_shared_with_mpi(void)
{
    bool found = false;
    dl_iterate_phdr(is_library_of_mpi, &found);
    return found;
}
