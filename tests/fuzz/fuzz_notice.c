/* SPDX-License-Identifier: Apache-2.0 */
/* What an unmodified Horovod worker tells of its notification service, and what this service
 * answers (worker_notice.h).
 *
 *   u8: bit 0 addresses in base64, as they are; bit 1 addresses, put into base64 here; else an answer: bit 2 to a ping,
 *   bit 3 with a proof and a length that are right; the bytes
 *
 * Whatever it is: nothing behind it is read, addresses are no more than fit and have a port, and an
 * answer without a right proof is refused. */
#include "launcher/elastic/worker_notice.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char key[WORKER_NOTICE_KEY_SIZE] = "a key of thirty-two bytes, as is";

static void read_addresses(const char *text, size_t length)
{
    struct worker_address address;
    struct err err;
    if (worker_address_parse(&address, text, length, &err) < 0) {
        PROMISE(err.code == HVD_ERR_PROTOCOL && *err.text);
        return;
    }
    PROMISE(address.count >= 1 && address.count <= WORKER_ADDRESSES_MAX);
    for (int i = 0; i < address.count; i++)
        PROMISE(address.at[i].port > 0);
}

static void read_encoded(const uint8_t *data, size_t size)
{
    size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(room);
    PROMISE(text);
    sodium_bin2base64(text, room, data, size, sodium_base64_VARIANT_ORIGINAL);
    read_addresses(text, strlen(text));
    free(text);
}

static void read_answer(const uint8_t *data, size_t size, bool ping, bool proved)
{
    enum { HEAD = 36 };
    struct err err;
    size_t head = proved ? HEAD : 0;
    unsigned char *answer = malloc(head + size); /* so that a read beyond it is seen */
    PROMISE(answer || head + size == 0);
    if (size > 0)
        memcpy(answer + head, data, size);
    if (proved) {
        crypto_auth_hmacsha256(answer, data, size, key);
        for (int i = 0; i < 4; i++)
            answer[32 + i] = (unsigned char)(size >> (8 * i));
    }
    int rc = worker_notice_check(ping ? WORKER_PING : WORKER_HOSTS_UPDATED, key, answer,
                                 head + size, &err);
    PROMISE(rc == HVD_OK || (err.code == HVD_ERR_PROTOCOL && *err.text));
    PROMISE(rc != HVD_OK || proved);
    free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    uint8_t how = fuzz_u8(&input);
    const uint8_t *rest = data + (size - input.left);
    if (how & 1)
        read_addresses((const char *)rest, input.left);
    else if (how & 2)
        read_encoded(rest, input.left);
    else
        read_answer(rest, input.left, how & 4, how & 8);
    return 0;
}
