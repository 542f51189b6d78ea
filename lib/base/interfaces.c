/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces of this machine; see interfaces.h.
 *
 *   read the list of the kernel, sort it by kind
 * Fails when the kernel gives no list. */
#include "lib/base/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* ---- addresses ---- */

/* The bytes of an address and their number; 0 for another family. */
struct bytes {
    const unsigned char *at;
    unsigned count;
};

static struct bytes interfaces_bytes_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        return (struct bytes){ (const unsigned char *)&in->sin_addr, 4 };
    }
    if (address->ss_family != AF_INET6)
        return (struct bytes){ NULL, 0 };
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    bool mapped = IN6_IS_ADDR_V4MAPPED(in6);
    return (struct bytes){ in6->s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16 };
}

bool address_in_network(const struct sockaddr_storage *address,
                        const struct sockaddr_storage *network, unsigned bits)
{
    struct bytes left = interfaces_bytes_of(address), right = interfaces_bytes_of(network);
    if (left.count == 0 || left.count != right.count || bits > 8 * left.count)
        return false;
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(left.at, right.at, whole) != 0)
        return false;
    return rest == 0 || (left.at[whole] ^ right.at[whole]) >> (8 - rest) == 0;
}

bool address_equal(const struct sockaddr_storage *left, const struct sockaddr_storage *right)
{
    return address_in_network(left, right, 8 * interfaces_bytes_of(left).count);
}

bool address_is_loopback(const struct sockaddr_storage *address)
{
    struct bytes bytes = interfaces_bytes_of(address);
    if (bytes.count == 4)
        return bytes.at[0] == 127;
    return bytes.count == 16 && memcmp(bytes.at, &in6addr_loopback, 16) == 0;
}

/* ---- the list of the kernel ---- */

static bool is_usable(const struct ifaddrs *told)
{
    if (!(told->ifa_flags & IFF_UP) || !told->ifa_addr)
        return false;
    if (told->ifa_addr->sa_family == AF_INET)
        return true;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)told->ifa_addr;
    return told->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

static bool is_made_by_software(const char *name)
{
    static const char *const prefixes[] = {
        "docker",  "br-",     "virbr",        "vnet",  "veth",  "cni",   "lxc",    "lxd",
        "flannel", "cali",    "cilium",       "kube-", "weave", "vxlan", "podman", "nerdctl",
        "vmnet",   "vboxnet", "nodelocaldns", "dummy", "ifb",   "tunl",  "xenbr",  "incusbr",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static enum interface_kind kind_of(const struct ifaddrs *told)
{
    if (told->ifa_flags & IFF_LOOPBACK)
        return INTERFACE_LOOPBACK;
    bool carries = told->ifa_flags & IFF_RUNNING;
    return carries && !is_made_by_software(told->ifa_name) ? INTERFACE_REAL : INTERFACE_VIRTUAL;
}

static void copy_address(struct sockaddr_storage *address, const struct sockaddr *from)
{
    *address = (struct sockaddr_storage){ 0 };
    memcpy(address, from,
           from->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
}

static unsigned prefix_bits(const struct ifaddrs *told)
{
    struct sockaddr_storage mask;
    unsigned bits = 0;
    if (!told->ifa_netmask)
        return told->ifa_addr->sa_family == AF_INET ? 32 : 128;
    copy_address(&mask, told->ifa_netmask);
    mask.ss_family = told->ifa_addr->sa_family;
    struct bytes bytes = interfaces_bytes_of(&mask);
    while (bits < 8 * bytes.count && bytes.at[bits / 8] & (0x80u >> bits % 8))
        bits++;
    return bits;
}

static bool is_there(const struct interfaces *interfaces, const struct sockaddr_storage *address)
{
    for (int i = 0; i < interfaces->count; i++)
        if (address_equal(&interfaces->at[i].address, address))
            return true;
    return false;
}

static void interfaces_add(struct interfaces *interfaces, const struct ifaddrs *told)
{
    struct interface new = { .kind = kind_of(told), .prefix_bits = prefix_bits(told) };
    snprintf(new.name, sizeof new.name, "%s", told->ifa_name);
    copy_address(&new.address, told->ifa_addr);
    if (interfaces->count < INTERFACES_MAX && !is_there(interfaces, &new.address))
        interfaces->at[interfaces->count++] = new;
}

static bool is_told_before(const struct ifaddrs *list, const struct ifaddrs *told)
{
    for (; list != told; list = list->ifa_next)
        if (is_usable(list) && strcmp(list->ifa_name, told->ifa_name) == 0)
            return true;
    return false;
}

static void add_all(struct interfaces *interfaces, const struct ifaddrs *told, int family)
{
    const char *name = told->ifa_name;
    for (; told; told = told->ifa_next)
        if (is_usable(told) && told->ifa_addr->sa_family == family &&
            strcmp(told->ifa_name, name) == 0)
            interfaces_add(interfaces, told);
}

/* The kernel lists all IPv4 addresses before all IPv6 addresses; an interface stands where it is
 * listed first. */
void interfaces_sort_out(struct interfaces *interfaces, const struct ifaddrs *list)
{
    interfaces->count = 0;
    for (int kind = INTERFACE_REAL; kind <= INTERFACE_LOOPBACK; kind++)
        for (const struct ifaddrs *told = list; told; told = told->ifa_next) {
            if (!is_usable(told) || kind_of(told) != (enum interface_kind)kind ||
                is_told_before(list, told))
                continue;
            add_all(interfaces, told, AF_INET);
            add_all(interfaces, told, AF_INET6);
        }
}

int interfaces_read(struct interfaces *interfaces, struct err *err)
{
    struct ifaddrs *list;
    interfaces->count = 0;
    if (getifaddrs(&list) < 0)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "getifaddrs");
    interfaces_sort_out(interfaces, list);
    freeifaddrs(list);
    return HVD_OK;
}
