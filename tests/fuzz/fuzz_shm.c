/* SPDX-License-Identifier: Apache-2.0 */
/* A link over shared memory whose other side writes there what it likes, and sends what it likes
 * over the socket.
 *
 *   steps: u8 what, then
 *     0 an entry: i8 added to the number that is due, u8 kind, u8 bytes in it, u16 in the bulk, u16 line,
 *       and what it refers to: i32 at, i32 bytes (both shifted by as many bits as a u8 says), u8 slot
 *     1 a byte of a side: u16 where, u8      2 eight bytes of an entry: u8 which, i32, i32
 *     3 bytes over the socket: u8 how many   4 a byte with a descriptor: u8 of what
 *     5 try_receive: u16 bytes   6 peek, and consume u16 of it   7 try_send: u16 bytes
 *     8 offer, taken   9 sleep, check
 *     255: from now on, what is offered at addresses is asked for
 *
 * Whatever it does: what is shown lies in the ring or in a segment that was passed, and can be
 * read; no more is received than was asked for; no more is taken than was offered, and it never
 * becomes less; an error stays (but for one of sending alone, behind which nothing more is sent);
 * and when the link is closed, all descriptors are. */
#include "lib/link/link_shm_impl.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SEGMENT = 64 * 1024, STEPS = 400 };

static struct scene {
    struct link *link;
    struct shm_memory *memory; /* as the other side has mapped it; ours is elsewhere */
    struct segment theirs;
    int fd;
    uint32_t due; /* number of the next entry */
    uint64_t offered, taken;
    bool failed;
    bool gone; /* sending has failed, since the other side has left; its data may still come */
} scene;

static unsigned char space[65536];

static void begin(void)
{
    int fds[2];
    struct segment ours;
    struct shm_peer peer = { .pid = 0 };
    scene = (struct scene){ 0 };
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    PROMISE(segment_create(&scene.theirs, link_shm_size(), NULL) == HVD_OK);
    PROMISE(segment_adopt(&ours, dup(scene.theirs.fd), link_shm_size(), SIZE_MAX, NULL) == HVD_OK);
    scene.memory = (struct shm_memory *)(void *)scene.theirs.memory;
    scene.link = link_shm_create(fds[0], &ours, false, &peer, NULL);
    scene.fd = fds[1];
    PROMISE(scene.link);
}

static void end(void)
{
    link_close(scene.link);
    segment_close(&scene.theirs);
    close(scene.fd);
}

/* ---- what the other side does ---- */

static uint64_t large(struct fuzz_input *input)
{
    int32_t value = fuzz_i32(input);
    return (uint64_t)(int64_t)value << fuzz_u8(input) % 40;
}

static void write_entry(struct fuzz_input *input)
{
    struct shm_entry *entry = &scene.memory->rings[0].entries[scene.due % SHM_ENTRIES];
    int8_t beside = (int8_t)fuzz_u8(input);
    uint64_t word = (uint16_t)(++scene.due + (int64_t)beside);
    word |= (uint64_t)(fuzz_u8(input) & 3) << 16 | (uint64_t)(fuzz_u8(input) & 63) << 18;
    word |= (uint64_t)fuzz_u16(input) << 24;
    word |= (uint64_t)fuzz_u16(input) << 40;
    struct shm_reference reference = { .at = large(input) };
    reference.nbytes = large(input);
    reference.slot = fuzz_u8(input);
    memcpy(entry->bytes, &reference, sizeof reference);
    atomic_store(&entry->word, word);
}

static void write_byte(struct fuzz_input *input)
{
    size_t at = fuzz_u16(input) % sizeof scene.memory->sides;
    ((unsigned char *)scene.memory->sides)[at] = fuzz_u8(input);
}

static void write_words(struct fuzz_input *input)
{
    struct shm_entry *entry = &scene.memory->rings[0].entries[fuzz_u8(input) % SHM_ENTRIES];
    uint64_t high = (uint32_t)fuzz_i32(input), low = (uint32_t)fuzz_i32(input);
    atomic_store(&entry->word, high << 32 | low);
}

static void send_bytes(struct fuzz_input *input)
{
    size_t length;
    uint8_t *bytes = fuzz_bytes(input, &length);
    (void)!send(scene.fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    free(bytes);
}

static void send_descriptor(struct fuzz_input *input)
{
    struct segment segment;
    struct shm_doorbell doorbell = { .fd = scene.fd };
    int unsealed = memfd_create("unsealed", MFD_CLOEXEC);
    PROMISE(unsealed >= 0 && ftruncate(unsealed, SEGMENT) == 0);
    PROMISE(segment_create(&segment, SEGMENT, NULL) == HVD_OK);
    shm_doorbell_pass(&doorbell, fuzz_u8(input) % 4 ? segment.fd : unsealed);
    segment_close(&segment);
    close(unsealed);
}

/* ---- what our side does ---- */

static bool lies_in(const unsigned char *piece, size_t nbytes, const void *memory, size_t size)
{
    uintptr_t at = (uintptr_t)piece, start = (uintptr_t)memory;
    return memory && at >= start && nbytes <= size && at - start <= size - nbytes;
}

static bool may_be_shown(const unsigned char *piece, size_t nbytes)
{
    const struct link_shm *shm = link_shm_of(scene.link);
    if (lies_in(piece, nbytes, shm->in.ring, sizeof *shm->in.ring) ||
        (shm->declines && lies_in(piece, nbytes, shm->in_fill, SHM_FILL)))
        return true;
    for (int i = 0; i < SHM_SLOTS; i++)
        if (lies_in(piece, nbytes, shm->imported.slots[i].memory, shm->imported.slots[i].size))
            return shm->imported.slots[i].size == SEGMENT;
    return false;
}

static void note(ssize_t rc)
{
    PROMISE(rc < 0 || !scene.failed);
    scene.failed |= rc < 0;
}

/* Of try_send() and offer(). */
static void note_sent(ssize_t rc)
{
    if (rc == HVD_ERR_PEER_LOST && !scene.failed)
        scene.gone = true;
    else
        note(rc);
}

static size_t look(void)
{
    size_t nbytes;
    const unsigned char *piece = link_peek(scene.link, &nbytes);
    PROMISE(!piece == (nbytes == 0));
    PROMISE(!piece || (!scene.failed && may_be_shown(piece, nbytes)));
    for (size_t i = 0; i < nbytes && nbytes <= sizeof space; i++)
        space[i] = piece[i];
    return nbytes;
}

static void receive(struct fuzz_input *input)
{
    size_t size = 1 + fuzz_u16(input) % sizeof space;
    struct iovec parts[] = { { space, size / 3 }, { space + size / 3, size - size / 3 } };
    look();
    ssize_t nbytes = link_try_receive_parts(scene.link, parts, 2, NULL);
    PROMISE(nbytes <= (ssize_t)size);
    note(nbytes);
}

static void use(struct fuzz_input *input)
{
    size_t most = 1 + fuzz_u16(input), nbytes = look();
    if (nbytes > 0)
        note(link_consume(scene.link, most < nbytes ? most : nbytes, NULL));
}

static void send_some(struct fuzz_input *input)
{
    struct iovec part = { space, 1 + fuzz_u16(input) % sizeof space };
    if (scene.gone)
        return; /* as whoever uses a link does */
    ssize_t nbytes = link_try_send(scene.link, &part, 1, NULL);
    PROMISE(nbytes <= (ssize_t)part.iov_len);
    note_sent(nbytes);
}

static void offer(struct fuzz_input *input)
{
    (void)input;
    if (scene.gone)
        return;
    ssize_t nbytes = link_offer(scene.link, space, sizeof space, NULL);
    note_sent(nbytes);
    scene.offered += nbytes > 0 ? (uint64_t)nbytes : 0;
    uint64_t taken = link_taken(scene.link);
    PROMISE(taken >= scene.taken && taken <= scene.offered);
    scene.taken = taken;
}

static void wait_a_little(struct fuzz_input *input)
{
    short events, wanted = fuzz_u8(input) % 2 ? POLLIN : POLLIN | POLLOUT;
    if (link_sleep(scene.link, wanted, &events))
        PROMISE(events == POLLIN && !scene.failed);
    PROMISE(link_check(scene.link, NULL) == HVD_OK);
}

/* As if addresses could be read at first, and then not. */
static void decline(void)
{
    struct link_shm *shm = link_shm_of(scene.link);
    shm->pid = getpid();
    link_shm_decline(shm, &(struct err){ .code = HVD_ERR_SYSTEM });
}

static void (*const steps[])(struct fuzz_input *) = {
    write_entry, write_byte, write_words, send_bytes, send_descriptor,
    receive,     use,        send_some,   offer,      wait_a_little,
};

static void step(struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input);
    if (what == 255)
        decline();
    else
        steps[what % (sizeof steps / sizeof *steps)](input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    int before = dup(STDERR_FILENO);
    close(before);
    begin();
    for (int i = 0; i < STEPS && input.left > 0; i++)
        step(&input);
    end();
    int after = dup(STDERR_FILENO);
    close(after);
    PROMISE(before == after);
    return 0;
}
