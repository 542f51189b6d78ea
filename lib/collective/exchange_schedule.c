/* SPDX-License-Identifier: Apache-2.0 */
/* The order of operands and results; see exchange_schedule.h. */
#include "lib/collective/exchange_schedule.h"

#include "lib/base/min.h"

struct stretch exchange_stretch(size_t operands, size_t results, size_t piece, size_t at)
{
    size_t first = size_min(operands, 2 * piece);
    if (at < first)
        return (struct stretch){ false, at, first - at };
    /* Rounds of a piece of each follow; in the last one a piece may be short, or empty. */
    size_t rest = operands - first, full = size_min(rest, results) / piece;
    size_t round = size_min((at - first) / (2 * piece), full), done = round * piece;
    size_t inside = at - first - 2 * done;
    size_t of_results = size_min(piece, results - done), of_operands = size_min(piece, rest - done);
    if (inside < of_results)
        return (struct stretch){ true, done + inside, of_results - inside };
    inside -= of_results;
    if (inside < of_operands)
        return (struct stretch){ false, first + done + inside, of_operands - inside };
    inside -= of_operands;
    if (rest > results) {
        size_t start = first + done + of_operands + inside;
        return (struct stretch){ false, start, operands - start };
    }
    size_t start = done + of_results + inside;
    return (struct stretch){ true, start, results - start };
}
