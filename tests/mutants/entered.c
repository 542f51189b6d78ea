/* SPDX-License-Identifier: Apache-2.0
 *
 * Which functions does a test enter, in all of its processes?
 *
 * Loaded with LD_PRELOAD into programs that -finstrument-functions compiled, or linked into them.
 * Each function that is entered is put once into a table in the file that ENTERED_FUNCTIONS names,
 * which all processes share, also those that are killed. A process whose environment was replaced
 * finds it at ENTERED_TABLE, if this is linked into its program. An entry has the number of the
 * object (object_number()) in the upper 24 bits, and the offset of the function in it. Objects that
 * are loaded later are not seen.
 */
#define _GNU_SOURCE // dl_iterate_phdr()

#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 1 << 15, OBJECTS = 64, OFFSET_BITS = 40 };

struct object {
    uintptr_t base, end;
    uint64_t number;
};

static _Atomic uint64_t *slots;
static struct object objects[OBJECTS];
static int object_count;

/* FNV-1a of the name without folders, 24 bits. */
static uint64_t object_number(const char *path)
{
    const char *slash = strrchr(path, '/');
    uint32_t hash = 2166136261u;
    for (const char *p = slash ? slash + 1 : path; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    return hash & 0xffffff;
}

static int object_add(struct dl_phdr_info *info, size_t nbytes, void *program)
{
    (void)nbytes;
    if (object_count == OBJECTS)
        return 1;
    uintptr_t end = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
            end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    const char *path = *info->dlpi_name ? info->dlpi_name : program;
    objects[object_count++] = (struct object){ info->dlpi_addr, end, object_number(path) };
    return 0;
}

__attribute__((constructor)) static void entered_start(void)
{
    char program[4096] = "";
    const char *path = getenv("ENTERED_FUNCTIONS");
    int fd = open(path ? path : ENTERED_TABLE, O_RDWR | O_CLOEXEC);
    if (fd < 0 || readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return;
    dl_iterate_phdr(object_add, program);
    void *mapped = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped != MAP_FAILED)
        slots = mapped;
}

static void slot_put(uint64_t entry)
{
    for (uint64_t at = entry * 0x9e3779b97f4a7c15u >> 49, tries = 0; tries < SLOTS;
         at = (at + 1) % SLOTS, tries++) {
        uint64_t found = atomic_load_explicit(&slots[at], memory_order_relaxed);
        if (found == entry ||
            (found == 0 && atomic_compare_exchange_strong(&slots[at], &found, entry)) ||
            found == entry)
            return;
    }
}

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_enter(void *function, void *caller)
{
    uintptr_t at = (uintptr_t)function;
    (void)caller;
    if (!slots)
        return;
    for (int i = 0; i < object_count; i++)
        if (at >= objects[i].base && at < objects[i].end) {
            slot_put(objects[i].number << OFFSET_BITS | (at - objects[i].base));
            return;
        }
}

/* Nothing; a static program would otherwise take both from libc. */
void __cyg_profile_func_exit(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function, (void)caller;
}
