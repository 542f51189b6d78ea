/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel who owns the socket at the other end of a connection; see socket_owner.h.
 *   our end's two addresses -> one question -> the socket with these, the other way round ->
 *   is it held by somebody, and connected to us still? -> its uid
 * Each step may fail, and then the socket belongs to nobody. Ports are used again, but a later
 * socket with the same addresses cannot be taken for the client's, since ours would have been reset
 * before. */
#include "launcher/process/socket_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STALE_REPLIES_MAX = 8, TABLE_LINES_MAX = 65536 };

/* The uid of every user without a name in this user namespace (/proc/sys/kernel/overflowuid). */
enum { OVERFLOW_UID = 65534 };

struct ends {
    struct sockaddr_in client, server;
};

enum answer { DONT_KNOW, NOT_THERE, FOUND };

/* The kernel's data about a socket. */
struct seen {
    unsigned state, uid;
    unsigned long inode; /* 0: no process holds it any more */
};

static bool read_ends(int fd, struct ends *ends)
{
    socklen_t client = sizeof ends->client, server = sizeof ends->server;
    return getpeername(fd, (struct sockaddr *)&ends->client, &client) == 0 &&
           getsockname(fd, (struct sockaddr *)&ends->server, &server) == 0 &&
           ends->client.sin_family == AF_INET && ends->server.sin_family == AF_INET;
}

/* ---- NETLINK_SOCK_DIAG ---- */

static bool send_question(struct socket_owner *self, const struct ends *ends)
{
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {
        .header = { .nlmsg_len = sizeof question,
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST,
                    .nlmsg_seq = ++self->sequence },
        .request = { .sdiag_family = AF_INET,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_states = ~0u,
                     .id = { .idiag_sport = ends->client.sin_port,
                             .idiag_dport = ends->server.sin_port,
                             .idiag_src = { ends->client.sin_addr.s_addr },
                             .idiag_dst = { ends->server.sin_addr.s_addr },
                             .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
    };
    return send(self->netlink, &question, sizeof question, MSG_DONTWAIT) == sizeof question;
}

struct reply {
    struct nlmsghdr header;
    union {
        struct nlmsgerr error;
        struct inet_diag_msg socket;
    };
};

/* The answer to the last question; its first bytes are enough. The answer is there already. */
static size_t receive_reply(const struct socket_owner *self, struct reply *reply)
{
    for (int i = 0; i < STALE_REPLIES_MAX; i++) {
        ssize_t length = recv(self->netlink, reply, sizeof *reply, MSG_DONTWAIT);
        if (length < (ssize_t)sizeof reply->header)
            return 0;
        if (reply->header.nlmsg_seq == self->sequence)
            return (size_t)length;
    }
    return 0;
}

/* A socket of IPv6 may be connected to an address of IPv4, ::ffff:127.0.0.1. */
static bool is_address(const __be32 address[4], int family, struct in_addr expected)
{
    if (family == AF_INET)
        return address[0] == expected.s_addr;
    return address[0] == 0 && address[1] == 0 && address[2] == htonl(0xffff) &&
           address[3] == expected.s_addr;
}

/* Without such a connection, the kernel returns the socket that listens at the client's port. */
static bool is_client(const struct inet_diag_msg *socket, const struct ends *ends)
{
    const struct inet_diag_sockid *id = &socket->id;
    return id->idiag_sport == ends->client.sin_port && id->idiag_dport == ends->server.sin_port &&
           is_address(id->idiag_src, socket->idiag_family, ends->client.sin_addr) &&
           is_address(id->idiag_dst, socket->idiag_family, ends->server.sin_addr);
}

/* ENOENT also means that the kernel lacks the module that searches. */
static enum answer socket_owner_ask(struct socket_owner *self, const struct ends *ends,
                                    struct seen *seen)
{
    struct reply reply;
    size_t length = send_question(self, ends) ? receive_reply(self, &reply) : 0;
    if (length >= NLMSG_LENGTH(sizeof reply.error) && reply.header.nlmsg_type == NLMSG_ERROR)
        return reply.error.error == -ENOENT && self->trusted ? NOT_THERE : DONT_KNOW;
    if (length < NLMSG_LENGTH(sizeof reply.socket) ||
        reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return DONT_KNOW;
    self->trusted = true;
    *seen =
        (struct seen){ reply.socket.idiag_state, reply.socket.idiag_uid, reply.socket.idiag_inode };
    return is_client(&reply.socket, ends) ? FOUND : NOT_THERE;
}

/* ---- /proc ---- */

/* `ends` in the form of the table, behind the number of the line. */
static enum answer socket_owner_look_up(const char *path, const char *ends, struct seen *seen)
{
    char line[512];
    enum answer answer = NOT_THERE;
    FILE *table = fopen(path, "re");
    if (!table)
        return DONT_KNOW;
    for (int i = 0; i < TABLE_LINES_MAX && answer == NOT_THERE && fgets(line, sizeof line, table);
         i++) {
        const char *at = strstr(line, ": ");
        if (at && strncmp(at + 2, ends, strlen(ends)) == 0 &&
            sscanf(at + 2 + strlen(ends), " %x %*s %*s %*s %u %*s %lu", &seen->state, &seen->uid,
                   &seen->inode) == 3)
            answer = FOUND;
    }
    fclose(table);
    return answer;
}

static enum answer read_tables(const struct ends *ends, struct seen *seen)
{
    char text[100], mapped[25];
    const char *const formats[][2] = { { "/proc/net/tcp", "" }, { "/proc/net/tcp6", mapped } };
    enum answer answer = DONT_KNOW;
    snprintf(mapped, sizeof mapped, "0000000000000000%08X", htonl(0xffff));
    for (int i = 0; i < 2 && answer != FOUND; i++) {
        snprintf(text, sizeof text, "%s%08X:%04X %s%08X:%04X ", formats[i][1],
                 ends->client.sin_addr.s_addr, ntohs(ends->client.sin_port), formats[i][1],
                 ends->server.sin_addr.s_addr, ntohs(ends->server.sin_port));
        answer = socket_owner_look_up(formats[i][0], text, seen);
    }
    return answer;
}

/* ---- evaluating the answer ---- */

/* A socket that is still connecting is another socket, behind which ours has not been reset yet. */
static bool is_connected(unsigned state)
{
    static const unsigned connected = 1u << TCP_ESTABLISHED | 1u << TCP_FIN_WAIT1 |
                                      1u << TCP_FIN_WAIT2 | 1u << TCP_CLOSE_WAIT |
                                      1u << TCP_LAST_ACK | 1u << TCP_CLOSING;
    return state < 32 && (connected >> state & 1);
}

/* True if our end has not been reset during the search. */
static bool is_alive(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t length = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
           is_connected(info.tcpi_state);
}

static bool everybody_has_a_name(void)
{
    unsigned first, outside, count = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (!map)
        return false;
    if (fscanf(map, "%u %u %u", &first, &outside, &count) != 3)
        count = 0;
    fclose(map);
    return count == UINT32_MAX;
}

bool socket_owner_find(struct socket_owner *self, int fd, uid_t *uid)
{
    struct ends ends;
    struct seen seen;
    if (!read_ends(fd, &ends))
        return false;
    enum answer answer = self->netlink < 0 ? DONT_KNOW : socket_owner_ask(self, &ends, &seen);
    if (answer == DONT_KNOW)
        answer = read_tables(&ends, &seen);
    if (answer != FOUND || seen.inode == 0 || !is_connected(seen.state) || !is_alive(fd))
        return false;
    if (seen.uid == OVERFLOW_UID && !everybody_has_a_name())
        return false;
    *uid = seen.uid;
    return true;
}

void socket_owner_init(struct socket_owner *self)
{
    const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    *self = (struct socket_owner){ .netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
                                                     NETLINK_SOCK_DIAG) };
    if (self->netlink >= 0 && /* connected, so that only the kernel can answer */
        connect(self->netlink, (const struct sockaddr *)&kernel, sizeof kernel) < 0)
        socket_owner_fini(self);
}

void socket_owner_fini(struct socket_owner *self)
{
    if (self->netlink >= 0)
        close(self->netlink);
    self->netlink = -1;
}
