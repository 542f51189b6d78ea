/* SPDX-License-Identifier: Apache-2.0 */
/* Host, Origin and Sec-Fetch-Site of a client on the same host; see http_loopback.h. */
#include "rendezvous/http/http_loopback.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static bool is_loopback_ipv4(struct http_text name)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (name.length >= sizeof text)
        return false;
    memcpy(text, name.data, name.length);
    text[name.length] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/* Is `text` empty, or ":" and 1 to 5 digits? */
static bool is_port(struct http_text text)
{
    if (text.length == 0)
        return true;
    bool valid = text.data[0] == ':' && text.length >= 2 && text.length <= 6;
    for (size_t i = 1; valid && i < text.length; i++)
        valid = text.data[i] >= '0' && text.data[i] <= '9';
    return valid;
}

static size_t name_length(struct http_text host)
{
    bool bracket = host.length > 0 && host.data[0] == '[';
    const char *end = memchr(host.data, bracket ? ']' : ':', host.length);
    return end ? (size_t)(end - host.data) + bracket : host.length;
}

static bool is_loopback(struct http_text host)
{
    struct http_text name = { host.data, name_length(host) };
    struct http_text port = { host.data + name.length, host.length - name.length };
    return is_port(port) && (http_text_is(name, "localhost") || http_text_is(name, "[::1]") ||
                             is_loopback_ipv4(name));
}

static bool is_same(struct http_text origin, struct http_text host)
{
    static const char scheme[] = "http://";
    size_t skip = sizeof scheme - 1;
    return origin.length == skip + host.length && strncasecmp(origin.data, scheme, skip) == 0 &&
           strncasecmp(origin.data + skip, host.data, host.length) == 0;
}

bool http_loopback(const struct http_request *request)
{
    return request->host.data && is_loopback(request->host) &&
           (!request->origin.data || is_same(request->origin, request->host));
}

bool http_of_another_page(const struct http_request *request)
{
    return request->fetch_site.data && !http_text_is(request->fetch_site, "same-origin") &&
           !http_text_is(request->fetch_site, "none");
}
