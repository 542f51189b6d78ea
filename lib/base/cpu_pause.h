/* SPDX-License-Identifier: Apache-2.0 */
/* Between two looks of somebody who spins: the processor may do something else meanwhile. */
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
