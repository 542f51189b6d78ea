/* SPDX-License-Identifier: Apache-2.0 */
/* Records of all ranks; see directory.h. */
#include "lib/engine/directory.h"

#include "lib/base/text.h"
#include "lib/negotiation/pending.h"

#include <stdlib.h>
#include <string.h>

/* The beginning of a rank's record, and the number of its host. */
struct entry {
    size_t start;
    int host;
};

struct host {
    int resident; /* the first rank there */
    uint64_t hash;
};

struct directory {
    int size, nhosts;
    bool everywhere;
    unsigned char *records;
    size_t nbytes;
    struct entry *entries; /* of each rank */
    struct host *hosts;    /* room for one of each rank */
};

static int read_record(struct wire_reader *reader, int rank, struct join_peer *peer,
                       struct err *err)
{
    join_peer_decode(peer, reader);
    if (reader->failed || peer->rank != rank)
        return fail(err, HVD_ERR_PROTOCOL, "rank %d does not say where it is", rank);
    text_make_line(peer->host);
    return HVD_OK;
}

static int check_end(const struct wire_reader *reader, struct err *err)
{
    if (wire_reader_finished(reader))
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "%zu bytes too many say where ranks are", reader->left);
}

int directory_check(const void *records, size_t nbytes, int first, int end, struct err *err)
{
    struct wire_reader reader;
    struct join_peer peer;
    wire_reader_init(&reader, records, nbytes);
    for (int rank = first; rank < end; rank++) {
        int rc = read_record(&reader, rank, &peer, err);
        if (rc < 0)
            return rc;
    }
    return check_end(&reader, err);
}

static bool is_host(const struct directory *directory, int number, const char *name, uint64_t hash)
{
    struct join_peer peer;
    const struct host *host = &directory->hosts[number];
    if (host->hash != hash)
        return false;
    directory_find(directory, host->resident, &peer);
    return strcmp(peer.host, name) == 0;
}

/* Ranks of one host mostly follow each other. */
static int number_host(struct directory *directory, int rank, const char *name)
{
    uint64_t hash = name_hash(name, strlen(name));
    int last = rank > 0 ? directory->entries[rank - 1].host : 0;
    if (rank > 0 && is_host(directory, last, name, hash))
        return last;
    for (int i = 0; i < directory->nhosts; i++)
        if (is_host(directory, i, name, hash))
            return i;
    directory->hosts[directory->nhosts] = (struct host){ rank, hash };
    return directory->nhosts++;
}

static int enter_all(struct directory *directory, struct err *err)
{
    struct wire_reader reader;
    struct join_peer peer;
    wire_reader_init(&reader, directory->records, directory->nbytes);
    for (int rank = 0; rank < directory->size; rank++) {
        struct entry *entry = &directory->entries[rank];
        entry->start = directory->nbytes - reader.left;
        int rc = read_record(&reader, rank, &peer, err);
        if (rc < 0)
            return rc;
        entry->host = number_host(directory, rank, peer.host);
        directory->everywhere &= peer.addresses.count > 0;
    }
    return check_end(&reader, err);
}

static bool directory_make_room(struct directory *directory, const void *records)
{
    size_t size = (size_t)directory->size;
    directory->records = malloc(directory->nbytes + 1);
    directory->entries = calloc(size, sizeof *directory->entries);
    directory->hosts = calloc(size, sizeof *directory->hosts);
    if (!directory->records || !directory->entries || !directory->hosts)
        return false;
    if (directory->nbytes > 0)
        memcpy(directory->records, records, directory->nbytes);
    return true;
}

struct directory *directory_create(const void *records, size_t nbytes, int size, struct err *err)
{
    struct directory *directory = malloc(sizeof *directory);
    if (directory) {
        *directory = (struct directory){ .size = size, .nbytes = nbytes, .everywhere = true };
        if (directory_make_room(directory, records)) {
            if (enter_all(directory, err) == HVD_OK)
                return directory;
            directory_destroy(directory);
            return NULL;
        }
    }
    directory_destroy(directory);
    fail(err, HVD_ERR_NOMEM, "out of memory");
    return NULL;
}

void directory_destroy(struct directory *directory)
{
    if (!directory)
        return;
    free(directory->records);
    free(directory->entries);
    free(directory->hosts);
    free(directory);
}

void directory_find(const struct directory *directory, int rank, struct join_peer *peer)
{
    struct wire_reader reader;
    size_t start = directory->entries[rank].start;
    wire_reader_init(&reader, directory->records + start, directory->nbytes - start);
    join_peer_decode(peer, &reader);
    text_make_line(peer->host);
}

int directory_host(const struct directory *directory, int rank)
{
    return directory->entries[rank].host;
}

bool directory_is_everywhere(const struct directory *directory)
{
    return directory->everywhere;
}
