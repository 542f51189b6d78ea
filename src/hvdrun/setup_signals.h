/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that end hvdrun while it sets a job up. No event loop runs yet, and to read a
 * hostfile may take long: it may be a named pipe. */
#ifndef SRC_HVDRUN_SETUP_SIGNALS_H
#define SRC_HVDRUN_SETUP_SIGNALS_H

/* From now on SIGINT, SIGTERM or SIGHUP ends hvdrun with one line and status 128 + its number.
 * SIGHUP stays ignored if it was, as nohup requires. */
void setup_signals_start(void);

/* Blocks these signals until setup_signals_release(): between the two the event loop gets handlers
 * of its own, which end the job in order, with its report. */
void setup_signals_hold(void);
void setup_signals_release(void);

#endif
