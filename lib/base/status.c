/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as one line of text; see status.h. */
#include "lib/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fail(struct err *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->errnum = 0;
    return err->code = code;
}

int fail_errno(struct err *err, int code, int errnum, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof err->text) {
        char reason[128];
        snprintf(err->text + length, sizeof err->text - (size_t)length, ": %s",
                 strerror_r(errnum, reason, sizeof reason));
    }
    err->errnum = errnum;
    return err->code = code;
}

int fail_context(struct err *err, const char *format, ...)
{
    if (!err)
        return HVD_ERR_SYSTEM; /* the caller passes its own code on */
    char inner[sizeof err->text];
    memcpy(inner, err->text, sizeof inner);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof err->text) {
        size_t room = sizeof err->text - (size_t)length;
        if (snprintf(err->text + length, room, ": %s", inner) >= (int)room)
            memcpy(err->text + sizeof err->text - 4, "...", 4);
    }
    return err->code;
}

const char *status_text(int status)
{
    static const char *const texts[] = {
        [-HVD_OK] = "success",
        [-HVD_ERR_INVALID] = "invalid argument",
        [-HVD_ERR_NOT_INITIALIZED] = "hvd_init has not been called",
        [-HVD_ERR_ENVIRONMENT] = "invalid environment",
        [-HVD_ERR_NOMEM] = "out of memory",
        [-HVD_ERR_SYSTEM] = "system call failed",
        [-HVD_ERR_PROTOCOL] = "protocol violation",
        [-HVD_ERR_AUTH] = "peer could not prove who it is",
        [-HVD_ERR_TIMEOUT] = "timed out",
        [-HVD_ERR_MISMATCH] = "ranks disagree",
        [-HVD_ERR_PEER_LOST] = "a rank was lost",
        [-HVD_ERR_PEER_LEFT] = "a rank has left",
        [-HVD_ERR_SHUT_DOWN] = "hvd_shutdown has been called",
        [-HVD_ERR_FORKED] = "forked from a process that called hvd_init",
        [-HVD_ERR_STALE] = "a handle of an earlier epoch",
        [-HVD_ERR_REMOVED] = "removed from the elastic job",
        [-HVD_HOSTS_UPDATED] = "the members of the job are to change",
        [-HVD_ERR_INTERRUPTED] = "the wait was interrupted",
    };
    if (status > 0 || status <= -(int)(sizeof texts / sizeof *texts))
        return "unknown status";
    return texts[-status];
}

char *quote_token(char *out, size_t size, const char *text, size_t length)
{
    size_t used = 0;
    size_t shown = length > 64 ? 64 : length;
    for (size_t i = 0; i < shown && used + 8 < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte < 0x7f)
            out[used++] = (char)byte;
        else
            used += (size_t)snprintf(out + used, size - used, "\\x%02x", byte);
    }
    snprintf(out + used, size - used, "%s", shown < length ? "..." : "");
    return out;
}
