/* SPDX-License-Identifier: Apache-2.0 */
/* One host: user, then name or address, then slots; see host_spec.h for the grammar.
 *
 * Fails at the first byte that does not fit and quotes the whole entry: a bad user name, a missing
 * name, a bad character, a label or name that is too long, digits that are no IPv4 address, an IPv6
 * address without brackets, a bad slot count. */
#include "launcher/hosts/host_spec.h"

#include "launcher/base/number.h"
#include "launcher/hosts/host_list.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 253, LABEL_MAX_BYTES = 63, USER_MAX_BYTES = 64, ZONE_MAX_BYTES = 15 };

bool host_fault(struct host_fault *fault, const char *at, struct slice token, const char *problem,
                const char *hint)
{
    fault->at = at;
    fault->token = token;
    fault->hint = hint;
    snprintf(fault->problem, sizeof fault->problem, "%s", problem);
    return false;
}

static bool host_spec_is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

static bool is_name_byte(char byte)
{
    return host_spec_is_word(byte) || byte == '.' || byte == '-';
}

/* The first byte that may not stand in a name, or NULL. */
static const char *invalid_byte(struct slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!is_name_byte(text.at[i]))
            return text.at + i;
    return NULL;
}

static bool bad_byte(struct host_fault *fault, const char *at, struct slice token)
{
    host_fault(fault, at, token, "bad character in host name", NULL);
    if (*at < 0x20 || *at >= 0x7f)
        snprintf(fault->problem, sizeof fault->problem, "bad byte 0x%02x in host name",
                 (unsigned char)*at);
    return false;
}

/* Removes "user@" from the front of `rest`. The last "@" counts, so that a@b@c has a bad user. */
static bool take_user(struct host_spec *spec, struct slice *rest, struct slice token,
                      struct host_fault *fault)
{
    const char *at = memrchr(rest->at, '@', rest->length);
    if (!at)
        return true;
    spec->user = (struct slice){ rest->at, (size_t)(at - rest->at) };
    rest->length -= spec->user.length + 1;
    rest->at = at + 1;
    if (spec->user.length == 0 || spec->user.length > USER_MAX_BYTES || *spec->user.at == '-' ||
        invalid_byte(spec->user))
        return host_fault(fault, spec->user.at, token, "bad user name", NULL);
    return true;
}

static bool check_label(struct slice label, struct slice token, struct host_fault *fault)
{
    if (label.length == 0)
        return host_fault(fault, label.at, token, "empty label in host name", NULL);
    if (label.length > LABEL_MAX_BYTES)
        return host_fault(fault, label.at, token, "label of host name is too long",
                          "at most 63 bytes");
    if (label.at[0] == '-' || label.at[label.length - 1] == '-')
        return host_fault(fault, label.at, token, "label of host name begins or ends with '-'",
                          NULL);
    return true;
}

/* Is `name` valid for inet_pton()? */
static bool is_address(int family, struct slice name)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    if (name.length >= sizeof text || memchr(name.at, '\0', name.length))
        return false;
    memcpy(text, name.at, name.length);
    text[name.length] = '\0';
    return inet_pton(family, text, bytes) == 1;
}

static bool host_spec_all_digits(struct slice text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return true;
}

/* A resolver takes a name whose last label is a number for an address, often for another address
 * than the user means: "4" is 0.0.0.4. */
static bool check_last_label(struct slice label, struct slice name, struct slice token,
                             struct host_fault *fault)
{
    if (!host_spec_all_digits(label) || is_address(AF_INET, name))
        return true;
    return host_fault(fault, name.at, token, "neither a host name nor an IPv4 address", NULL);
}

static bool check_labels(struct slice name, struct slice token, struct host_fault *fault)
{
    struct slice label = { name.at, 0 };
    for (size_t i = 0; i <= name.length; i++) {
        label.length = (size_t)(name.at + i - label.at);
        if (i < name.length && name.at[i] != '.')
            continue;
        if (!check_label(label, token, fault))
            return false;
        if (i == name.length)
            return check_last_label(label, name, token, fault);
        label.at = name.at + i + 1;
    }
    return true;
}

static bool check_name(struct slice name, struct slice token, struct host_fault *fault)
{
    if (name.length == 0)
        return host_fault(fault, name.at, token, "missing host name", NULL);
    if (*name.at == '-')
        return host_fault(fault, name.at, token, "host name may not start with '-'", NULL);
    const char *invalid = invalid_byte(name);
    if (invalid)
        return bad_byte(fault, invalid, token);
    if (name.length > NAME_MAX_BYTES)
        return host_fault(fault, name.at, token, "host name is too long", "at most 253 bytes");
    return check_labels(name, token, fault);
}

/* "fe80::1" and "::1:2" are meant as IPv6, "a:1:2" is not. */
static bool is_bare_ipv6(struct slice text)
{
    const char *colon = memrchr(text.at, ':', text.length);
    return is_address(AF_INET6, text) ||
           (colon && is_address(AF_INET6, (struct slice){ text.at, (size_t)(colon - text.at) }));
}

/* "eth0" of "fe80::1%eth0". */
static bool is_zone(struct slice zone)
{
    return zone.length > 0 && zone.length <= ZONE_MAX_BYTES && *zone.at != '-' &&
           !invalid_byte(zone);
}

static bool check_ipv6(struct slice name, struct slice token, struct host_fault *fault)
{
    struct slice address = name;
    const char *percent = memchr(name.at, '%', name.length);
    if (percent) {
        address.length = (size_t)(percent - name.at);
        if (!is_zone((struct slice){ percent + 1, name.length - address.length - 1 }))
            return host_fault(fault, percent, token, "bad zone of an IPv6 address", NULL);
    }
    if (!is_address(AF_INET6, address))
        return host_fault(fault, name.at, token, "not an IPv6 address between the brackets", NULL);
    return true;
}

/* Removes "[ipv6]" from the front of `rest`. */
static bool take_ipv6(struct host_spec *spec, struct slice *rest, struct slice token,
                      struct host_fault *fault)
{
    const char *close = memchr(rest->at, ']', rest->length);
    if (!close)
        return host_fault(fault, rest->at, token, "'[' without ']'", NULL);
    spec->name = (struct slice){ rest->at + 1, (size_t)(close - rest->at) - 1 };
    rest->length -= spec->name.length + 2;
    rest->at = close + 1;
    if (rest->length > 0 && *rest->at != ':')
        return bad_byte(fault, rest->at, token);
    return check_ipv6(spec->name, token, fault);
}

/* Removes a name or IPv4 address from the front of `rest`. */
static bool take_name(struct host_spec *spec, struct slice *rest, struct slice token,
                      struct host_fault *fault)
{
    if (is_bare_ipv6(*rest))
        return host_fault(fault, rest->at, token, "IPv6 address needs brackets",
                          "[ADDRESS] or [ADDRESS]:SLOTS");
    const char *colon = memchr(rest->at, ':', rest->length);
    spec->name = (struct slice){ rest->at, colon ? (size_t)(colon - rest->at) : rest->length };
    rest->at += spec->name.length;
    rest->length -= spec->name.length;
    return check_name(spec->name, token, fault);
}

bool host_slots_parse(int *slots, struct slice text)
{
    return number_parse(slots, text.at, text.length, 1, HOST_SLOTS_MAX) == NUMBER_OK;
}

bool host_spec_parse(struct host_spec *spec, struct slice text, struct host_fault *fault)
{
    *spec = (struct host_spec){ .slots = 0 };
    struct slice rest = text;
    if (!take_user(spec, &rest, text, fault))
        return false;
    bool bracket = rest.length > 0 && *rest.at == '[';
    if (!(bracket ? take_ipv6 : take_name)(spec, &rest, text, fault))
        return false;
    if (rest.length == 0)
        return true;
    struct slice slots = { rest.at + 1, rest.length - 1 };
    if (!host_slots_parse(&spec->slots, slots))
        return host_fault(fault, slots.at, text, "bad slot count", "1 to 65536 after the colon");
    return true;
}
