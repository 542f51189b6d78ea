/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of what travels together. Constants only: programs that predict what an engine does
 * (bench/prediction) use them, too. */
#ifndef LIB_ENGINE_FUSION_LIMITS_H
#define LIB_ENGINE_FUSION_LIMITS_H

/* FUSED_MAX: the largest tensor that is fused, in bytes, unless it is tuned. Copying such a tensor
 * twice costs less than moving it alone, which takes longer over a network. INLINE_MAX: the largest
 * tensor whose data travel with the messages of the agreement. */
enum { FUSED_MAX = 64 << 10, FUSED_MAX_ON_ONE_HOST = 16 << 10, INLINE_MAX = 4096 };

enum { FUSION_BUFFER_MAX = 4 << 20 }; /* bytes of all tensors that are fused */

enum { RUNS_AHEAD = 2 }; /* decided by the root before earlier ones are done; more can be fused */

#endif
