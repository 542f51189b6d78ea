/* SPDX-License-Identifier: Apache-2.0 */
/* Frames on the tree; see tree_link.h. */
#include "lib/engine/tree_link.h"

enum { KEPT_MAX = 256 * 1024 };

void tree_link_init(struct tree_link *tree, struct link *link, int rank)
{
    *tree = (struct tree_link){ .link = link, .rank = rank };
    frame_reader_init(&tree->reader, TREE_BODY_MAX);
    tree->reader.is_summed = link->type->transport != TRANSPORT_SHM;
}

void tree_link_fini(struct tree_link *tree)
{
    link_close(tree->link);
    tree->link = NULL;
    frame_reader_fini(&tree->reader);
    wire_writer_fini(&tree->out);
    tree->sent = 0;
}

void tree_link_put(struct tree_link *tree, enum tree_frame type, const void *body, size_t nbytes)
{
    if (!tree->link || tree->is_mute)
        return;
    size_t begin = tree_link_begin(tree, type);
    wire_put_bytes(&tree->out, body, nbytes);
    tree_link_end(tree, begin);
}

size_t tree_link_begin(struct tree_link *tree, enum tree_frame type)
{
    return frame_begin(&tree->out, (uint16_t)type);
}

void tree_link_end(struct tree_link *tree, size_t begin)
{
    if (tree->reader.is_summed)
        frame_end_summed(&tree->out, begin);
    else
        frame_end(&tree->out, begin);
}

/* Sends what the link takes of a frame; returns how much this was, SIZE_MAX for all. A failure of
 * the link is seen again by tree_link_send(). */
static size_t send_parts(struct tree_link *tree, enum tree_frame type, const void *head,
                         size_t head_size, const void *body, size_t nbytes)
{
    unsigned char header[FRAME_HEADER_SIZE], sum[FRAME_SUM_SIZE];
    struct iovec parts[4] = { { header, sizeof header }, { (void *)head, head_size } };
    bool is_summed = tree->reader.is_summed;
    struct err ignored;
    int count = 2;
    if (!tree_link_flushed(tree) || (is_summed && !(type & FRAME_DATA)))
        return 0;
    if (nbytes > 0)
        parts[count++] = (struct iovec){ (void *)body, nbytes };
    if (is_summed) {
        frame_header_encode_summed(header, (uint16_t)type, (uint32_t)(head_size + nbytes));
        frame_sum_encode(sum, head, head_size);
        parts[count++] = (struct iovec){ sum, sizeof sum };
    } else {
        frame_header_encode(header, (uint16_t)type, (uint32_t)(head_size + nbytes));
    }
    ssize_t sent = link_try_send(tree->link, parts, count, &ignored);
    size_t all = sizeof header + head_size + nbytes + (is_summed ? sizeof sum : 0);
    return sent <= 0 ? 0 : (size_t)sent == all ? SIZE_MAX : (size_t)sent;
}

void tree_link_put_parts(struct tree_link *tree, enum tree_frame type, const void *head,
                         size_t head_size, const void *body, size_t nbytes)
{
    if (!tree->link || tree->is_mute)
        return;
    size_t sent = send_parts(tree, type, head, head_size, body, nbytes);
    if (sent == SIZE_MAX)
        return;
    size_t begin = tree_link_begin(tree, type);
    wire_put_bytes(&tree->out, head, head_size);
    wire_put_bytes(&tree->out, body, nbytes);
    tree_link_end(tree, begin);
    tree->sent += sent;
}

/* Keeps the memory for reuse, unless an unusual message has made it large. */
static void forget_sent(struct tree_link *tree)
{
    if (tree->out.capacity > KEPT_MAX)
        wire_writer_fini(&tree->out);
    tree->out.length = tree->sent = 0;
}

int tree_link_send(struct tree_link *tree, struct err *err)
{
    if (tree_link_flushed(tree))
        return 0;
    if (tree->out.failed)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    struct iovec rest = { tree->out.data + tree->sent, tree->out.length - tree->sent };
    ssize_t nbytes = link_try_send(tree->link, &rest, 1, err);
    if (nbytes == HVD_ERR_PEER_LOST) {
        tree->is_mute = true;
        forget_sent(tree);
        return 0;
    }
    if (nbytes <= 0)
        return (int)nbytes;
    tree->sent += (size_t)nbytes;
    if (tree->sent == tree->out.length)
        forget_sent(tree);
    return 1;
}

int tree_link_receive(struct tree_link *tree, struct err *err)
{
    size_t size;
    if (!tree->link)
        return 0;
    void *space = frame_reader_space(&tree->reader, &size);
    if (!space)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    ssize_t nbytes = link_try_receive(tree->link, space, size, err);
    if (nbytes <= 0)
        return (int)nbytes;
    frame_reader_commit(&tree->reader, (size_t)nbytes);
    return 1;
}

int tree_link_next(struct tree_link *tree, struct frame *frame, struct err *err)
{
    return frame_reader_next(&tree->reader, frame, err);
}
