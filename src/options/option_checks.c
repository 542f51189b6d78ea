/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options, one by one; see option_checks.h. Each check fails at the first mistake in the
 * value, quotes the value and names the expected form. */
#include "src/options/option_checks.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/number.h"
#include "lib/base/env_names.h"

#include <stdbool.h>
#include <string.h>

enum { PATH_LIMIT = 4096, MILLISECONDS_MAX = 60000 };

/* "SOURCE: PROBLEM: 'value' (HINT)" */
static int option_checks_refuse(const char *value, size_t length, const char *source,
                                const char *problem, const char *hint, struct err *err)
{
    struct shown shown;
    return bad_input(err, source, "%s: '%s' (%s)", problem, show_token(&shown, value, length),
                     hint);
}

int check_remote_shell(const char *value, const char *source, struct err *err)
{
    if (strstr(value, "%h"))
        return HVD_OK;
    return option_checks_refuse(value, strlen(value), source, "no %h for the host",
                                "expected a command such as 'ssh %h'", err);
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Digits, perhaps with a point and more digits. */
static bool is_decimal(const char *text)
{
    size_t whole = count_digits(text);
    if (whole == 0 || text[whole] != '.')
        return whole > 0 && text[whole] == '\0';
    size_t fraction = count_digits(text + whole + 1);
    return fraction > 0 && text[whole + 1 + fraction] == '\0';
}

int check_milliseconds(const char *value, const char *source, struct err *err)
{
    static const char hint[] = "expected 0 to 60000, such as 0.5";
    size_t whole = count_digits(value), length = strlen(value);
    int number;
    if (*value == '-' && is_decimal(value + 1))
        return option_checks_refuse(value, length, source, "out of range", hint, err);
    if (!is_decimal(value))
        return option_checks_refuse(value, length, source, "not a number of milliseconds", hint,
                                    err);
    if (number_parse(&number, value, whole, 0, MILLISECONDS_MAX) != NUMBER_OK ||
        (number == MILLISECONDS_MAX && strspn(value + whole, ".0") != length - whole))
        return option_checks_refuse(value, length, source, "out of range", hint, err);
    return HVD_OK;
}

int check_share(const char *value, const char *source, struct err *err)
{
    static const char hint[] = "expected 0 to 1, such as 0.8";
    size_t whole = count_digits(value), length = strlen(value);
    int number;
    if (*value == '-' && is_decimal(value + 1))
        return option_checks_refuse(value, length, source, "out of range", hint, err);
    if (!is_decimal(value))
        return option_checks_refuse(value, length, source, "not a number", hint, err);
    if (number_parse(&number, value, whole, 0, 1) != NUMBER_OK ||
        (number == 1 && strspn(value + whole, ".0") != length - whole))
        return option_checks_refuse(value, length, source, "out of range", hint, err);
    return HVD_OK;
}

int check_cores(const char *value, const char *source, struct err *err)
{
    enum { CORE_MAX = 65535 };
    const char *at = value;
    for (;;) {
        size_t length = strcspn(at, ",");
        int core;
        if (number_parse(&core, at, length, 0, CORE_MAX) != NUMBER_OK)
            return option_checks_refuse(value, strlen(value), source, "not a list of cores",
                                        "expected numbers from 0 to 65535, such as 0,1", err);
        if (!at[length])
            return HVD_OK;
        at += length + 1;
    }
}

int check_path(const char *value, const char *source, struct err *err)
{
    size_t length = strlen(value);
    if (length < PATH_LIMIT)
        return HVD_OK;
    return option_checks_refuse(value, length, source, "path is too long",
                                "expected less than 4096 bytes", err);
}

int check_input_file(const char *value, const char *source, struct err *err)
{
    if (strcmp(value, "-") != 0)
        return HVD_OK;
    return option_checks_refuse(value, 1, source, "stdin is for rank 0",
                                "expected a file; ./- for one of that name", err);
}

/* Variables that only hvdrun sets for a rank. */
static const char *const ours[] = {
    ENV_HOSTNAME,        ENV_RANK,       ENV_SIZE,       ENV_LOCAL_RANK,
    ENV_LOCAL_SIZE,      ENV_CROSS_RANK, ENV_CROSS_SIZE, ENV_RENDEZVOUS_ADDR,
    ENV_RENDEZVOUS_PORT, ENV_RENDEZVOUS, ENV_JOB_ID,     ENV_JOB_KEY,
    ENV_KEY_OF,
};

static bool is_ours(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strlen(ours[i]) == length && memcmp(ours[i], name, length) == 0)
            return true;
    return false;
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool option_checks_is_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] >= 0x7f || name[i] == ',')
            return false;
    return length > 0 && is_letter(*name);
}

int check_variable(const char *value, const char *source, struct err *err)
{
    size_t length = strcspn(value, "=");
    if (!option_checks_is_name(value, length))
        return option_checks_refuse(value, strlen(value), source, "bad name of a variable",
                                    "expected NAME or NAME=VALUE, one for each -x", err);
    if (is_ours(value, length))
        return option_checks_refuse(value, length, source, "cannot be set",
                                    "hvdrun tells it to each rank", err);
    return HVD_OK;
}

int check_port_range(const char *value, const char *source, struct err *err)
{
    int low, high;
    return port_range_parse(&low, &high, value, source, err);
}
