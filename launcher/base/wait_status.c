/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding the status of waitpid(); see wait_status.h. */
#include "launcher/base/wait_status.h"

#include "lib/base/rank_end_text.h"

void wait_status_text(char *text, size_t size, int wait_status)
{
    struct rank_end_how how = rank_end_how_of(wait_status);
    rank_end_how_text(text, size, &how, RANK_END_SHORT);
}
