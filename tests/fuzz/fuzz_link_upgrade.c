/* SPDX-License-Identifier: Apache-2.0 */
/* What the other side of a unix socket says on the way to shared memory (lib/link/link_upgrade.c).
 *
 *   u8 bit 0: this side initiates; bits 1 and 2: its HVD_TRANSPORT; bit 3: the size that is said is
 *      that of the memory which is passed
 *   then pieces, each u8 which descriptor goes with it, bytes
 *
 * Whatever comes: the end is a link or a broken protocol, after 64 bytes and not one more; memory
 * is shared just when nothing stands against it, and it is all that a link needs; every descriptor
 * that came is closed. */
#include "lib/link/link_upgrade.h"
#include "lib/link/socket.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SIZE_AT = 8, SIZE_END = 16 };

/* The other side. */
struct teller {
    int fd;
    size_t told;
    bool tells_size;
    struct segment segment;
    int others[2];
};

static void open_teller(struct teller *teller, int fd, bool tells_size)
{
    *teller = (struct teller){ .fd = fd, .tells_size = tells_size };
    PROMISE(segment_create(&teller->segment, link_shm_size(), NULL) == HVD_OK);
    teller->others[0] = open("/dev/zero", O_RDWR | O_CLOEXEC);
    teller->others[1] = dup(fd);
}

static void close_teller(struct teller *teller)
{
    segment_close(&teller->segment);
    close(teller->others[0]);
    close(teller->others[1]);
    close(teller->fd);
}

static int choose(const struct teller *teller, uint8_t which)
{
    switch (which % 8) {
    case 1:
    case 2:
    case 3:
        return teller->segment.fd;
    case 4:
        return teller->others[0];
    case 5:
        return teller->others[1];
    default:
        return -1;
    }
}

static void put_size(const struct teller *teller, uint8_t *bytes, size_t length)
{
    uint64_t size = teller->segment.size;
    for (size_t i = 0; i < length && teller->tells_size; i++)
        if (teller->told + i >= SIZE_AT && teller->told + i < SIZE_END)
            bytes[i] = (uint8_t)(size >> 8 * (teller->told + i - SIZE_AT));
}

static void tell(struct teller *teller, struct fuzz_input *input)
{
    size_t length;
    int passed = choose(teller, fuzz_u8(input));
    uint8_t *bytes = fuzz_bytes(input, &length);
    put_size(teller, bytes, length);
    ssize_t sent = 0;
    if (length > 0)
        sent = passed < 0 ? socket_send(teller->fd, bytes, length, NULL)
                          : socket_send_descriptor(teller->fd, bytes, length, passed, NULL);
    PROMISE(sent == (ssize_t)length);
    teller->told += length;
    free(bytes);
}

static int next_descriptor(void)
{
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

static void make_link(struct link_upgrade *upgrade, int fd)
{
    struct err err;
    PROMISE(upgrade->shares == (upgrade->why[0] == '\0'));
    PROMISE(!upgrade->shares || upgrade->segment.size >= link_shm_size());
    struct link *link = link_upgrade_finish(upgrade, fd, &err);
    PROMISE(link != NULL);
    link_close(link);
}

/* How it ended; 0: there was too little. */
static int hear(struct link_upgrade *upgrade, struct teller *teller, int fd,
                struct fuzz_input *input)
{
    int rc = 0, left;
    struct err err;
    while (rc == 0 && input->left > 0) {
        tell(teller, input);
        rc = link_upgrade_move(upgrade, fd, &err);
    }
    PROMISE(rc == 0 || rc == 1 || rc == HVD_ERR_PROTOCOL);
    PROMISE(ioctl(fd, FIONREAD, &left) == 0);
    PROMISE((size_t)left == (teller->told < UPGRADE_SIZE ? 0 : teller->told - UPGRADE_SIZE));
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    struct link_upgrade upgrade;
    struct teller teller;
    uint8_t how = fuzz_u8(&input);
    enum transport transport = (enum transport)(how >> 1 & 3);
    int pair[2], before = next_descriptor();
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    open_teller(&teller, pair[1], how & 8);
    if (how & 1)
        link_upgrade_initiate(&upgrade, pair[0], transport);
    else
        link_upgrade_accept(&upgrade, pair[0], transport);
    if (hear(&upgrade, &teller, pair[0], &input) > 0) {
        make_link(&upgrade, pair[0]);
    } else {
        link_upgrade_fini(&upgrade);
        close(pair[0]);
    }
    close_teller(&teller);
    PROMISE(next_descriptor() == before);
    return 0;
}
