/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the PMI wire protocols; see pmi_message.h. */
#include "lib/pmi/pmi_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int pmi1_length(const char *data, size_t length, struct err *err)
{
    const char *end = memchr(data, '\n', length);
    if (end && end - data < PMI_MESSAGE_MAX)
        return (int)(end - data) + 1;
    if (length < PMI_MESSAGE_MAX)
        return 0;
    return fail(err, HVD_ERR_PROTOCOL, "a message of more than %d bytes", PMI_MESSAGE_MAX);
}

/* "    42", or "42    ", as Slurm writes it. */
static int pmi2_body_length(const char *data)
{
    int length = 0, i = 0, digits = 0;
    while (i < PMI2_LENGTH_SIZE && data[i] == ' ')
        i++;
    for (; i < PMI2_LENGTH_SIZE && data[i] >= '0' && data[i] <= '9'; i++, digits++)
        length = 10 * length + (data[i] - '0');
    while (i < PMI2_LENGTH_SIZE && data[i] == ' ')
        i++;
    return i == PMI2_LENGTH_SIZE && digits > 0 ? length : -1;
}

static int pmi2_length(const char *data, size_t length, struct err *err)
{
    char quoted[QUOTED_SIZE];
    if (length < PMI2_LENGTH_SIZE)
        return 0;
    int body = pmi2_body_length(data);
    if (body < 0)
        return fail(err, HVD_ERR_PROTOCOL, "'%s' is not the length of a message",
                    quote_token(quoted, sizeof quoted, data, PMI2_LENGTH_SIZE));
    if (body > PMI_MESSAGE_MAX - PMI2_LENGTH_SIZE)
        return fail(err, HVD_ERR_PROTOCOL, "a message of %d bytes", body);
    return length < (size_t)body + PMI2_LENGTH_SIZE ? 0 : body + PMI2_LENGTH_SIZE;
}

int pmi_message_length(enum pmi_dialect dialect, const char *data, size_t length, struct err *err)
{
    return dialect == PMI1 ? pmi1_length(data, length, err) : pmi2_length(data, length, err);
}

static int pmi_message_add(struct pmi_message *message, char *field, struct err *err)
{
    char quoted[QUOTED_SIZE];
    char *equals = strchr(field, '=');
    if (!equals || equals == field)
        return fail(err, HVD_ERR_PROTOCOL, "'%s' is not a field of a message",
                    quote_token(quoted, sizeof quoted, field, strlen(field)));
    if (message->nfields == PMI_FIELDS_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a message of more than %d fields", PMI_FIELDS_MAX);
    *equals = '\0';
    message->fields[message->nfields].name = field;
    message->fields[message->nfields++].value = equals + 1;
    return HVD_OK;
}

/* Cuts the text at blanks. The free text of "msg" has blanks, and words of it that are no fields:
 * nobody needs them. */
static int pmi1_split(struct pmi_message *message, struct err *err)
{
    int rc = HVD_OK;
    char *at = message->text, *rest = NULL;
    for (at = strtok_r(at, " ", &rest); at && rc == HVD_OK; at = strtok_r(NULL, " ", &rest)) {
        bool in_msg =
            message->nfields > 0 && strcmp(message->fields[message->nfields - 1].name, "msg") == 0;
        if (strchr(at, '=') || !in_msg)
            rc = pmi_message_add(message, at, err);
    }
    return rc;
}

/* Cuts the text at each ';' that stands alone, and makes one of two. */
static int pmi2_split(struct pmi_message *message, struct err *err)
{
    int rc = HVD_OK;
    for (char *at = message->text; *at && rc == HVD_OK;) {
        char *field = at, *out = at;
        while (*at && (*at != ';' || at[1] == ';')) {
            at += *at == ';';
            *out++ = *at++;
        }
        if (!*at)
            return fail(err, HVD_ERR_PROTOCOL, "a field without an end");
        at++;
        *out = '\0';
        rc = pmi_message_add(message, field, err);
    }
    return rc;
}

int pmi_message_read(struct pmi_message *message, enum pmi_dialect dialect, const char *data,
                     size_t length, struct err *err)
{
    size_t front = dialect == PMI2 ? PMI2_LENGTH_SIZE : 0, back = dialect == PMI1 ? 1 : 0;
    message->nfields = 0;
    message->text[0] = '\0';
    if (length < front + back || length > PMI_MESSAGE_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "a message of %zu bytes", length);
    memcpy(message->text, data + front, length - front - back);
    message->text[length - front - back] = '\0';
    if (strlen(message->text) != length - front - back)
        return fail(err, HVD_ERR_PROTOCOL, "a message with a NUL");
    return dialect == PMI1 ? pmi1_split(message, err) : pmi2_split(message, err);
}

const char *pmi_message_get(const struct pmi_message *message, const char *name)
{
    for (int i = 0; i < message->nfields; i++)
        if (strcmp(message->fields[i].name, name) == 0)
            return message->fields[i].value;
    return NULL;
}

int pmi_message_number(const struct pmi_message *message, const char *name, int low, int high,
                       int *number, struct err *err)
{
    char quoted[QUOTED_SIZE];
    const char *text = pmi_message_get(message, name);
    char *end;
    if (!text)
        return fail(err, HVD_ERR_PROTOCOL, "no '%s' in the answer", name);
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < low || value > high)
        return fail(err, HVD_ERR_PROTOCOL, "%s: '%s' is not a number from %d to %d", name,
                    quote_token(quoted, sizeof quoted, text, strlen(text)), low, high);
    *number = (int)value;
    return HVD_OK;
}

int pmi_message_expect(const struct pmi_message *message, const char *command, struct err *err)
{
    char quoted[QUOTED_SIZE];
    const char *cmd = pmi_message_get(message, "cmd"), *rc = pmi_message_get(message, "rc");
    if (!cmd || strcmp(cmd, command) != 0)
        return fail(err, HVD_ERR_PROTOCOL, "'%s' where %s was expected",
                    quote_token(quoted, sizeof quoted, cmd ? cmd : "", cmd ? strlen(cmd) : 0),
                    command);
    if (rc && strcmp(rc, "0") != 0)
        return fail(err, HVD_ERR_PROTOCOL, "%s: rc=%s", command,
                    quote_token(quoted, sizeof quoted, rc, strlen(rc)));
    return HVD_OK;
}

/* ---- writing ---- */

static void pmi_writer_add(struct pmi_writer *writer, const char *text, size_t length)
{
    if (length > PMI_MESSAGE_MAX - writer->length) {
        writer->failed = true;
        return;
    }
    memcpy(writer->text + writer->length, text, length);
    writer->length += length;
}

void pmi_writer_begin(struct pmi_writer *writer, enum pmi_dialect dialect, const char *command)
{
    *writer = (struct pmi_writer){ .dialect = dialect };
    if (dialect == PMI2)
        pmi_writer_add(writer, "      ", PMI2_LENGTH_SIZE);
    pmi_writer_put(writer, "cmd", command);
}

static bool pmi1_can_carry(const char *value)
{
    return !strpbrk(value, " \n");
}

void pmi_writer_put(struct pmi_writer *writer, const char *name, const char *value)
{
    if (writer->dialect == PMI1 && !pmi1_can_carry(value))
        writer->failed = true;
    if (writer->dialect == PMI1 && writer->length > 0)
        pmi_writer_add(writer, " ", 1);
    pmi_writer_add(writer, name, strlen(name));
    pmi_writer_add(writer, "=", 1);
    for (; *value; value++)
        pmi_writer_add(writer, writer->dialect == PMI2 && *value == ';' ? ";;" : value,
                       writer->dialect == PMI2 && *value == ';' ? 2 : 1);
    if (writer->dialect == PMI2)
        pmi_writer_add(writer, ";", 1);
}

void pmi_writer_end(struct pmi_writer *writer)
{
    char length[16];
    if (writer->dialect == PMI1)
        pmi_writer_add(writer, "\n", 1);
    if (writer->dialect == PMI2) {
        snprintf(length, sizeof length, "%6zu", writer->length - PMI2_LENGTH_SIZE);
        memcpy(writer->text, length, PMI2_LENGTH_SIZE);
    }
}
