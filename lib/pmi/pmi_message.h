/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the PMI wire protocols: a command and its fields, "cmd=get_result rc=0 value=x".
 *
 *   PMI-1   fields end with a blank, the message with a newline. A value has no blank; only "msg"
 *           is free text.
 *   PMI-2   six characters of length, which are digits and blanks, then fields that end with ';'. In a value ";;"
 *           stands for one ';'.
 *
 * The text comes from the process manager, and is read within its bounds: a message that is too
 * long, has a NUL, a field without '=', or too many fields is not read at all. */
#ifndef LIB_PMI_PMI_MESSAGE_H
#define LIB_PMI_PMI_MESSAGE_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { PMI_MESSAGE_MAX = 4096, PMI_FIELDS_MAX = 32, PMI2_LENGTH_SIZE = 6 };

enum pmi_dialect { PMI1 = 1, PMI2 };

/* A message that was read; the fields point into `text`. */
struct pmi_message {
    char text[PMI_MESSAGE_MAX + 1];
    int nfields;
    struct {
        const char *name, *value;
    } fields[PMI_FIELDS_MAX];
};

/* The number of bytes of the message at `data`, with its frame; 0 if more bytes are needed.
 * HVD_ERR_PROTOCOL if no message can begin like this. */
int pmi_message_length(enum pmi_dialect dialect, const char *data, size_t length, struct err *err);

/* Reads one message of that length, with its frame. HVD_ERR_PROTOCOL. */
int pmi_message_read(struct pmi_message *message, enum pmi_dialect dialect, const char *data,
                     size_t length, struct err *err);

/* The value of a field, or NULL. */
const char *pmi_message_get(const struct pmi_message *message, const char *name);

/* The value as a number from `low` to `high`; HVD_ERR_PROTOCOL, with the name of the field, when it
 * is missing or something else. */
int pmi_message_number(const struct pmi_message *message, const char *name, int low, int high,
                       int *number, struct err *err);

/* Checks that this is the answer `command`, and that its "rc", if it has one, is 0. */
int pmi_message_expect(const struct pmi_message *message, const char *command, struct err *err);

/* A message that is written. */
struct pmi_writer {
    enum pmi_dialect dialect;
    char text[PMI_MESSAGE_MAX + 1];
    size_t length;
    bool failed; /* it did not fit, or a value has bytes that the dialect cannot carry */
};

void pmi_writer_begin(struct pmi_writer *writer, enum pmi_dialect dialect, const char *command);
void pmi_writer_put(struct pmi_writer *writer, const char *name, const char *value);

/* Completes the message, which is then `text` and `length`. */
void pmi_writer_end(struct pmi_writer *writer);

#endif
