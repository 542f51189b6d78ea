/* SPDX-License-Identifier: Apache-2.0 */
/* What a process manager says (lib/pmi), over PMI_FD or through the key-value space:
 *
 *   u8 0, 1: a stream of PMI-1 or PMI-2 messages
 *   u8 2:    a mapping of ranks to nodes;  u8 3: a place to meet
 *   u8 4, 5: a whole session of PMI-1 or PMI-2, all of whose answers are there from the start
 *
 * Whatever comes: what is read lies within the message and is terminated; a place to meet that is
 * accepted is written and read again as it was; a session ends. */
#include "lib/base/rank_info.h"
#include "lib/pmi/contact.h"
#include "lib/pmi/pmi_mapping.h"
#include "lib/pmi/pmi_message.h"
#include "lib/pmi/process_manager.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void read_messages(enum pmi_dialect dialect, struct fuzz_input *input)
{
    static struct pmi_message message;
    struct err err = { 0 };
    size_t length;
    int whole, number = 0;
    char *data = (char *)fuzz_rest(input, &length);
    const char *at = data;
    while ((whole = pmi_message_length(dialect, at, length, &err)) > 0) {
        PROMISE((size_t)whole <= length && whole <= PMI_MESSAGE_MAX);
        if (pmi_message_read(&message, dialect, at, (size_t)whole, &err) == HVD_OK) {
            PROMISE(message.nfields <= PMI_FIELDS_MAX);
            for (int i = 0; i < message.nfields; i++)
                PROMISE(pmi_message_get(&message, message.fields[i].name) != NULL);
            (void)pmi_message_expect(&message, "get_result", &err);
            if (pmi_message_number(&message, "rank", 0, 7, &number, &err) == HVD_OK)
                PROMISE(number >= 0 && number <= 7);
        }
        at += whole;
        length -= (size_t)whole;
    }
    free(data);
}

static void read_mapping(struct fuzz_input *input)
{
    int local_rank, local_size, size = 1 + fuzz_u16(input) % 300, rank = fuzz_u16(input) % size;
    char *text = fuzz_rest_text(input);
    if (pmi_mapping_place(text, rank, size, &local_rank, &local_size))
        PROMISE(0 <= local_rank && local_rank < local_size && local_size <= size);
    free(text);
}

static void read_contact(struct fuzz_input *input)
{
    struct contact contact, again;
    char *text = fuzz_rest_text(input), written[PROCESS_MANAGER_VALUE_MAX];
    if (contact_parse(&contact, text, NULL) == HVD_OK) {
        PROMISE(contact.addresses.count > 0);
        contact_format(written, &contact, HVD_OK);
        bool whole = strlen(text) < sizeof written && !strstr(text, "unix:");
        int rc = contact_parse(&again, written, NULL);
        if (whole) {
            PROMISE(rc == HVD_OK && again.addresses.count == contact.addresses.count);
            PROMISE(again.has_key == contact.has_key && strcmp(again.host, contact.host) == 0);
        }
    }
    free(text);
}

/* ---- sessions ---- */

static char descriptor[16];

static const char *get(const char *name)
{
    return strcmp(name, "PMI_FD") == 0      ? descriptor
           : strcmp(name, "PMI_RANK") == 0  ? "1"
           : strcmp(name, "PMI_SIZE") == 0  ? "4"
           : strcmp(name, "PMI_JOBID") == 0 ? "1.0"
                                            : NULL;
}

enum { ANSWERS_MAX = 65536 }; /* which a socket takes in one piece */

static void run_session(const struct process_manager *manager, struct fuzz_input *input)
{
    struct process_manager_place place;
    struct err err = { 0 };
    char value[PROCESS_MANAGER_VALUE_MAX] = "";
    int ends[2];
    void *session;
    size_t length;
    uint8_t *answers = fuzz_rest(input, &length);
    length = length < ANSWERS_MAX ? length : ANSWERS_MAX;
    PROMISE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    PROMISE(length == 0 || send(ends[1], answers, length, 0) == (ssize_t)length);
    shutdown(ends[1], SHUT_WR); /* what is asked is not read, and fits */
    snprintf(descriptor, sizeof descriptor, "%d", ends[0]);
    if (manager->open(&session, &place, get, UINT64_MAX / 2, &err) == HVD_OK) {
        PROMISE(0 <= place.rank && place.rank < place.size && place.size <= WORLD_SIZE_MAX);
        if (manager->exchange(session, value, UINT64_MAX / 2, &err) == HVD_OK)
            PROMISE(memchr(value, '\0', sizeof value) != NULL);
        manager->close(session);
    } else {
        PROMISE(memchr(err.text, '\0', sizeof err.text) != NULL && *err.text);
    }
    close(ends[0]);
    close(ends[1]);
    free(answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    switch (fuzz_u8(&input) % 6) {
    case 0:
        read_messages(PMI1, &input);
        break;
    case 1:
        read_messages(PMI2, &input);
        break;
    case 2:
        read_mapping(&input);
        break;
    case 3:
        read_contact(&input);
        break;
    case 4:
        run_session(&process_manager_pmi1, &input);
        break;
    default:
        run_session(&process_manager_pmi2, &input);
    }
    return 0;
}
