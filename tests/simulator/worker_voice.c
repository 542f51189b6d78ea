/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank prints: lines of all lengths in odd pieces, also pieces of lines, progress bars, and
 * a last line without an end. Kept, to be compared with what comes out of hvdrun. */
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/worker.h"
#include "tests/simulator/world.h"

#include <string.h>

enum { LARGE = 150000 };

static void remember(struct sim_voice *voice, const char *text, size_t length)
{
    if (voice->length + length > voice->room) {
        size_t room = 2 * (voice->length + length) + 256;
        char *said = sim_room(room);
        if (voice->length > 0)
            memcpy(said, voice->said, voice->length);
        voice->said = said;
        voice->room = room;
    }
    memcpy(voice->said + voice->length, text, length);
    voice->length += length;
}

/* Letters that tell the rank, so that a mix-up is seen. */
void sim_voice_say(struct sim_worker *worker, int which)
{
    static char text[LARGE];
    struct sim_voice *voice = &worker->voices[which];
    size_t length = 1 + sim_dice(sim_once_in(150) ? LARGE : sim_once_in(8) ? 3000 : 60);
    if (voice->end->given > voice->end->moved)
        return; /* write() would block */
    char letter = (char)('a' + worker->rank);
    size_t line = 1 + sim_dice(90);
    memset(text, letter, length);
    for (size_t i = line - 1; i < length; i += line)
        text[i] = i % 13 == 0 ? '\r' : '\n';
    remember(voice, text, length);
    sim_write(voice->end, text, length);
}

static void go_on(void *context)
{
    struct sim_worker *worker = context;
    sim_voice_say(worker, sim_once_in(3));
    if (!sim_once_in(6))
        sim_timer(worker->process, sim_dice(120000), go_on, worker);
}

void sim_voice_begin(struct sim_worker *worker, int which, struct sim_end *end)
{
    worker->voices[which].end = end;
    sim_hold(worker->process, end);
    if (which == 0)
        sim_timer(worker->process, sim_dice(50000), go_on, worker);
}

void sim_voice_end(struct sim_worker *worker)
{
    for (int i = 0; i < 2; i++) {
        sim_cut_write(worker->voices[i].end);
        worker->voices[i].heard = (size_t)worker->voices[i].end->moved;
    }
}
