/* SPDX-License-Identifier: Apache-2.0 */
/* hvdrun's ends of tunnels; see tunnels.h. */
#include "launcher/tree/tunnels.h"

#include "launcher/base/xalloc.h"
#include "launcher/tree/tunnel_end.h"
#include "lib/base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct tunnel {
    struct tunnel_end end;
    struct tunnels *tunnels; /* NULL once the link is lost */
    struct tunnel_events events;
    void *context;
    bool ended;                       /* on_end() was called, or must not be any more */
    bool told;                        /* TUNNEL_CLOSE was sent */
    bool closed;                      /* the descriptor */
    void (*on_closed)(void *context); /* of tunnel_close(), or NULL before */
    void *closed_context;
};

static void tunnel_free_if_closed(struct tunnel *tunnel)
{
    if (!tunnel->closed || !tunnel->on_closed)
        return;
    void (*on_closed)(void *context) = tunnel->on_closed;
    void *context = tunnel->closed_context;
    free(tunnel);
    on_closed(context);
}

static void on_tunnel_descriptor_closed(void *context)
{
    struct tunnel *tunnel = context;
    tunnel->closed = true;
    tunnel_free_if_closed(tunnel);
}

/* Does the agent still know the tunnel? */
static bool tunnel_is_known(const struct tunnel *tunnel)
{
    return tunnel->tunnels && tunnel->tunnels->link && !tunnel->told;
}

static void send_tunnel_close(struct tunnel *tunnel, bool given_up)
{
    if (!tunnel_is_known(tunnel))
        return;
    tunnel->told = true;
    struct wire_writer *body = frame_link_begin(tunnel->tunnels->link, AGENT_TUNNEL_CLOSE);
    wire_put_u32(body, tunnel->end.number);
    wire_put_u8(body, given_up);
    frame_link_send(tunnel->tunnels->link);
}

static void on_tunnel_input_end(void *context)
{
    send_tunnel_close(context, false);
}

static void send_tunnel_open(struct tunnel *tunnel, const struct string_list *words)
{
    struct wire_writer *body = frame_link_begin(tunnel->tunnels->link, AGENT_TUNNEL_OPEN);
    wire_put_u32(body, tunnel->end.number);
    for (size_t i = 0; i < words->count; i++)
        wire_put_string(body, words->items[i]);
    frame_link_send(tunnel->tunnels->link);
}

struct tunnel *tunnel_open(struct tunnels *tunnels, uv_loop_t *loop, int fd,
                           const struct string_list *words, const struct tunnel_events *events,
                           void *context, struct err *err)
{
    if (!tunnels->link || tunnels->count == TUNNELS_MAX) {
        close(fd);
        fail(err, HVD_ERR_SYSTEM, "the host above it cannot connect to any more hosts");
        return NULL;
    }
    struct tunnel *tunnel = xcalloc(1, sizeof *tunnel);
    tunnel->tunnels = tunnels;
    tunnel->events = *events;
    tunnel->context = context;
    int rc = tunnel_end_open(&tunnel->end, loop, fd, tunnels->link, tunnels->count, err);
    tunnel->end.context = tunnel;
    if (rc < 0) {
        tunnel_end_close(&tunnel->end, free);
        return NULL;
    }
    tunnel->end.on_input_end = on_tunnel_input_end;
    tunnels->list = xreallocarray(tunnels->list, (size_t)tunnels->count + 1, sizeof *tunnels->list);
    tunnels->list[tunnels->count++] = tunnel;
    tunnels->nopen++;
    send_tunnel_open(tunnel, words);
    tunnel_end_read(&tunnel->end);
    return tunnel;
}

void tunnel_script(struct tunnel *tunnel, const char *nonce, const char *agent, uint64_t size)
{
    if (!tunnel_is_known(tunnel))
        return;
    struct wire_writer *body = frame_link_begin(tunnel->tunnels->link, AGENT_TUNNEL_SCRIPT);
    wire_put_u32(body, tunnel->end.number);
    wire_put_string(body, nonce);
    wire_put_string(body, agent);
    wire_put_u64(body, size);
    frame_link_send(tunnel->tunnels->link);
}

void tunnel_describe(struct tunnel *tunnel)
{
    if (!tunnel_is_known(tunnel))
        return;
    wire_put_u32(frame_link_begin(tunnel->tunnels->link, AGENT_TUNNEL_DESCRIBE),
                 tunnel->end.number);
    frame_link_send(tunnel->tunnels->link);
}

/* No frame reaches the tunnel any more. */
static void tunnel_detach(struct tunnel *tunnel)
{
    if (!tunnel->tunnels)
        return;
    tunnel->tunnels->list[tunnel->end.number] = NULL;
    tunnel->tunnels->nopen--;
    tunnel->tunnels = NULL;
    tunnel->end.link = NULL;
}

void tunnel_close(struct tunnel *tunnel, bool given_up, void (*on_closed)(void *context),
                  void *context)
{
    send_tunnel_close(tunnel, given_up);
    tunnel_detach(tunnel);
    tunnel->ended = true;
    tunnel->on_closed = on_closed;
    tunnel->closed_context = context;
    if (tunnel->closed)
        tunnel_free_if_closed(tunnel);
    else
        tunnel_end_close(&tunnel->end, on_tunnel_descriptor_closed);
}

static void tunnel_end_now(struct tunnel *tunnel, const char *text)
{
    tunnel_detach(tunnel);
    tunnel_end_finish(&tunnel->end, on_tunnel_descriptor_closed);
    if (tunnel->ended)
        return;
    tunnel->ended = true;
    tunnel->events.on_end(tunnel->context, text);
}

void tunnels_mute(struct tunnels *tunnels)
{
    tunnels->link = NULL;
    for (uint32_t i = 0; i < tunnels->count; i++)
        if (tunnels->list[i])
            tunnels->list[i]->end.link = NULL;
}

void tunnels_cut(struct tunnels *tunnels, const char *text)
{
    for (uint32_t i = 0; i < tunnels->count; i++)
        if (tunnels->list[i])
            tunnel_end_now(tunnels->list[i], text);
    tunnels->link = NULL;
}

void tunnels_fini(struct tunnels *tunnels)
{
    free(tunnels->list);
    *tunnels = (struct tunnels){ 0 };
}

/* ---- frames of the agent ---- */

static int on_tunnel_credit(struct tunnel *tunnel, struct wire_reader *body, struct err *err)
{
    uint32_t nbytes = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_TUNNEL_CREDIT, err);
    return rc < 0 || !tunnel ? rc : tunnel_end_credit(&tunnel->end, nbytes, err);
}

static int on_tunnel_data(struct tunnel *tunnel, struct wire_reader *body, struct err *err)
{
    size_t length = body->left;
    const void *data = wire_get_bytes(body, length);
    return tunnel ? tunnel_end_take(&tunnel->end, data, length, err) : HVD_OK;
}

static int on_tunnel_errors(struct tunnel *tunnel, struct wire_reader *body, struct err *err)
{
    size_t length = body->left;
    const char *data = wire_get_bytes(body, length);
    (void)err;
    if (tunnel && !tunnel->ended)
        tunnel->events.on_errors(tunnel->context, data, length);
    return HVD_OK;
}

static int on_tunnel_end(struct tunnel *tunnel, struct wire_reader *body, struct err *err)
{
    char text[TUNNEL_TEXT_SIZE] = "";
    wire_get_string(body, text, sizeof text);
    int rc = agent_frame_finished(body, AGENT_TUNNEL_END, err);
    if (rc < 0 || !tunnel)
        return rc;
    text_make_line(text);
    tunnel_end_now(tunnel, text);
    return HVD_OK;
}

typedef int (*tunnel_frame_fn)(struct tunnel *tunnel, struct wire_reader *body, struct err *err);

static const tunnel_frame_fn tunnel_frames[AGENT_FRAME_TYPES] = {
    [AGENT_TUNNEL_DATA] = on_tunnel_data,
    [AGENT_TUNNEL_CREDIT] = on_tunnel_credit,
    [AGENT_TUNNEL_ERRORS] = on_tunnel_errors,
    [AGENT_TUNNEL_END] = on_tunnel_end,
};

bool tunnels_has_frame(int type)
{
    return type > 0 && type < AGENT_FRAME_TYPES && tunnel_frames[type];
}

/* A frame for a tunnel that was closed here may have been on its way. */
int tunnels_on_frame(struct tunnels *tunnels, int type, struct wire_reader *body, struct err *err)
{
    uint32_t number = wire_get_u32(body);
    if (body->failed || number >= tunnels->count)
        return fail(err, HVD_ERR_PROTOCOL, "malformed %s frame", agent_frame_name(type));
    return tunnel_frames[type](tunnels->list[number], body, err);
}
