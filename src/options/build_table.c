/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --check-build, in the form that scripts know from horovodrun. Never fails. */
#include <config.h>

#include "src/options/build_table.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"

#include <cjson/cJSON.h>
#include <hwloc.h>
#include <libssh2.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <uv.h>
#include <yaml.h>
#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>
#endif

struct line {
    const char *name;
    bool have;
};

struct section {
    const char *title;
    struct line lines[6];
};

/* Frameworks: their workers can join a job of this version; workers of Horovod bring their own
 * Gloo. Gloo: the features that horovodrun has by this name; hvdrun and libhvd have them without
 * Gloo. */
static const struct section sections[] = {
    { "Available Frameworks",
      { { "TensorFlow", true },
        { "PyTorch", true },
        { "MXNet", true },
        { "C and C++ (libhvd)", true } } },
    { "Available Controllers", { { "MPI", false }, { "Gloo", true } } },
    { "Available Tensor Operations",
      { { "NCCL", false },
        { "DDL", false },
        { "CCL", false },
        { "MPI", false },
        { "Gloo", true } } },
};

static void build_table_put_line(struct text_buffer *table, const char *name, bool have)
{
    text_buffer_printf(table, "    [%c] %s\n", have ? 'X' : ' ', name);
}

static void put_section(struct text_buffer *table, const struct section *section)
{
    text_buffer_printf(table, "\n%s:\n", section->title);
    for (const struct line *line = section->lines; line->name; line++)
        build_table_put_line(table, line->name, line->have);
}

static void put_libraries(struct text_buffer *table)
{
    text_buffer_put_string(table, "\nLibraries:\n");
    text_buffer_printf(table, "    cJSON %s\n", cJSON_Version());
    text_buffer_printf(table, "    hwloc %s\n", HWLOC_VERSION);
    text_buffer_printf(table, "    libuv %s\n", uv_version_string());
    text_buffer_printf(table, "    libssh2 %s\n", LIBSSH2_VERSION);
    text_buffer_printf(table, "    libsodium %s\n", sodium_version_string());
    text_buffer_printf(table, "    libyaml %s\n", yaml_get_version_string());
}

#if defined __x86_64__ && defined __GNUC__
/* The instructions that the processor has (leaves 1 and 7 of CPUID) and the registers that the
 * kernel saves (XCR0). __builtin_cpu_supports() tells the same, but its constructor asks the
 * processor at each start of the program, and a virtual machine takes long to answer. */
static void read_vectors(bool *avx2, bool *avx512)
{
    enum { SAVED_AVX = 0x6, SAVED_AVX512 = 0xe6 };
    const unsigned avx512_bits = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    unsigned a, b, c, d, features, saved, upper;
    if (!__get_cpuid(1, &a, &b, &features, &d) || !(features & bit_OSXSAVE) ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return;
    __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
    *avx2 = (saved & SAVED_AVX) == SAVED_AVX && (b & bit_AVX2) && (features & bit_F16C);
    *avx512 = (saved & SAVED_AVX512) == SAVED_AVX512 && (b & avx512_bits) == avx512_bits;
}
#endif

/* Makes the same checks as lib/reduce in a rank. They describe the processor of this host only. */
static void put_vectors(struct text_buffer *table)
{
    bool avx2 = false, avx512 = false;
#if defined __x86_64__ && defined __GNUC__
    read_vectors(&avx2, &avx512);
#endif
    text_buffer_put_string(table, "\nVector Paths on this machine:\n");
    build_table_put_line(table, "AVX-512", avx512);
    build_table_put_line(table, "AVX2", avx2);
    build_table_put_line(table, "portable", true);
}

char *build_version(void)
{
    return xasprintf("hvdrun %s\n", PACKAGE_VERSION);
}

char *build_table(void)
{
    struct text_buffer table = { 0 };
    text_buffer_put_string(&table, "hvdrun v" PACKAGE_VERSION ":\n");
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        put_section(&table, &sections[i]);
    put_libraries(&table);
    put_vectors(&table);
    text_buffer_printf(&table, "\nSanitizers:\n    %s\n",
                       strcmp(ENABLED_SANITIZERS, "no") == 0 ? "none" : ENABLED_SANITIZERS);
    return text_buffer_take(&table);
}
