/* SPDX-License-Identifier: Apache-2.0 */
/* A choice among the interfaces of this machine; see interfaces.h.
 *
 *   read item after item, keep the interfaces that the item names
 * Fails on an item that is malformed or matches no interface, and names the item. */
#include "lib/base/interfaces.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An item: a name, or a network; a network whose bits all count is one address. */
struct item {
    char text[INET6_ADDRSTRLEN + 5]; /* an address, a slash and three digits are the longest */
    bool is_name;
    struct sockaddr_storage network;
    unsigned bits;
};

static int no_item(struct err *err, const char *text, size_t length)
{
    char quoted[QUOTED_SIZE];
    return fail(err, HVD_ERR_INVALID,
                "'%s' is not the name of a network interface, an address, or ADDRESS/BITS",
                quote_token(quoted, sizeof quoted, text, length));
}

static unsigned all_bits(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? 32 : 128;
}

static bool parse_address(struct sockaddr_storage *address, const char *text)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        memcpy(address, &in, sizeof in);
    else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
        memcpy(address, &in6, sizeof in6);
    else
        return false;
    return true;
}

const struct interface *interfaces_find(const struct interfaces *interfaces, const char *address)
{
    struct sockaddr_storage wanted;
    if (!parse_address(&wanted, address))
        return NULL;
    for (int i = 0; i < interfaces->count; i++)
        if (address_equal(&interfaces->at[i].address, &wanted))
            return &interfaces->at[i];
    return NULL;
}

static bool parse_bits(unsigned *bits, const char *text)
{
    size_t length = strlen(text);
    if (length < 1 || length > 3 || strspn(text, "0123456789") != length)
        return false;
    *bits = (unsigned)strtoul(text, NULL, 10);
    return true;
}

static bool parse_network(struct item *item, const char *slash)
{
    char address[INET6_ADDRSTRLEN];
    size_t length = slash ? (size_t)(slash - item->text) : strlen(item->text);
    if (length >= sizeof address)
        return false;
    memcpy(address, item->text, length);
    address[length] = '\0';
    if (!parse_address(&item->network, address))
        return false;
    item->bits = all_bits(&item->network);
    return !slash || (parse_bits(&item->bits, slash + 1) && item->bits <= all_bits(&item->network));
}

/* A name that the kernel accepts, except names that are hard to read. */
static bool interface_choice_is_name(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return false;
    return length > 0 && length < INTERFACE_NAME_SIZE && strcmp(text, ".") != 0 &&
           strcmp(text, "..") != 0;
}

static int parse_item(struct item *item, const char *text, size_t length, struct err *err)
{
    *item = (struct item){ .is_name = false };
    if (length >= sizeof item->text || memchr(text, '\0', length))
        return no_item(err, text, length);
    memcpy(item->text, text, length);
    const char *slash = strchr(item->text, '/');
    if (parse_network(item, slash))
        return HVD_OK;
    item->is_name = !slash && interface_choice_is_name(item->text);
    return item->is_name ? HVD_OK : no_item(err, text, length);
}

static bool matches(const struct item *item, const struct interface *interface)
{
    if (item->is_name)
        return strcmp(item->text, interface->name) == 0;
    return address_in_network(&interface->address, &item->network, item->bits);
}

static void interface_choice_put(struct interfaces *chosen, const struct interface *interface)
{
    for (int i = 0; i < chosen->count; i++)
        if (address_equal(&chosen->at[i].address, &interface->address))
            return;
    chosen->at[chosen->count++] = *interface;
}

void interface_address(const struct interface *interface, char *text, size_t size)
{
    const struct sockaddr_storage *address = &interface->address;
    const struct sockaddr_in *in = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
    const void *bytes =
        address->ss_family == AF_INET ? (const void *)&in->sin_addr : (const void *)&in6->sin6_addr;
    inet_ntop(address->ss_family, bytes, text, (socklen_t)size);
}

/* "eth0 192.0.2.1 2001:db8::1, lo 127.0.0.1" */
static void list_interfaces(char *text, size_t size, const struct interfaces *interfaces)
{
    size_t used = (size_t)snprintf(text, size, "%s", interfaces->count > 0 ? "" : "none");
    for (int i = 0; i < interfaces->count; i++) {
        const struct interface *interface = &interfaces->at[i];
        char address[INET6_ADDRSTRLEN], entry[INET6_ADDRSTRLEN + INTERFACE_NAME_SIZE + 4];
        interface_address(interface, address, sizeof address);
        bool again = i > 0 && strcmp(interface->name, interface[-1].name) == 0;
        snprintf(entry, sizeof entry, "%s%s %s", again || i == 0 ? "" : ", ",
                 again ? "" : interface->name, address);
        if (used + strlen(entry) + sizeof ", ..." > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s", entry);
    }
}

static int no_match(const struct interfaces *interfaces, const struct item *item, struct err *err)
{
    char have[300];
    list_interfaces(have, sizeof have, interfaces);
    return fail(err, HVD_ERR_INVALID, "no interface '%s' (have: %s)", item->text, have);
}

/* Calls `each` for each item; the first failure ends the loop. */
typedef int item_fn(void *context, const struct item *item, struct err *err);

static int each_item(const char *choice, item_fn *on_item, void *context, struct err *err)
{
    for (;; choice++) {
        struct item item;
        size_t length = strcspn(choice, ",");
        int rc = parse_item(&item, choice, length, err);
        if (rc == HVD_OK)
            rc = on_item(context, &item, err);
        choice += length;
        if (rc < 0 || !*choice)
            return rc;
    }
}

struct choosing {
    const struct interfaces *from;
    struct interfaces to;
};

static int choose_item(void *context, const struct item *item, struct err *err)
{
    struct choosing *choosing = context;
    bool found = false;
    for (int i = 0; i < choosing->from->count; i++)
        if (matches(item, &choosing->from->at[i])) {
            interface_choice_put(&choosing->to, &choosing->from->at[i]);
            found = true;
        }
    return found ? HVD_OK : no_match(choosing->from, item, err);
}

int interfaces_choose(struct interfaces *interfaces, const char *choice, struct err *err)
{
    struct choosing choosing = { .from = interfaces, .to.count = 0 };
    if (!*choice)
        return HVD_OK;
    int rc = each_item(choice, choose_item, &choosing, err);
    if (rc == HVD_OK)
        *interfaces = choosing.to;
    return rc;
}

static int accept_item(void *context, const struct item *item, struct err *err)
{
    (void)context;
    (void)item;
    (void)err;
    return HVD_OK;
}

int interfaces_check_choice(const char *choice, struct err *err)
{
    return each_item(choice, accept_item, NULL, err);
}

/* True for "lo", or a network that contains only loopback addresses. */
static int find_other(void *context, const struct item *item, struct err *err)
{
    bool *found = context;
    unsigned least = item->network.ss_family == AF_INET ? 8 : 128;
    (void)err;
    *found |= item->is_name ? strcmp(item->text, "lo") != 0
                            : !address_is_loopback(&item->network) || item->bits < least;
    return HVD_OK;
}

bool interfaces_choice_is_loopback(const char *choice)
{
    bool found = false;
    return each_item(choice, find_other, &found, NULL) == HVD_OK && !found;
}
