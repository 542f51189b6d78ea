/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of processes, as a launcher tells them: rendezvous_rank_ended(it, 2, KILLED_BY(9)). */
#ifndef TESTS_SUPPORT_RANK_ENDS_H
#define TESTS_SUPPORT_RANK_ENDS_H

#include "lib/base/rank_end.h"

#define EXITED_WITH(status) (&(const struct rank_end_how){ RANK_END_EXITED, .code = (status) })
#define KILLED_BY(signum) (&(const struct rank_end_how){ RANK_END_KILLED, .code = (signum) })

#endif
