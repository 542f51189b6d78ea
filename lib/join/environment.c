/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the environment; see environment.h. */
#include "lib/join/environment.h"

#include "lib/base/env_names.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A number that may be there. */
struct number {
    const char *name;
    int low, high;
    size_t offset; /* of the int in struct environment */
};

static const struct number numbers[] = {
    { ENV_RANK, 0, WORLD_SIZE_MAX - 1, offsetof(struct environment, place.rank) },
    { ENV_SIZE, 1, WORLD_SIZE_MAX, offsetof(struct environment, place.size) },
    { ENV_LOCAL_RANK, 0, WORLD_SIZE_MAX - 1, offsetof(struct environment, place.local_rank) },
    { ENV_LOCAL_SIZE, 1, WORLD_SIZE_MAX, offsetof(struct environment, place.local_size) },
    { ENV_CROSS_RANK, 0, WORLD_SIZE_MAX - 1, offsetof(struct environment, place.cross_rank) },
    { ENV_CROSS_SIZE, 1, WORLD_SIZE_MAX, offsetof(struct environment, place.cross_size) },
    { ENV_RENDEZVOUS_PORT, 1, 65535, offsetof(struct environment, rendezvous_port) },
};

/* The first needs the second. */
static const struct {
    const char *given, *needed;
} companions[] = {
    { ENV_RANK, ENV_SIZE },
    { ENV_SIZE, ENV_RANK },
    { ENV_LOCAL_RANK, ENV_LOCAL_SIZE },
    { ENV_LOCAL_SIZE, ENV_LOCAL_RANK },
    { ENV_CROSS_RANK, ENV_CROSS_SIZE },
    { ENV_CROSS_SIZE, ENV_CROSS_RANK },
    { ENV_RENDEZVOUS_ADDR, ENV_RENDEZVOUS_PORT },
    { ENV_RENDEZVOUS_PORT, ENV_RENDEZVOUS_ADDR },
    { ENV_RENDEZVOUS_ADDR, ENV_JOB_KEY },
    { ENV_RENDEZVOUS_ADDR, ENV_RANK },
};

/* The first must be smaller than the second, or at most equal to it. */
static const struct {
    const char *smaller, *larger;
    size_t smaller_offset, larger_offset;
    bool may_be_equal;
} limits[] = {
    { ENV_RANK, ENV_SIZE, offsetof(struct place, rank), offsetof(struct place, size), false },
    { ENV_LOCAL_RANK, ENV_LOCAL_SIZE, offsetof(struct place, local_rank),
      offsetof(struct place, local_size), false },
    { ENV_CROSS_RANK, ENV_CROSS_SIZE, offsetof(struct place, cross_rank),
      offsetof(struct place, cross_size), false },
    { ENV_LOCAL_SIZE, ENV_SIZE, offsetof(struct place, local_size), offsetof(struct place, size),
      true },
    { ENV_CROSS_SIZE, ENV_SIZE, offsetof(struct place, cross_size), offsetof(struct place, size),
      true },
};

/* At most 9 digits, so that it cannot overflow; -1 if there is anything else. */
static int parse_digits(const char *text)
{
    int value = 0;
    size_t length = strlen(text);
    if (length < 1 || length > 9)
        return -1;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return *text ? -1 : value;
}

static int read_number(int *value, const struct number *number, environment_get_fn *get,
                       struct err *err)
{
    const char *text = get(number->name);
    if (!text)
        return HVD_OK;
    int parsed = parse_digits(text);
    char quoted[QUOTED_SIZE];
    if (parsed < number->low || parsed > number->high)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not a number from %d to %d",
                    number->name, quote_token(quoted, sizeof quoted, text, strlen(text)),
                    number->low, number->high);
    *value = parsed;
    return HVD_OK;
}

static int read_numbers(struct environment *environment, environment_get_fn *get, struct err *err)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int *value = (int *)(void *)((char *)environment + numbers[i].offset);
        int rc = read_number(value, &numbers[i], get, err);
        if (rc < 0)
            return rc;
    }
    return HVD_OK;
}

static int check_companions(environment_get_fn *get, struct err *err)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        if (get(companions[i].given) && !get(companions[i].needed))
            return fail(err, HVD_ERR_ENVIRONMENT, "%s is set but %s is not", companions[i].given,
                        companions[i].needed);
    return HVD_OK;
}

static int check_limits(const struct place *place, struct err *err)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int smaller, larger;
        memcpy(&smaller, (const char *)place + limits[i].smaller_offset, sizeof smaller);
        memcpy(&larger, (const char *)place + limits[i].larger_offset, sizeof larger);
        if (smaller > larger || (smaller == larger && !limits[i].may_be_equal))
            return fail(err, HVD_ERR_ENVIRONMENT, "%s is %d but %s is %d", limits[i].smaller,
                        smaller, limits[i].larger, larger);
    }
    return HVD_OK;
}

/* A name that may stand in an address or a message: 1 to 255 printable bytes without blanks. */
static int read_name(char out[JOIN_HOST_MAX], const char *name, const char *text, struct err *err)
{
    size_t length = strlen(text);
    bool good = length > 0 && length < JOIN_HOST_MAX;
    for (size_t i = 0; i < length; i++)
        good = good && text[i] > ' ' && text[i] < 0x7f;
    char quoted[QUOTED_SIZE];
    if (!good)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not the name of a host", name,
                    quote_token(quoted, sizeof quoted, text, length));
    memcpy(out, text, length + 1);
    return HVD_OK;
}

static int read_host(struct environment *environment, environment_get_fn *get, struct err *err)
{
    const char *text = get(ENV_HOSTNAME);
    if (text)
        return read_name(environment->host, ENV_HOSTNAME, text, err);
    if (gethostname(environment->host, sizeof environment->host - 1) < 0)
        snprintf(environment->host, sizeof environment->host, "localhost");
    return HVD_OK;
}

static int read_interfaces(struct environment *environment, environment_get_fn *get,
                           struct err *err)
{
    const char *text = get(ENV_NETWORK_INTERFACES);
    struct err reason;
    if (!text)
        return HVD_OK;
    if (strlen(text) >= sizeof environment->interfaces)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s: longer than %zu characters",
                    ENV_NETWORK_INTERFACES, sizeof environment->interfaces - 1);
    if (interfaces_check_choice(text, &reason) < 0)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s: %s", ENV_NETWORK_INTERFACES, reason.text);
    memcpy(environment->interfaces, text, strlen(text) + 1);
    return HVD_OK;
}

/* "A-B" */
static bool parse_port_range(struct port_range *range, const char *text)
{
    char first[8];
    size_t length = strcspn(text, "-");
    if (text[length] != '-' || length >= sizeof first)
        return false;
    snprintf(first, sizeof first, "%.*s", (int)length, text);
    range->first = parse_digits(first);
    range->last = parse_digits(text + length + 1);
    return range->first >= 1 && range->first <= range->last && range->last <= 65535;
}

static int read_port_range(struct environment *environment, environment_get_fn *get,
                           struct err *err)
{
    const char *text = get(ENV_PORT_RANGE);
    char quoted[QUOTED_SIZE];
    if (!text || parse_port_range(&environment->ports, text))
        return HVD_OK;
    return fail(err, HVD_ERR_ENVIRONMENT,
                "%s: '%s' is not a range of ports (A-B with 1 <= A <= B <= 65535)", ENV_PORT_RANGE,
                quote_token(quoted, sizeof quoted, text, strlen(text)));
}

static int read_rendezvous(struct environment *environment, environment_get_fn *get,
                           struct err *err)
{
    const char *address = get(ENV_RENDEZVOUS_ADDR);
    if (!address && environment->place.size > 1)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s is %d but %s is not set", ENV_SIZE,
                    environment->place.size, ENV_RENDEZVOUS_ADDR);
    if (!address)
        return HVD_OK;
    environment->has_rendezvous = true;
    int rc = read_name(environment->rendezvous_host, ENV_RENDEZVOUS_ADDR, address, err);
    return rc < 0 ? rc : job_key_parse(&environment->key, get(ENV_JOB_KEY), err);
}

int environment_read(struct environment *environment, environment_get_fn *get, struct err *err)
{
    int rc;
    *environment = (struct environment){
        .place = { .size = 1, .local_size = 1, .cross_size = 1 },
    };
    if ((rc = read_numbers(environment, get, err)) < 0)
        return rc;
    if ((rc = check_companions(get, err)) < 0)
        return rc;
    if ((rc = check_limits(&environment->place, err)) < 0)
        return rc;
    if ((rc = read_host(environment, get, err)) < 0)
        return rc;
    if ((rc = read_interfaces(environment, get, err)) < 0)
        return rc;
    if ((rc = read_port_range(environment, get, err)) < 0)
        return rc;
    return read_rendezvous(environment, get, err);
}
