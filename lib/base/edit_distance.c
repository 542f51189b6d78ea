/* SPDX-License-Identifier: Apache-2.0 */
/* The edit distance of two short texts, row by row; see edit_distance.h. */
#include "lib/base/edit_distance.h"

#include <string.h>

enum { NAME_SEEN = 63 };

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

int edit_distance(const char *a, size_t length, const char *b)
{
    int row[NAME_SEEN + 1];
    int seen = (int)strnlen(b, NAME_SEEN);
    for (int j = 0; j <= seen; j++)
        row[j] = j;
    for (size_t i = 0; i < length; i++) {
        int diagonal = row[0]++;
        for (int j = 1; j <= seen; j++) {
            int changed = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            row[j] = min_of(changed, 1 + min_of(row[j], row[j - 1]));
        }
    }
    return row[seen];
}
