/* SPDX-License-Identifier: Apache-2.0 */
/* How large the pieces are in which ranks send each other operands and results in turn
 * (exchange_schedule.h). All ranks of an operation must have the same. So only the root of a set's
 * tree asks the table; the answer travels with the decision, and a schedule keeps it. Pieces do not
 * change results: each element is combined in order of rank. Pure. */
#ifndef LIB_COLLECTIVE_PIECE_H
#define LIB_COLLECTIVE_PIECE_H

#include <stddef.h>
#include <stdint.h>

/* A piece is a power of two. The largest fills a frame (channel.h); the least is an entry of a ring
 * of shared memory (shm_ring.h), which nothing would gain by cutting it. */
enum { PIECE_LEAST = 32 * 1024, PIECE_MOST = 512 * 1024 };

/* The facts that the choice depends on, as the root knows them. A wrong fact costs speed and
 * nothing else. */
struct piece_case {
    int ranks;        /* that exchange pieces with each other */
    size_t ring;      /* bytes of each ring through which two ranks on near processors copy their
                         data; 0: the data go another way */
    size_t own_cache; /* shm_method_own_cache(); 0: not known */
};

size_t piece_choose(const struct piece_case *what);

/* A piece as one byte of a message, and back; 0 if no piece has that code. The code of 0 is 0. */
uint8_t piece_code(size_t piece);
size_t piece_of_code(int code);

#endif
