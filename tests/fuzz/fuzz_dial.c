/* SPDX-License-Identifier: Apache-2.0 */
/* Who connects to the port for agents that srun starts (launcher/connect/dial_listener.c), and the
 * messages that both sides read (launcher/protocol/agent_dial.c).
 *
 *   u8: bit 0 the client says what the input has, else it does as an agent does, with its own HELLO;
 *   bit 1 one bit of the agent's proof is wrong; bit 2 the agent does not know the key
 *   u8 bytes at once; then what the client says, or the agent's HELLO
 *   all is also read as each of the messages
 *
 * Whatever comes: nobody is let in but an agent that proves that it knows the key, and it is, with
 * its own HELLO; nothing is said to anybody whose HELLO cannot be read; everybody else is hung up
 * on when the port is closed. What can be decoded, encodes to something that decodes to the
 * same. */
#include "launcher/connect/dial_listener.h"
#include "lib/base/frame.h"
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHALLENGE_BYTES = FRAME_HEADER_SIZE + NONCE_SIZE + PROOF_SIZE };

static struct {
    uv_loop_t loop;
    struct dial_listener *listener;
    struct job_key key;
    int nagents, nclosed;
    struct dial_hello hello;
} scene;

static void on_agent(void *context, const struct dial_hello *hello, int fd)
{
    (void)context;
    scene.nagents++;
    scene.hello = *hello;
    close(fd);
}

/* Closed with a reset, so that no port waits for the rest of this minute. */
static void hang_up(int fd)
{
    const struct linger now = { .l_onoff = 1 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static int dial(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(dial_listener_port(scene.listener)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    PROMISE(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

/* Says the bytes, so many at once, as long as somebody listens. */
static void say(int fd, const uint8_t *bytes, size_t length, size_t at_once)
{
    for (size_t n; length > 0; bytes += n, length -= n) {
        n = length < at_once ? length : at_once;
        if (send(fd, bytes, n, MSG_NOSIGNAL) < 0)
            return;
        uv_run(&scene.loop, UV_RUN_NOWAIT);
    }
}

/* So many bytes, or those until the end. */
static size_t listen_for(int fd, uint8_t *bytes, size_t size)
{
    struct pollfd watched = { .fd = fd, .events = POLLIN };
    size_t have = 0;
    ssize_t n = 1;
    while (have < size && (n > 0 || (n < 0 && errno == EAGAIN))) {
        uv_run(&scene.loop, UV_RUN_NOWAIT);
        poll(&watched, 1, 1);
        n = recv(fd, bytes + have, size - have, MSG_DONTWAIT);
        have += n > 0 ? (size_t)n : 0;
    }
    return have;
}

/* ---- an unauthenticated client ---- */

static void be_unauthenticated(int fd, struct fuzz_input *input, size_t at_once)
{
    uint8_t heard[CHALLENGE_BYTES + 1];
    size_t length;
    uint8_t *bytes = fuzz_rest(input, &length);
    say(fd, bytes, length, at_once);
    shutdown(fd, SHUT_WR);
    size_t n = listen_for(fd, heard, sizeof heard);
    PROMISE(n == 0 || n == CHALLENGE_BYTES);
    PROMISE(n == 0 || (length > FRAME_HEADER_SIZE && bytes[4] == DIAL_HELLO));
    PROMISE(scene.nagents == 0);
    free(bytes);
}

/* ---- an agent ---- */

static void say_frame(int fd, uint16_t type, const struct wire_writer *body, size_t at_once)
{
    struct wire_writer frame = { 0 };
    frame_put(&frame, type, body->data, body->length);
    say(fd, frame.data, frame.length, at_once);
    wire_writer_fini(&frame);
}

static void be_agent(int fd, struct fuzz_input *input, uint8_t how, size_t at_once)
{
    struct dial_hello hello = { .version = DIAL_VERSION, .task = fuzz_u16(input) };
    struct dial_challenge challenge;
    struct wire_writer body = { 0 };
    struct wire_reader reader;
    struct job_key other = { { 0 } };
    uint8_t heard[CHALLENGE_BYTES + 1];
    unsigned char proof[PROOF_SIZE];
    nonce_generate(hello.nonce);
    fuzz_text(input, hello.node, sizeof hello.node);
    dial_hello_encode(&body, &hello);
    say_frame(fd, DIAL_HELLO, &body, at_once);
    PROMISE(listen_for(fd, heard, CHALLENGE_BYTES) == CHALLENGE_BYTES);
    wire_reader_init(&reader, heard + FRAME_HEADER_SIZE, CHALLENGE_BYTES - FRAME_HEADER_SIZE);
    PROMISE(dial_challenge_decode(&challenge, &reader, NULL) == HVD_OK);
    dial_prove(proof, DIAL_HVDRUN, &scene.key, &hello, challenge.nonce);
    PROMISE(auth_equal(proof, challenge.proof));
    dial_prove(proof, DIAL_AGENT, how & 4 ? &other : &scene.key, &hello, challenge.nonce);
    if (how & 2)
        proof[fuzz_u8(input) % PROOF_SIZE] ^= (unsigned char)(1 << fuzz_u8(input) % 8);
    body.length = 0;
    wire_put_bytes(&body, proof, sizeof proof);
    say_frame(fd, DIAL_PROOF, &body, at_once);
    PROMISE(listen_for(fd, heard, sizeof heard) == 0);
    PROMISE(scene.nagents == !(how & 6));
    if (scene.nagents)
        PROMISE(scene.hello.task == hello.task && strcmp(scene.hello.node, hello.node) == 0);
    wire_writer_fini(&body);
}

/* ---- messages ---- */

static bool invitation_again(struct wire_reader *reader, struct wire_writer *writer)
{
    struct dial_invitation message;
    if (dial_invitation_decode(&message, reader, NULL) != HVD_OK)
        return false;
    dial_invitation_encode(writer, &message);
    return true;
}

static bool hello_again(struct wire_reader *reader, struct wire_writer *writer)
{
    struct dial_hello message;
    if (dial_hello_decode(&message, reader, NULL) != HVD_OK)
        return false;
    dial_hello_encode(writer, &message);
    return true;
}

static bool challenge_again(struct wire_reader *reader, struct wire_writer *writer)
{
    struct dial_challenge message;
    if (dial_challenge_decode(&message, reader, NULL) != HVD_OK)
        return false;
    dial_challenge_encode(writer, &message);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    fuzz_round_trip(invitation_again, data, size);
    fuzz_round_trip(hello_again, data, size);
    fuzz_round_trip(challenge_again, data, size);
    memset(&scene, 0, sizeof scene);
    signal(SIGPIPE, SIG_IGN);
    job_key_generate(&scene.key);
    PROMISE(uv_loop_init(&scene.loop) == 0);
    scene.listener =
        dial_listener_open(&scene.loop, &scene.key, 0, 0, on_agent, NULL, &(struct err){ 0 });
    PROMISE(scene.listener);
    int fd = dial();
    uint8_t how = fuzz_u8(&input);
    size_t at_once = 1 + fuzz_u8(&input);
    if (how & 1)
        be_unauthenticated(fd, &input, at_once);
    else
        be_agent(fd, &input, how, at_once);
    dial_listener_close(scene.listener);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    PROMISE(listen_for(fd, &how, 1) == 0);
    hang_up(fd);
    PROMISE(uv_loop_close(&scene.loop) == 0);
    return 0;
}
