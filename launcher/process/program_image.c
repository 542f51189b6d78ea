/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the program headers; see program_image.h. The whole of a file that contradicts itself
 * counts as needed. */
#include "launcher/process/program_image.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NATIVE_CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32 };
enum { NATIVE_ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB };

static bool read_at(int fd, void *out, size_t nbytes, size_t offset)
{
    return pread(fd, out, nbytes, (off_t)offset) == (ssize_t)nbytes;
}

static bool is_native(const ElfW(Ehdr) * header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == NATIVE_CLASS && header->e_ident[EI_DATA] == NATIVE_ORDER &&
           header->e_phentsize == sizeof(ElfW(Phdr));
}

/* The end of the data that the program headers name; 0 if it cannot be found. */
static size_t find_end(int fd)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    size_t end = 0;
    if (!read_at(fd, &header, sizeof header, 0) || !is_native(&header))
        return 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        size_t at = header.e_phoff + i * sizeof segment;
        if (!read_at(fd, &segment, sizeof segment, at))
            return 0;
        if (end < at + sizeof segment)
            end = at + sizeof segment;
        if (end < segment.p_offset + segment.p_filesz)
            end = segment.p_offset + segment.p_filesz;
    }
    return end;
}

int program_image_size(int fd, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return errno;
    size_t end = find_end(fd), whole = (size_t)status.st_size;
    *size = end > 0 && end < whole ? end : whole;
    return 0;
}

/* The first segment of a type; false if there is none. */
static bool find_segment(int fd, uint32_t type, ElfW(Phdr) * segment)
{
    ElfW(Ehdr) header;
    if (!read_at(fd, &header, sizeof header, 0) || !is_native(&header))
        return false;
    for (size_t i = 0; i < header.e_phnum; i++)
        if (!read_at(fd, segment, sizeof *segment, header.e_phoff + i * sizeof *segment))
            return false;
        else if (segment->p_type == type)
            return true;
    return false;
}

bool program_image_loader(int fd, char *loader, size_t size)
{
    ElfW(Phdr) segment;
    if (!find_segment(fd, PT_INTERP, &segment) || segment.p_filesz < 2 || segment.p_filesz > size ||
        !read_at(fd, loader, segment.p_filesz, segment.p_offset))
        return false;
    return loader[segment.p_filesz - 1] == '\0' && loader[0] == '/';
}

enum { READ_BY_KERNEL = 256 };

/* What stands behind "#!" and blanks, up to the end of `head`, or NULL. */
static const char *find_interpreter(int fd, char head[READ_BY_KERNEL + 1])
{
    ssize_t n = pread(fd, head, READ_BY_KERNEL, 0);
    if (n < 2 || memcmp(head, "#!", 2) != 0)
        return NULL;
    head[n] = '\0';
    return head + 2 + strspn(head + 2, " \t");
}

/* Copies a part of `head`; false if it is empty, too long, or goes on behind `head`. */
static bool take_part(char *out, size_t size, const char *part, size_t length, const char *head)
{
    if (length == 0 || length >= size || part + length == head + READ_BY_KERNEL)
        return false;
    memcpy(out, part, length);
    out[length] = '\0';
    return true;
}

bool program_image_interpreter(int fd, char *interpreter, size_t size)
{
    char head[READ_BY_KERNEL + 1];
    const char *path = find_interpreter(fd, head);
    return path && take_part(interpreter, size, path, strcspn(path, " \t\n"), head);
}

/* The kernel passes all that stands behind the path, with blanks in it, as one argument. */
bool program_image_env_command(int fd, char *command, size_t size)
{
    char head[READ_BY_KERNEL + 1], path[sizeof "/usr/bin/env"];
    const char *at = find_interpreter(fd, head);
    if (!at || !take_part(path, sizeof path, at, strcspn(at, " \t\n"), head) ||
        (strcmp(path, "/usr/bin/env") != 0 && strcmp(path, "/bin/env") != 0))
        return false;
    at += strlen(path);
    at += strspn(at, " \t");
    size_t length = strcspn(at, "\n");
    if (!take_part(command, size, at, length, head))
        return false;
    while (length > 0 && (command[length - 1] == ' ' || command[length - 1] == '\t'))
        command[--length] = '\0';
    return *command != '-' && !strchr(command, '=');
}
