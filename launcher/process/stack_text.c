/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that other programs print; see stack_text.h. */
#include "launcher/process/stack_text.h"

#include "launcher/base/xalloc.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer names of functions are cut. */
enum { NAME_SHOWN = 80 };

/* ---- reading ---- */

static struct stack_thread *stacks_add(struct stacks *stacks, int tid)
{
    if (stacks->count == STACK_THREADS_MAX)
        return NULL;
    struct stack_thread *thread = &stacks->threads[stacks->count++];
    *thread = (struct stack_thread){ .tid = tid };
    return thread;
}

static void add_frame(struct stack_thread *thread, char *frame)
{
    if (thread && thread->frames.count < STACK_FRAMES_MAX)
        string_list_take(&thread->frames, frame);
    else
        free(frame);
}

/* The next line of the text, as a string in `line`, cut at `size`. False at its end. */
static bool stack_next_line(const char **text, const char *end, char *line, size_t size)
{
    if (*text == end)
        return false;
    const char *newline = memchr(*text, '\n', (size_t)(end - *text));
    size_t length = (size_t)((newline ? newline : end) - *text);
    size_t kept = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < kept; i++)
        line[i] = isprint((unsigned char)(*text)[i]) ? (*text)[i] : '?';
    line[kept] = '\0';
    *text = newline ? newline + 1 : end;
    return true;
}

/* "TID 12:", "Thread 2 (Thread 0x7f (LWP 12) "name"):" or "Thread 1 (process 12):". */
static bool read_thread(const char *line, int *tid)
{
    static const char *const before[] = { "LWP ", "process " };
    if (sscanf(line, "TID %d:", tid) == 1)
        return true;
    if (strncmp(line, "Thread ", 7) != 0)
        return false;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        const char *found = strstr(line, before[i]);
        if (found && sscanf(found + strlen(before[i]), "%d", tid) == 1)
            return true;
    }
    return false;
}

/* The name of the function in "#1  0x00007f5c1ad0 in poll (fds=0x0) at poll.c:29", which the caller
 * frees; NULL if the line is no frame or the name is unknown. */
static char *read_native_frame(const char *line)
{
    char *at;
    if (*line != '#' || !isdigit((unsigned char)line[1]))
        return NULL;
    strtoul(line + 1, &at, 10);
    at += strspn(at, " ");
    if (strncmp(at, "0x", 2) == 0) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    if (strncmp(at, "- 1", 3) == 0) /* eu-stack: an address behind a call */
        at += 3 + strspn(at + 3, " ");
    if (strncmp(at, "in ", 3) == 0)
        at += 3;
    size_t length = strcspn(at, "@(");
    while (length > 0 && at[length - 1] == ' ')
        length--;
    if (length == 0 || *at == '?')
        return NULL;
    return xstrndup(at, length < NAME_SHOWN ? length : NAME_SHOWN);
}

void stacks_read_native(struct stacks *stacks, const char *text, size_t length)
{
    const char *end = text + length;
    struct stack_thread *thread = NULL;
    char line[1024];
    int tid;
    while (stack_next_line(&text, end, line, sizeof line)) {
        char *frame = read_native_frame(line);
        if (frame)
            add_frame(thread, frame);
        else if (read_thread(line, &tid))
            thread = stacks_add(stacks, tid > 0 ? tid : 0);
    }
}

/* "step (train.py:12)" of `File "/a/train.py", line 12 in step`, or NULL. */
static char *read_python_frame(const char *line)
{
    static const char begin[] = "  File \"", middle[] = "\", line ", last[] = " in ";
    if (strncmp(line, begin, sizeof begin - 1) != 0)
        return NULL;
    const char *path = line + sizeof begin - 1, *path_end = strstr(path, middle);
    if (!path_end)
        return NULL;
    const char *number = path_end + sizeof middle - 1, *function = strstr(number, last);
    if (!function)
        return NULL;
    const char *slash = memrchr(path, '/', (size_t)(path_end - path));
    const char *name = slash ? slash + 1 : path;
    return xasprintf("%.*s (%.*s:%d)", (int)NAME_SHOWN, function + sizeof last - 1,
                     (int)(path_end - name < NAME_SHOWN ? path_end - name : NAME_SHOWN), name,
                     atoi(number));
}

void stacks_read_python(struct stacks *stacks, const char *text, size_t length)
{
    const char *end = text + length;
    struct stack_thread *thread = NULL;
    bool wanted = false;
    char line[1024];
    while (stack_next_line(&text, end, line, sizeof line)) {
        char *frame = read_python_frame(line);
        if (!frame) {
            wanted = strstr(line, "hread 0x") != NULL;
            thread = NULL;
            continue;
        }
        if (!thread && wanted)
            thread = stacks_add(stacks, 0);
        add_frame(thread, frame);
    }
}

const struct stack_thread *stacks_find(const struct stacks *stacks, int tid)
{
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->threads[i].tid == tid)
            return &stacks->threads[i];
    return NULL;
}

void stacks_fini(struct stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        string_list_fini(&stacks->threads[i].frames);
    stacks->count = 0;
}

/* ---- writing ---- */

static bool frame_begins(const char *frame, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(frame, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* What the C library does before main(), or before the function of a thread. */
static bool is_start(const char *frame)
{
    static const char *const prefixes[] = { "__libc_start", "_start",  "start_thread",
                                            "clone3",       "__clone", "clone" };
    return frame_begins(frame, prefixes, sizeof prefixes / sizeof *prefixes);
}

static bool is_interpreter(const char *frame)
{
    static const char *const prefixes[] = { "_Py", "Py", "cfunction_", "method_", "builtin_" };
    return frame_begins(frame, prefixes, sizeof prefixes / sizeof *prefixes);
}

/* The index of the call of libhvd's that the program has made, or 0. */
static size_t first_shown(const struct string_list *frames)
{
    for (size_t i = frames->count; i > 0; i--)
        if (strncmp(frames->items[i - 1], "hvd_", 4) == 0)
            return i - 1;
    return 0;
}

static size_t put_where(char *text, size_t size, size_t used, const char *frame)
{
    if (used + strlen(frame) + 8 < size)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " <- " : "", frame);
    return used;
}

static size_t put_native(const struct stack_thread *native, bool with_python, char *text,
                         size_t size)
{
    const struct string_list *frames = &native->frames;
    size_t used = 0;
    for (size_t i = first_shown(frames); i < frames->count; i++) {
        const char *frame = frames->items[i];
        if (with_python && strstr(frame, "PyEval_"))
            break; /* the rest is the interpreter, for the frames in Python */
        if (!is_start(frame) && !(with_python && is_interpreter(frame)))
            used = put_where(text, size, used, frame);
    }
    return used;
}

void stack_where(const struct stack_thread *native, const struct stack_thread *python, char *text,
                 size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    if (native)
        used = put_native(native, python != NULL, text, size);
    for (size_t i = 0; python && i < python->frames.count; i++)
        used = put_where(text, size, used, python->frames.items[i]);
}
