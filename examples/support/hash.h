/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, 64 bits: a number by which ranks compare what they have. */
#ifndef EXAMPLES_SUPPORT_HASH_H
#define EXAMPLES_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t size);

#endif
