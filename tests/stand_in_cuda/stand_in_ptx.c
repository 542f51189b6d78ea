/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and interprets PTX, as much of it as lib/cuda/kernels_ptx.c writes: one instruction in a
 * line, registers of 64 bits, threads one after the other. What it does not know, and a register
 * that is not declared, is CUDA_ERROR_INVALID_PTX, as a mistake in the text would be. */
#include "tests/stand_in_cuda/stand_in.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD = 48,
    OPERANDS = 4,
    REGISTERS_MAX = 48,
    DECLARED_MAX = 16,
    LINES_MAX = 96,
    PARAMETERS_MAX = 8,
    STEPS_MAX = 1 << 26
};

union value {
    uint64_t u64;
    int64_t s64;
    uint32_t u32;
    int32_t s32;
    uint16_t u16;
    float f32;
    double f64;
};

struct state {
    union value registers[REGISTERS_MAX + 1];
    const uint64_t *parameters;
};

/* One operand: a register, or a constant. */
struct operand {
    int index; /* of a register; -1: constant */
    union value constant;
};

struct opcode;

struct line {
    const struct opcode *opcode;
    int guard;  /* a register; -1: none */
    int target; /* of bra */
    struct operand operands[OPERANDS];
};

struct stand_in_kernel {
    char name[WORD];
    int nparameters, nlines, ndeclared, nregisters, nlabels;
    char parameters[PARAMETERS_MAX][WORD];
    struct {
        char name[WORD];
        int count; /* of the numbers behind the name; 0: the name alone */
    } declared[DECLARED_MAX];
    char registers[REGISTERS_MAX][WORD]; /* that are used */
    struct {
        char name[WORD];
        int at;
    } labels[4];
    char targets[LINES_MAX][WORD];
    struct line lines[LINES_MAX];
};

/* ---- instructions ---- */

/* z = what, of a, b and c. */
#define COMPUTATIONS(DO)                                                                           \
    DO(add_u64, "add.u64", u64, a.u64 + b.u64)                                                     \
    DO(add_u32, "add.u32", u32, a.u32 + b.u32)                                                     \
    DO(mul_wide, "mul.wide.u32", u64, (uint64_t)a.u32 *b.u32)                                      \
    DO(mul_u64, "mul.lo.u64", u64, a.u64 *b.u64)                                                   \
    DO(mul_u32, "mul.lo.u32", u32, a.u32 *b.u32)                                                   \
    DO(add_f32, "add.rn.f32", f32, a.f32 + b.f32)                                                  \
    DO(add_f64, "add.rn.f64", f64, a.f64 + b.f64)                                                  \
    DO(div_f32, "div.rn.f32", f32, a.f32 / b.f32)                                                  \
    DO(div_f64, "div.rn.f64", f64, a.f64 / b.f64)                                                  \
    DO(div_u32, "div.u32", u32, a.u32 / b.u32)                                                     \
    DO(div_s32, "div.s32", s32, a.s32 / b.s32)                                                     \
    DO(div_s64, "div.s64", s64, a.s64 / b.s64)                                                     \
    DO(min_u32, "min.u32", u32, a.u32 < b.u32 ? a.u32 : b.u32)                                     \
    DO(max_u32, "max.u32", u32, a.u32 > b.u32 ? a.u32 : b.u32)                                     \
    DO(min_s32, "min.s32", s32, a.s32 < b.s32 ? a.s32 : b.s32)                                     \
    DO(max_s32, "max.s32", s32, a.s32 > b.s32 ? a.s32 : b.s32)                                     \
    DO(min_s64, "min.s64", s64, a.s64 < b.s64 ? a.s64 : b.s64)                                     \
    DO(max_s64, "max.s64", s64, a.s64 > b.s64 ? a.s64 : b.s64)                                     \
    DO(setp_lt_f32, "setp.lt.f32", u64, a.f32 < b.f32)                                             \
    DO(setp_gt_f32, "setp.gt.f32", u64, a.f32 > b.f32)                                             \
    DO(setp_lt_f64, "setp.lt.f64", u64, a.f64 < b.f64)                                             \
    DO(setp_gt_f64, "setp.gt.f64", u64, a.f64 > b.f64)                                             \
    DO(setp_ne_u32, "setp.ne.u32", u64, a.u32 != b.u32)                                            \
    DO(selp_f32, "selp.f32", u32, c.u64 ? a.u32 : b.u32)                                           \
    DO(cvt_s32_s8, "cvt.s32.s8", s32, (int8_t)a.u32)                                               \
    DO(cvt_s32_s16, "cvt.s32.s16", s32, (int16_t)a.u32)                                            \
    DO(cvt_u32_u8, "cvt.u32.u8", u32, (uint8_t)a.u32)                                              \
    DO(cvt_u32_u16, "cvt.u32.u16", u32, (uint16_t)a.u32)                                           \
    DO(cvt_u32_u64, "cvt.u32.u64", u32, (uint32_t)a.u64)                                           \
    DO(cvt_f32_u64, "cvt.rn.f32.u64", f32, (float)a.u64)                                           \
    DO(cvt_f64_u64, "cvt.rn.f64.u64", f64, (double)a.u64)                                          \
    DO(mul_f32, "mul.rn.f32", f32, a.f32 *b.f32)                                                   \
    DO(mul_f64, "mul.rn.f64", f64, a.f64 *b.f64)                                                   \
    DO(min_f64, "min.f64", f64, fmin(a.f64, b.f64))                                                \
    DO(max_f64, "max.f64", f64, fmax(a.f64, b.f64))                                                \
    DO(and_b32, "and.b32", u32, a.u32 &b.u32)                                                      \
    DO(or_b32, "or.b32", u32, a.u32 | b.u32)                                                       \
    DO(shl_b32, "shl.b32", u32, a.u32 << b.u32)                                                    \
    DO(shr_u32, "shr.u32", u32, a.u32 >> b.u32)                                                    \
    DO(mov_b32, "mov.b32", u32, a.u32)                                                             \
    DO(mov_u32, "mov.u32", u32, a.u32)                                                             \
    DO(cvta, "cvta.to.global.u64", u64, a.u64)                                                     \
    DO(setp_ge_u64, "setp.ge.u64", u64, a.u64 >= b.u64)                                            \
    DO(setp_nan_f32, "setp.nan.f32", u64, isnan(a.f32) || isnan(b.f32))                            \
    DO(setp_nan_f64, "setp.nan.f64", u64, isnan(a.f64) || isnan(b.f64))                            \
    DO(selp_b32, "selp.b32", u32, c.u64 ? a.u32 : b.u32)                                           \
    DO(selp_f64, "selp.f64", u64, c.u64 ? a.u64 : b.u64)                                           \
    DO(cvt_u64_u32, "cvt.u64.u32", u64, a.u32)                                                     \
    DO(cvt_f64_s32, "cvt.rn.f64.s32", f64, a.s32)                                                  \
    DO(cvt_f64_u32, "cvt.rn.f64.u32", f64, a.u32)                                                  \
    DO(cvt_f64_s64, "cvt.rn.f64.s64", f64, (double)a.s64)                                          \
    DO(cvt_f32_f64, "cvt.rn.f32.f64", f32, (float)a.f64)                                           \
    DO(cvt_s32_f64, "cvt.rzi.s32.f64", s32,                                                        \
       a.f64 >= 0x1p31    ? INT32_MAX                                                              \
       : a.f64 <= -0x1p31 ? INT32_MIN                                                              \
                          : (int32_t)a.f64)                                                        \
    DO(cvt_u32_f64, "cvt.rzi.u32.f64", u32,                                                        \
       a.f64 >= 0x1p32 ? UINT32_MAX                                                                \
       : a.f64 <= 0    ? 0                                                                         \
                       : (uint32_t)a.f64)                                                             \
    DO(cvt_s64_f64, "cvt.rzi.s64.f64", s64,                                                        \
       a.f64 >= 0x1p63    ? INT64_MAX                                                              \
       : a.f64 <= -0x1p63 ? INT64_MIN                                                              \
                          : (int64_t)a.f64)                                                        \
    DO(cvt_f32_f16, "cvt.f32.f16", f32, half_to_float(a.u16))                                      \
    DO(cvt_f16_f32, "cvt.rn.f16.f32", u16, half_from_float(a.f32))

static float half_to_float(uint16_t bits)
{
    int exponent = bits >> 10 & 31, digits = bits & 1023;
    float value = exponent == 31  ? (digits ? NAN : INFINITY)
                  : exponent == 0 ? ldexpf((float)digits, -24)
                                  : ldexpf((float)(digits + 1024), exponent - 25);
    return bits & 0x8000 ? -value : value;
}

/* Rounds half to even, by the digits that a half of this size has. */
static uint16_t half_from_float(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (isnan(value))
        return 0x7fff;
    float size = fabsf(value);
    if (size == 0)
        return sign;
    if (isinf(size))
        return sign | 0x7c00;
    frexpf(size, &exponent); /* size is below 2^exponent */
    int unit = exponent - 11 < -24 ? -24 : exponent - 11;
    double digits = nearbyint(ldexp((double)size, -unit));
    if (unit == -24)
        return (uint16_t)(sign + (uint16_t)digits); /* 1024 is the least normal number */
    uint32_t bits = (uint32_t)((unit + 25) << 10) + (uint32_t)digits - 1024;
    return (uint16_t)(sign | (bits > 0x7c00 ? 0x7c00 : bits));
}

#define COMPUTATION(id, text, member, what)                                                        \
    static void do_##id(union value *z, union value a, union value b, union value c)               \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        union value result = { 0 };                                                                \
        result.member = what;                                                                      \
        *z = result;                                                                               \
    }
COMPUTATIONS(COMPUTATION)

/* Memory, by width and sign. */
static void widen(union value *z, const void *memory, int nbytes, bool is_signed)
{
    *z = (union value){ 0 };
    memcpy(z, memory, (size_t)nbytes);
    if (is_signed && nbytes == 1)
        z->s32 = (int8_t)z->u32;
    if (is_signed && nbytes == 2)
        z->s32 = (int16_t)z->u32;
}

enum act { COMPUTE, LOAD, STORE, PARAMETER, BRANCH, RETURN };

static const struct opcode {
    const char *name;
    enum act act;
    void (*compute)(union value *z, union value a, union value b, union value c);
    int nbytes;
    bool is_signed;
} opcodes[] = {
#define OPCODE(id, text, member, what) { text, COMPUTE, do_##id, 0, false },
    COMPUTATIONS(OPCODE)
#define MEMORY(type, nbytes, is_signed)                                                            \
    { "ld.global." type, LOAD, NULL, nbytes, is_signed },                                          \
        { "st.global." type, STORE, NULL, nbytes, is_signed },
        MEMORY("u8", 1, false) MEMORY("s8", 1, true) MEMORY("u16", 2, false) MEMORY("b16", 2, false)
            MEMORY("s16", 2, true) MEMORY("s32", 4, true) MEMORY("s64", 8, true)
                MEMORY("f32", 4, false)
                    MEMORY("f64", 8, false){ "ld.param.u64", PARAMETER, NULL, 8, false },
    { "ld.param.f64", PARAMETER, NULL, 8, false },
    { "bra", BRANCH, NULL, 0, false },
    { "ret", RETURN, NULL, 0, false },
};

/* ---- reading ---- */

/* ".reg .b32 %r<4>;" or ".reg .f32 %x, %y, %z;" */
static bool read_registers(struct stand_in_kernel *kernel, char *text)
{
    char *rest, *word;
    strtok_r(text, " ,;", &rest);
    strtok_r(NULL, " ,;", &rest);
    while ((word = strtok_r(NULL, " ,;", &rest))) {
        if (kernel->ndeclared == DECLARED_MAX ||
            sscanf(word, "%47[^<]<%d>", kernel->declared[kernel->ndeclared].name,
                   &kernel->declared[kernel->ndeclared].count) < 1)
            return false;
        kernel->ndeclared++;
    }
    return true;
}

/* Every kernel has the special registers, such as %tid.x. */
static bool is_declared(const struct stand_in_kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->ndeclared; i++) {
        size_t length = strlen(kernel->declared[i].name);
        const char *number = name + length;
        if (strncmp(kernel->declared[i].name, name, length) != 0)
            continue;
        if (kernel->declared[i].count == 0
                ? *number == '\0'
                : isdigit((unsigned char)*number) && atoi(number) < kernel->declared[i].count)
            return true;
    }
    return strchr(name, '.');
}

/* The number of a register, or -1. */
static int find_register(struct stand_in_kernel *kernel, const char *name)
{
    int i = 0;
    if (!is_declared(kernel, name))
        return -1;
    while (i < kernel->nregisters && strcmp(kernel->registers[i], name) != 0)
        i++;
    if (i == REGISTERS_MAX)
        return -1;
    if (i == kernel->nregisters)
        snprintf(kernel->registers[kernel->nregisters++], WORD, "%s", name);
    return i;
}

static bool read_operand(struct stand_in_kernel *kernel, struct operand *operand, const char *word)
{
    char name[WORD];
    snprintf(name, sizeof name, "%s", word + (*word == '['));
    name[strcspn(name, "]")] = '\0';
    operand->index = -1;
    for (int i = 0; i < kernel->nparameters; i++)
        if (strcmp(kernel->parameters[i], name) == 0) {
            operand->constant.s32 = i;
            return true;
        }
    if (*name == '%')
        return (operand->index = find_register(kernel, name)) >= 0;
    if (strncmp(name, "0d", 2) == 0)
        return sscanf(name + 2, "%16lx", (unsigned long *)&operand->constant.u64) == 1;
    char *end;
    operand->constant.u64 = strtoull(name, &end, 10);
    return end > name;
}

static const struct opcode *find_opcode(const char *name)
{
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (strcmp(opcodes[i].name, name) == 0)
            return &opcodes[i];
    return NULL;
}

/* "@%p0 bra done": guard, instruction, operands. */
static bool read_instruction(struct stand_in_kernel *kernel, char *text)
{
    char *rest, *word = strtok_r(text, " ,;\t", &rest);
    struct line *line = &kernel->lines[kernel->nlines];
    if (kernel->nlines == LINES_MAX)
        return false;
    line->guard = *word == '@' ? find_register(kernel, word + 1) : -1;
    if (*word == '@' && line->guard < 0)
        return false;
    if (*word == '@')
        word = strtok_r(NULL, " ,;\t", &rest);
    line->opcode = word ? find_opcode(word) : NULL;
    if (!line->opcode)
        return false;
    for (int i = 0; (word = strtok_r(NULL, " ,;\t", &rest)); i++) {
        if (line->opcode->act == BRANCH)
            snprintf(kernel->targets[kernel->nlines], WORD, "%s", word);
        else if (i == OPERANDS || !read_operand(kernel, &line->operands[i], word))
            return false;
    }
    kernel->nlines++;
    return true;
}

static bool find_targets(struct stand_in_kernel *kernel)
{
    for (int i = 0; i < kernel->nlines; i++) {
        int label = 0;
        if (kernel->lines[i].opcode->act != BRANCH)
            continue;
        while (label < kernel->nlabels &&
               strcmp(kernel->labels[label].name, kernel->targets[i]) != 0)
            label++;
        if (label == kernel->nlabels)
            return false;
        kernel->lines[i].target = kernel->labels[label].at;
    }
    return true;
}

static bool read_parameters(struct stand_in_kernel *kernel, const char *line)
{
    for (const char *at = line; (at = strstr(at, ".param ")); at++) {
        if (kernel->nparameters == PARAMETERS_MAX ||
            sscanf(at, ".param .%*3s %47[^,)]", kernel->parameters[kernel->nparameters]) != 1)
            return false;
        kernel->nparameters++;
    }
    return true;
}

static bool read_line(struct stand_in_kernel *kernel, char *line)
{
    size_t length = strlen(line);
    if (*line == '.' && strncmp(line, ".param", 6) != 0)
        return strncmp(line, ".reg ", 5) == 0 && read_registers(kernel, line);
    if (strstr(line, ".param ."))
        return read_parameters(kernel, line);
    if (*line == '{')
        return true;
    if (line[length - 1] != ':')
        return line[length - 1] == ';' && read_instruction(kernel, line);
    if (kernel->nlabels == 4)
        return false;
    line[length - 1] = '\0';
    snprintf(kernel->labels[kernel->nlabels].name, WORD, "%s", line);
    kernel->labels[kernel->nlabels++].at = kernel->nlines;
    return true;
}

static const char entry[] = ".visible .entry ";

/* Lines outside kernels are directives. */
static bool read_text(char *text, struct stand_in_kernel *kernels, int *count)
{
    struct stand_in_kernel *kernel = NULL;
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, entry, sizeof entry - 1) == 0) {
            kernel = &kernels[(*count)++];
            if (sscanf(line + sizeof entry - 1, "%47[^(]", kernel->name) != 1 ||
                !read_parameters(kernel, line))
                return false;
        } else if (kernel && *line == '}') {
            if (!find_targets(kernel))
                return false;
            kernel = NULL;
        } else if (kernel ? !read_line(kernel, line) : *line != '.') {
            return false;
        }
    }
    return !kernel;
}

int stand_in_parse(const char *ptx, struct stand_in_kernel **kernels, int *count)
{
    int entries = 0;
    for (const char *at = ptx; (at = strstr(at, entry)); at++)
        entries++;
    char *text = strdup(ptx);
    *count = 0;
    *kernels = calloc((size_t)entries + 1, sizeof **kernels);
    if (!text || !*kernels)
        abort();
    bool good = read_text(text, *kernels, count);
    free(text);
    if (!good)
        free(*kernels);
    return good ? CUDA_OK : CUDA_INVALID_PTX;
}

void stand_in_free_kernels(struct stand_in_kernel *kernels, int count)
{
    (void)count;
    free(kernels);
}

const struct stand_in_kernel *stand_in_find(const struct stand_in_kernel *kernels, int count,
                                            const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

int stand_in_parameters(const struct stand_in_kernel *kernel)
{
    return kernel->nparameters;
}

/* ---- running ---- */

static union value value_of(const struct state *state, const struct operand *operand)
{
    return operand->index < 0 ? operand->constant : state->registers[operand->index];
}

/* Memory that is not there, or not aligned, is an illegal address. */
static int move(struct state *state, const struct line *line)
{
    const struct opcode *opcode = line->opcode;
    bool loads = opcode->act == LOAD;
    uint64_t address = value_of(state, &line->operands[loads ? 1 : 0]).u64;
    void *memory = stand_in_pointer(address, (size_t)opcode->nbytes);
    if (!memory || address % (uint64_t)opcode->nbytes != 0)
        return CUDA_ILLEGAL_ADDRESS;
    if (loads) {
        widen(&state->registers[line->operands[0].index], memory, opcode->nbytes,
              opcode->is_signed);
    } else {
        union value value = value_of(state, &line->operands[1]);
        memcpy(memory, &value, (size_t)opcode->nbytes);
    }
    return CUDA_OK;
}

static int run_line(struct state *state, const struct line *line, int *at)
{
    const struct operand *operands = line->operands;
    *at += 1;
    if (line->guard >= 0 && !state->registers[line->guard].u64)
        return CUDA_OK;
    switch (line->opcode->act) {
    case COMPUTE:
        line->opcode->compute(&state->registers[operands[0].index], value_of(state, &operands[1]),
                              value_of(state, &operands[2]), value_of(state, &operands[3]));
        return CUDA_OK;
    case PARAMETER:
        state->registers[operands[0].index].u64 = state->parameters[operands[1].constant.s32];
        return CUDA_OK;
    case BRANCH:
        *at = line->target;
        return CUDA_OK;
    case RETURN:
        *at = -1;
        return CUDA_OK;
    default:
        return move(state, line);
    }
}

/* Where the register is; one that nothing reads if the kernel has none of that name. */
static int special_index(const struct stand_in_kernel *kernel, const char *name)
{
    int i = 0;
    while (i < kernel->nregisters && strcmp(kernel->registers[i], name) != 0)
        i++;
    return i;
}

static int run_thread(const struct stand_in_kernel *kernel, struct state *state)
{
    int at = 0, result = CUDA_OK;
    for (int steps = 0; at >= 0 && result == CUDA_OK; steps++) {
        if (at >= kernel->nlines || steps == STEPS_MAX)
            return CUDA_LAUNCH_FAILED;
        result = run_line(state, &kernel->lines[at], &at);
    }
    return result;
}

int stand_in_interpret(const struct stand_in_kernel *kernel, const uint64_t *parameters,
                       unsigned blocks, unsigned threads)
{
    int result = CUDA_OK;
    int block = special_index(kernel, "%ctaid.x"), thread = special_index(kernel, "%tid.x");
    int nblocks = special_index(kernel, "%nctaid.x"), nthreads = special_index(kernel, "%ntid.x");
    for (unsigned i = 0; i < blocks * threads && result == CUDA_OK; i++) {
        struct state state = { .parameters = parameters };
        state.registers[block].u64 = i / threads;
        state.registers[thread].u64 = i % threads;
        state.registers[nblocks].u64 = blocks;
        state.registers[nthreads].u64 = threads;
        result = run_thread(kernel, &state);
    }
    return result;
}
