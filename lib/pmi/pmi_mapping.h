/* SPDX-License-Identifier: Apache-2.0 */
/* PMI_process_mapping: on which node each rank is, as "(vector,(FIRST,NODES,RANKS),...)". Each
 * block gives RANKS ranks to each of NODES nodes from FIRST on; after the last block the list
 * begins again. */
#ifndef LIB_PMI_PMI_MAPPING_H
#define LIB_PMI_PMI_MAPPING_H

#include <stdbool.h>

/* Fills in where `rank` of `size` is among the ranks of its node. False, writing nothing, for a
 * text that is no mapping, or one that has no ranks. */
bool pmi_mapping_place(const char *text, int rank, int size, int *local_rank, int *local_size);

#endif
