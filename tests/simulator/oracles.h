/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every job, whatever befell it; looked at when it is over. */
#ifndef TESTS_SIMULATOR_ORACLES_H
#define TESTS_SIMULATOR_ORACLES_H

void sim_oracles_judge(void);

#endif
