/* SPDX-License-Identifier: Apache-2.0 */
/* How long the other side of a link has been silent, as a watch that may itself be late: a machine
 * that was frozen, or a loop that was busy, looks at the clock before it reads what has come
 * meanwhile. When a look comes too late, the other side gets the whole time again. Decides only;
 * times are arguments, on a clock that goes on while the process is stopped. */
#ifndef LAUNCHER_PROTOCOL_SILENCE_H
#define LAUNCHER_PROTOCOL_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

/* How far apart looks are to be, and how much later than that is too late. */
enum { SILENCE_LOOK_MS = 250, SILENCE_LATE_MS = 500 };

struct silence {
    uint64_t limit_ms; /* 0: there is none */
    uint64_t heard_ms, looked_ms;
    uint64_t excused_ms; /* the last excuse; counts if it came after what was heard */
    uint64_t longest_ms; /* and goes so far; 0: as far as it likes */
    bool paused;
};

/* All zero is a watch without a limit. */
void silence_start(struct silence *silence, uint64_t limit_ms, uint64_t now_ms);

/* Something has come from the other side. */
void silence_heard(struct silence *silence, uint64_t now_ms);

/* Something else shows that the other side is there and cannot answer: it gets the whole time again,
 * but all in all no more than `longest_ms` from the last time it was heard, if that is not 0. */
void silence_excuse(struct silence *silence, uint64_t longest_ms, uint64_t now_ms);

/* Silence is in order until silence_resume(), which gives the whole time again. */
void silence_pause(struct silence *silence);
void silence_resume(struct silence *silence, uint64_t now_ms);

/* For how long nothing has come; 0 when the next look is too late: it will have begun anew. */
uint64_t silence_lasts_ms(const struct silence *silence, uint64_t now_ms);

/* To be called every SILENCE_LOOK_MS: has it lasted too long? */
bool silence_look(struct silence *silence, uint64_t now_ms);

#endif
