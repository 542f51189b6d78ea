/* SPDX-License-Identifier: Apache-2.0 */
/* The kind "elastic" of chaos_worker: a rank of an elastic job, on the calls of hvd_elastic.h. All
 * ranks count steps together and commit each of them. What a trial judges is said on stdout:
 *
 *   up               once, in the first world
 *   world E rank R   in each world
 *   wrong            a sum is wrong, the state is not that of its step, or a commit is lost
 *   failed           a call has failed otherwise than the loss of other ranks explains */
#ifndef TESTS_CHAOS_WORKER_ELASTIC_H
#define TESTS_CHAOS_WORKER_ELASTIC_H

/* Ends when the first rank is `life_ms` old, or never if that is negative; or when the job does
 * without this worker. */
void worker_elastic_act(long life_ms);

#endif
