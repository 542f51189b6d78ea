/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stacks of threads that other programs print, and writes them in one line each:
 *   eu-stack      "TID 12:"                   "#1  0x00007f5c1ad0 poll"
 *   gdb           "Thread 2 (LWP 12) ..."     "#1  0x00007f5c1ad0 in poll (fds=...) at poll.c:29"
 *   faulthandler  "Thread 0x00007f (most...): "  File "/a/train.py", line 12 in step"
 * Lines of another form are skipped. At most STACK_THREADS_MAX threads with STACK_FRAMES_MAX frames
 * each are kept. Pure. */
#ifndef LAUNCHER_PROCESS_STACK_TEXT_H
#define LAUNCHER_PROCESS_STACK_TEXT_H

#include "launcher/base/string_list.h"

#include <stddef.h>

enum { STACK_THREADS_MAX = 32, STACK_FRAMES_MAX = 32 };

struct stack_thread {
    int tid;                   /* of the kernel; 0 if unknown */
    struct string_list frames; /* innermost first: "hvd_wait", "step (train.py:12)" */
};

struct stacks {
    struct stack_thread threads[STACK_THREADS_MAX];
    size_t count;
};

/* The output of eu-stack or gdb; names of functions that are unknown are left out. */
void stacks_read_native(struct stacks *stacks, const char *text, size_t length);

/* The output of faulthandler. The main thread comes last. Threads without frames are left out. */
void stacks_read_python(struct stacks *stacks, const char *text, size_t length);

/* The thread with that number, or NULL. */
const struct stack_thread *stacks_find(const struct stacks *stacks, int tid);

/* Writes where a thread stands, "hvd_wait <- step (train.py:12) <- main", "" if nothing is known.
 * Of calls within libhvd only the public one is shown, and of the interpreter nothing when its
 * frames in Python are known. Either may be NULL. */
void stack_where(const struct stack_thread *native, const struct stack_thread *python, char *text,
                 size_t size);

void stacks_fini(struct stacks *stacks);

#endif
