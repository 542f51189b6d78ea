/* SPDX-License-Identifier: Apache-2.0 */
/* Memory; see stand_in.h. A piece of a GPU's memory is a file without a name, mapped twice: where
 * the stand-in works, and, without access, at the address that callers know. */
#include "tests/stand_in_cuda/stand_in.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind { DEVICE, MANAGED, PINNED, IMPORTED };

struct piece {
    enum kind kind;
    bool can_be_exported;
    int ordinal, fd;
    int context;                     /* imported: the GPU in whose context it was opened */
    unsigned char *address, *memory; /* as callers know it; as it is used here */
    size_t nbytes, mapped;
    struct piece *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;

static void add_piece(const struct piece *like)
{
    struct piece *piece = malloc(sizeof *piece);
    if (!piece)
        abort();
    *piece = *like;
    pthread_mutex_lock(&lock);
    piece->next = pieces;
    pieces = piece;
    pthread_mutex_unlock(&lock);
}

/* Called under the lock: the piece that has the address, or NULL. */
static struct piece **find_piece(uint64_t address)
{
    struct piece **link = &pieces;
    while (*link && (address < (uintptr_t)(*link)->address ||
                     address - (uintptr_t)(*link)->address >= (*link)->nbytes))
        link = &(*link)->next;
    return link;
}

/* Copies what is known about an address; false when nothing is. */
static bool look_up(uint64_t address, struct piece *found)
{
    pthread_mutex_lock(&lock);
    const struct piece *piece = *find_piece(address);
    if (piece)
        *found = *piece;
    pthread_mutex_unlock(&lock);
    return piece;
}

static void *pointer_in(const struct piece *piece, uint64_t address, size_t nbytes)
{
    size_t at = address - (uintptr_t)piece->address;
    return nbytes <= piece->nbytes - at ? piece->memory + at : NULL;
}

void *stand_in_pointer(uint64_t memory, size_t nbytes)
{
    struct piece piece;
    return look_up(memory, &piece) && piece.kind != PINNED ? pointer_in(&piece, memory, nbytes)
                                                           : NULL;
}

void *stand_in_host_pointer(const void *host, size_t nbytes)
{
    struct piece piece;
    return look_up((uintptr_t)host, &piece) && piece.kind == PINNED
               ? pointer_in(&piece, (uintptr_t)host, nbytes)
               : NULL;
}

static int map_piece(struct piece *piece)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    piece->mapped = (piece->nbytes + page - 1) / page * page;
    piece->memory = mmap(NULL, piece->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, piece->fd, 0);
    piece->address =
        mmap(NULL, piece->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return piece->memory == MAP_FAILED || piece->address == MAP_FAILED ? CUDA_OUT_OF_MEMORY
                                                                       : CUDA_OK;
}

static int make_piece(int ordinal, size_t nbytes, bool can_be_exported, uint64_t *memory)
{
    struct piece piece = {
        .kind = DEVICE, .can_be_exported = can_be_exported, .ordinal = ordinal, .nbytes = nbytes
    };
    piece.fd = memfd_create("stand_in_cuda", MFD_CLOEXEC);
    if (piece.fd < 0 || ftruncate(piece.fd, (off_t)nbytes) < 0 || map_piece(&piece) != CUDA_OK)
        return CUDA_OUT_OF_MEMORY;
    add_piece(&piece);
    *memory = (uintptr_t)piece.address;
    return CUDA_OK;
}

void *stand_in_alloc(int ordinal, bool managed, size_t nbytes)
{
    uint64_t memory = 0;
    struct piece piece = {
        .kind = MANAGED, .ordinal = ordinal, .nbytes = nbytes, .mapped = nbytes, .fd = -1
    };
    if (!managed)
        return make_piece(ordinal, nbytes, false, &memory) == CUDA_OK ? (void *)(uintptr_t)memory
                                                                      : NULL;
    piece.memory = piece.address =
        mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    add_piece(&piece);
    return piece.address;
}

static void release_piece(struct piece *piece)
{
    munmap(piece->memory, piece->mapped);
    if (piece->kind == DEVICE || piece->kind == IMPORTED) {
        munmap(piece->address, piece->mapped);
        flock(piece->fd, LOCK_UN); /* a child of fork() has the descriptor, too */
        close(piece->fd);
    }
    free(piece);
}

/* Processes that have opened the piece hold a lock on its file. */
static void require_unopened(const struct piece *piece)
{
    if (piece->kind != DEVICE || flock(piece->fd, LOCK_EX | LOCK_NB) == 0)
        return;
    fprintf(stderr, "stand_in_cuda: memory is freed that another process has open\n");
    abort();
}

/* No stream may use it any more. */
static int unmap_piece(uint64_t address, enum kind kind)
{
    pthread_mutex_lock(&lock);
    struct piece **link = find_piece(address), *piece = *link;
    if (piece && (piece->kind != kind || address != (uintptr_t)piece->address))
        piece = NULL;
    if (piece)
        *link = piece->next;
    pthread_mutex_unlock(&lock);
    if (!piece)
        return CUDA_INVALID_VALUE;
    require_unopened(piece);
    release_piece(piece);
    return CUDA_OK;
}

static int remove_piece(uint64_t address, enum kind kind)
{
    stand_in_drain();
    return unmap_piece(address, kind);
}

void stand_in_release(void *memory)
{
    if (remove_piece((uintptr_t)memory, DEVICE) != CUDA_OK)
        remove_piece((uintptr_t)memory, MANAGED);
}

int stand_in_call_mem_alloc(uint64_t *memory, size_t nbytes)
{
    int result = stand_in_enter("cuMemAlloc", true);
    if (result == CUDA_OK && nbytes == 0)
        result = CUDA_INVALID_VALUE;
    return result == CUDA_OK ? make_piece(stand_in_current(), nbytes, true, memory) : result;
}

int stand_in_call_mem_free(uint64_t memory)
{
    int result = stand_in_enter("cuMemFree", true);
    return result == CUDA_OK ? remove_piece(memory, DEVICE) : result;
}

int stand_in_call_mem_alloc_async(uint64_t *memory, size_t nbytes, struct cuda_stream *stream)
{
    int result = stand_in_enter("cuMemAllocAsync", true);
    if (result == CUDA_OK && (nbytes == 0 || !stream))
        result = CUDA_INVALID_VALUE;
    if (result == CUDA_OK && stand_in_number("pools", 0) == 0)
        result = CUDA_NOT_SUPPORTED;
    return result == CUDA_OK ? make_piece(stand_in_current(), nbytes, false, memory) : result;
}

static int free_in_order(void *arg)
{
    const uint64_t *memory = arg;
    return unmap_piece(*memory, DEVICE);
}

int stand_in_call_mem_free_async(uint64_t memory, struct cuda_stream *stream)
{
    int result = stand_in_enter("cuMemFreeAsync", true);
    uint64_t *kept = result == CUDA_OK ? malloc(sizeof *kept) : NULL;
    if (!kept)
        return result == CUDA_OK ? CUDA_OUT_OF_MEMORY : result;
    *kept = memory;
    return stand_in_enqueue(stream, free_in_order, kept);
}

int stand_in_call_host_alloc(void **memory, size_t nbytes, unsigned flags)
{
    struct piece piece = { .kind = PINNED, .nbytes = nbytes, .mapped = nbytes, .fd = -1 };
    int result = stand_in_enter("cuMemHostAlloc", true);
    if (result == CUDA_OK && flags != CUDA_HOST_ALLOC_PORTABLE)
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    piece.memory = piece.address =
        mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    add_piece(&piece);
    *memory = piece.memory;
    return CUDA_OK;
}

int stand_in_call_host_free(void *memory)
{
    int result = stand_in_enter("cuMemFreeHost", true);
    return result == CUDA_OK ? remove_piece((uintptr_t)memory, PINNED) : result;
}

int stand_in_call_pointer_get_attribute(void *value, int attribute, uint64_t memory)
{
    struct piece piece;
    int result = stand_in_enter("cuPointerGetAttribute", true);
    if (result == CUDA_OK && !look_up(memory, &piece))
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    if (attribute == CUDA_POINTER_ORDINAL)
        *(int *)value = piece.ordinal;
    else if (attribute == CUDA_POINTER_IS_MANAGED)
        *(unsigned *)value = piece.kind == MANAGED;
    else if (attribute == CUDA_POINTER_MEMORY_TYPE)
        *(unsigned *)value = piece.kind == PINNED ? 1 : CUDA_MEMORY_DEVICE;
    else
        return CUDA_INVALID_VALUE;
    return CUDA_OK;
}

/* ---- memory of other processes ---- */

struct stand_in_file stand_in_file_of(uint64_t memory)
{
    struct piece piece;
    bool good =
        look_up(memory, &piece) && piece.can_be_exported && memory == (uintptr_t)piece.address;
    return (struct stand_in_file){ good ? piece.fd : -1, piece.ordinal, piece.nbytes };
}

int stand_in_import(const struct stand_in_file *file, uint64_t *memory)
{
    struct piece piece = { .kind = IMPORTED,
                           .ordinal = file->ordinal,
                           .fd = file->fd,
                           .nbytes = file->nbytes,
                           .context = stand_in_current() };
    if (map_piece(&piece) != CUDA_OK)
        return CUDA_OUT_OF_MEMORY;
    add_piece(&piece);
    *memory = (uintptr_t)piece.address;
    return CUDA_OK;
}

int stand_in_unimport(uint64_t memory)
{
    int result = CUDA_INVALID_VALUE;
    stand_in_drain();
    pthread_mutex_lock(&lock);
    struct piece **link = find_piece(memory), *piece = *link;
    if (piece && piece->kind == IMPORTED && memory == (uintptr_t)piece->address)
        result = piece->context == stand_in_current() ? CUDA_OK : CUDA_INVALID_CONTEXT;
    if (result == CUDA_OK)
        *link = piece->next;
    pthread_mutex_unlock(&lock);
    if (result == CUDA_OK)
        release_piece(piece);
    return result;
}

void stand_in_count_memory(struct stand_in_holdings *holdings)
{
    pthread_mutex_lock(&lock);
    for (const struct piece *piece = pieces; piece; piece = piece->next) {
        holdings->pieces += piece->kind == DEVICE;
        holdings->pinned += piece->kind == PINNED;
        holdings->imported += piece->kind == IMPORTED;
    }
    pthread_mutex_unlock(&lock);
}
