/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the environment; see environment.h. */
#include "lib/join/environment.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An optional number. */
struct number {
    const char *name;
    int low, high;
    size_t offset; /* of the int in struct environment */
};

static const struct number numbers[] = {
    { ENV_RANK, 0, WORLD_SIZE_MAX - 1, offsetof(struct environment, rank_info.rank) },
    { ENV_SIZE, 1, WORLD_SIZE_MAX, offsetof(struct environment, rank_info.size) },
    { ENV_LOCAL_RANK, 0, WORLD_SIZE_MAX - 1, offsetof(struct environment, rank_info.local_rank) },
    { ENV_LOCAL_SIZE, 1, WORLD_SIZE_MAX, offsetof(struct environment, rank_info.local_size) },
    { ENV_CROSS_RANK, 0, WORLD_SIZE_MAX - 1, offsetof(struct environment, rank_info.cross_rank) },
    { ENV_CROSS_SIZE, 1, WORLD_SIZE_MAX, offsetof(struct environment, rank_info.cross_size) },
    { ENV_RENDEZVOUS_PORT, 1, 65535, offsetof(struct environment, rendezvous_port) },
    { ENV_ELASTIC, 0, 1, offsetof(struct environment, elastic) },
    { ENV_WORKER, 0, WORKER_NUMBER_MAX, offsetof(struct environment, worker) },
    { ENV_KEY_OF, 0, WORKER_NUMBER_MAX, offsetof(struct environment, key_of) },
};

static const struct number start_timeout = { ENV_START_TIMEOUT, 1, JOIN_TIMEOUT_MAX_S,
                                             offsetof(struct environment, join_timeout_s) };

/* These variables must not be set together with HVD_RENDEZVOUS. A worker that takes its rank info
 * from another source, for example a template or another launcher, would not be where the others
 * expect it. */
static const struct {
    const char *name, *why;
} contradictions[] = {
    { ENV_RENDEZVOUS_ADDR, "which says likewise where the ranks meet" },
    { ENV_RENDEZVOUS_PORT, "which says likewise where the ranks meet" },
    { ENV_LOCAL_RANK, "but places on a host are given by the rendezvous" },
    { ENV_LOCAL_SIZE, "but places on a host are given by the rendezvous" },
    { ENV_CROSS_RANK, "but places among hosts are given by the rendezvous" },
    { ENV_CROSS_SIZE, "but places among hosts are given by the rendezvous" },
};

/* Pairs of variables: the first needs the second, unless the third is set. */
static const struct {
    const char *given, *needed, *unless;
} companions[] = {
    { ENV_RENDEZVOUS, ENV_JOB_ID, NULL },
    { ENV_RENDEZVOUS, ENV_JOB_KEY, NULL },
    { ENV_RENDEZVOUS, ENV_SIZE, ENV_ELASTIC },
    { ENV_RANK, ENV_SIZE, NULL },
    { ENV_SIZE, ENV_RANK, ENV_RENDEZVOUS },
    { ENV_LOCAL_RANK, ENV_LOCAL_SIZE, NULL },
    { ENV_LOCAL_SIZE, ENV_LOCAL_RANK, NULL },
    { ENV_CROSS_RANK, ENV_CROSS_SIZE, NULL },
    { ENV_CROSS_SIZE, ENV_CROSS_RANK, NULL },
    { ENV_RENDEZVOUS_ADDR, ENV_RENDEZVOUS_PORT, NULL },
    { ENV_RENDEZVOUS_PORT, ENV_RENDEZVOUS_ADDR, NULL },
    { ENV_RENDEZVOUS_ADDR, ENV_JOB_KEY, NULL },
    { ENV_RENDEZVOUS_ADDR, ENV_RANK, ENV_ELASTIC },
};

/* The first must be smaller than the second, or at most equal to it. */
static const struct {
    const char *smaller, *larger;
    size_t smaller_offset, larger_offset;
    bool may_be_equal;
} limits[] = {
    { ENV_RANK, ENV_SIZE, offsetof(struct rank_info, rank), offsetof(struct rank_info, size),
      false },
    { ENV_LOCAL_RANK, ENV_LOCAL_SIZE, offsetof(struct rank_info, local_rank),
      offsetof(struct rank_info, local_size), false },
    { ENV_CROSS_RANK, ENV_CROSS_SIZE, offsetof(struct rank_info, cross_rank),
      offsetof(struct rank_info, cross_size), false },
    { ENV_LOCAL_SIZE, ENV_SIZE, offsetof(struct rank_info, local_size),
      offsetof(struct rank_info, size), true },
    { ENV_CROSS_SIZE, ENV_SIZE, offsetof(struct rank_info, cross_size),
      offsetof(struct rank_info, size), true },
};

/* At most 9 digits, so that the number cannot overflow; -1 for any other text. */
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

static int environment_read_number(struct environment *environment, const struct number *number,
                                   environment_get_fn *get, struct err *err)
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
    *(int *)(void *)((char *)environment + number->offset) = parsed;
    return HVD_OK;
}

static int read_numbers(struct environment *environment, environment_get_fn *get, struct err *err)
{
    int rc = HVD_OK;
    for (size_t i = 0; rc == HVD_OK && i < sizeof numbers / sizeof *numbers; i++)
        rc = environment_read_number(environment, &numbers[i], get, err);
    return rc;
}

static bool is_set(environment_get_fn *get, const char *name)
{
    return name && get(name);
}

static int check_contradictions(environment_get_fn *get, struct err *err)
{
    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++)
        if (is_set(get, ENV_RENDEZVOUS) && is_set(get, contradictions[i].name))
            return fail(err, HVD_ERR_ENVIRONMENT, "%s is set and so is %s, %s", ENV_RENDEZVOUS,
                        contradictions[i].name, contradictions[i].why);
    return HVD_OK;
}

static int check_companions(environment_get_fn *get, struct err *err)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        if (is_set(get, companions[i].given) && !is_set(get, companions[i].needed) &&
            !is_set(get, companions[i].unless))
            return fail(err, HVD_ERR_ENVIRONMENT, "%s is set but %s is not", companions[i].given,
                        companions[i].needed);
    return HVD_OK;
}

static int check_limits(const struct rank_info *rank_info, struct err *err)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int smaller, larger;
        memcpy(&smaller, (const char *)rank_info + limits[i].smaller_offset, sizeof smaller);
        memcpy(&larger, (const char *)rank_info + limits[i].larger_offset, sizeof larger);
        if (smaller > larger || (smaller == larger && !limits[i].may_be_equal))
            return fail(err, HVD_ERR_ENVIRONMENT, "%s is %d but %s is %d", limits[i].smaller,
                        smaller, limits[i].larger, larger);
    }
    return HVD_OK;
}

/* Characters that are allowed in an address or a message: 1 to 255 printable bytes without
 * blanks. */
static bool environment_is_name(const char *text, size_t length)
{
    bool good = length > 0 && length < JOIN_HOST_MAX;
    for (size_t i = 0; i < length; i++)
        good = good && text[i] > ' ' && text[i] < 0x7f;
    return good;
}

static int read_name(char out[JOIN_HOST_MAX], const char *name, const char *text, struct err *err)
{
    size_t length = strlen(text);
    char quoted[QUOTED_SIZE];
    if (!environment_is_name(text, length))
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

static int read_job(struct environment *environment, environment_get_fn *get, struct err *err)
{
    const char *text = get(ENV_JOB_ID);
    char quoted[QUOTED_SIZE];
    if (!text)
        return HVD_OK;
    size_t length = strlen(text);
    if (!job_id_valid(text, length))
        return fail(err, HVD_ERR_ENVIRONMENT,
                    "%s: '%s' is not the name of a job (" JOB_ID_EXPECTED ")", ENV_JOB_ID,
                    quote_token(quoted, sizeof quoted, text, length));
    memcpy(environment->job, text, length + 1);
    return HVD_OK;
}

/* A numeric IPv6 address, which may name an interface: "fe80::1%eth0". */
static bool is_ipv6(const char *text)
{
    struct in6_addr address;
    char numeric[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "%");
    if (length >= sizeof numeric || (text[length] && !text[length + 1]))
        return false;
    memcpy(numeric, text, length);
    numeric[length] = '\0';
    return inet_pton(AF_INET6, numeric, &address) == 1;
}

/* "HOST:PORT" or "[ADDRESS]:PORT" */
static bool parse_service(struct environment *environment, const char *text)
{
    char *host = environment->rendezvous_host;
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (!environment_is_name(text, length))
        return false;
    bool bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';
    memcpy(host, bracketed ? text + 1 : text, bracketed ? length - 2 : length);
    environment->rendezvous_port = parse_digits(colon + 1);
    return environment->rendezvous_port >= 1 && environment->rendezvous_port <= 65535 &&
           (bracketed ? is_ipv6(host) : !strpbrk(host, ":[]/@"));
}

static int read_service(struct environment *environment, environment_get_fn *get, struct err *err)
{
    environment->is_service = true;
    if (!is_set(get, ENV_RANK))
        environment->rank_info.rank = -1;
    const char *text = get(ENV_RENDEZVOUS);
    char quoted[QUOTED_SIZE];
    if (!parse_service(environment, text))
        return fail(err, HVD_ERR_ENVIRONMENT, "%s: '%s' is not HOST:PORT or [ADDRESS]:PORT",
                    ENV_RENDEZVOUS, quote_token(quoted, sizeof quoted, text, strlen(text)));
    return environment_read_number(environment, &start_timeout, get, err);
}

static int read_address(struct environment *environment, environment_get_fn *get, struct err *err)
{
    return read_name(environment->rendezvous_host, ENV_RENDEZVOUS_ADDR, get(ENV_RENDEZVOUS_ADDR),
                     err);
}

static int read_rendezvous(struct environment *environment, environment_get_fn *get,
                           struct err *err)
{
    bool is_service = is_set(get, ENV_RENDEZVOUS);
    environment->has_rendezvous = is_service || is_set(get, ENV_RENDEZVOUS_ADDR);
    if (!environment->has_rendezvous && environment->rank_info.size > 1)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s is %d but %s is not set", ENV_SIZE,
                    environment->rank_info.size, ENV_RENDEZVOUS_ADDR);
    if (!environment->has_rendezvous)
        environment->elastic = 0;
    if (!environment->has_rendezvous)
        return HVD_OK;
    int rc = is_service ? read_service(environment, get, err) : read_address(environment, get, err);
    return rc < 0 ? rc : job_key_parse(&environment->key, get(ENV_JOB_KEY), err);
}

static bool is_by_process_manager(const struct environment *environment)
{
    return environment->bootstrap.kind >= BOOTSTRAP_PMIX;
}

int environment_read(struct environment *environment, environment_get_fn *get, struct err *err)
{
    int rc;
    *environment = (struct environment){
        .get = get,
        .rank_info = { .size = 1, .local_size = 1, .cross_size = 1 },
        .join_timeout_s = JOIN_TIMEOUT_S,
        .worker = -1,
        .key_of = -1,
    };
    if ((rc = bootstrap_choose(&environment->bootstrap, get, err)) < 0)
        return rc;
    if ((rc = check_contradictions(get, err)) < 0)
        return rc;
    if ((rc = read_numbers(environment, get, err)) < 0)
        return rc;
    if ((rc = check_companions(get, err)) < 0)
        return rc;
    if ((rc = check_limits(&environment->rank_info, err)) < 0)
        return rc;
    if ((rc = read_host(environment, get, err)) < 0)
        return rc;
    if ((rc = read_interfaces(environment, get, err)) < 0)
        return rc;
    if ((rc = read_port_range(environment, get, err)) < 0)
        return rc;
    if ((rc = transport_read(&environment->transport, get, err)) < 0)
        return rc;
    if ((rc = read_job(environment, get, err)) < 0)
        return rc;
    if ((rc = read_rendezvous(environment, get, err)) < 0)
        return rc;
    return is_by_process_manager(environment)
               ? environment_read_number(environment, &start_timeout, get, err)
               : HVD_OK;
}
