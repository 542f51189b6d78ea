/* SPDX-License-Identifier: Apache-2.0 */
/* The pause between two polls of a spinning thread: the processor may run other work meanwhile. */
#ifndef LIB_BASE_CPU_PAUSE_H
#define LIB_BASE_CPU_PAUSE_H

static inline void cpu_pause(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

#endif
