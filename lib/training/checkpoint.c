/* SPDX-License-Identifier: Apache-2.0 */
/* Saving and restoring checkpoints, on all ranks together:
 *   save:    every rank checks its list; the first rank of the set writes the file, and tells the
 *            others the result.
 *   restore: every rank checks its list, and all compare them; the first rank checks the file and
 *            tells the result; reads it into its own tensors and scalars, and tells that; then
 *            the contents are broadcast.
 * Fails when a list is wrong or the lists differ, when the first rank fails, and as the collectives
 * do. Until the first rank begins to read data, nothing is changed on any rank.
 *
 * Texts about the file begin with its name, texts about the broadcast of tensors and scalars with
 * the name of that call, and all others with "checkpoint". */
#include "lib/hvd_training.h"

#include "lib/base/text.h"
#include "lib/device/device_copy.h"
#include "lib/process.h"
#include "lib/training/agreement.h"
#include "lib/training/call.h"
#include "lib/training/checkpoint_file.h"
#include "lib/training/checkpoint_list.h"

#include <stdlib.h>
#include <string.h>

struct job {
    const char *path;
    int process_set;
    int first;   /* first rank of the set, in the world: it has the file */
    bool has_it; /* is this rank the first? */
    struct checkpoint_list list;
};

/* ---- common to both ---- */

static int fail_call(struct err *err)
{
    return fail_context(err, "checkpoint");
}

static int fail_file(struct err *err, const char *path)
{
    char shown[CHECKPOINT_PATH_SHOWN + 1];
    return fail_context(err, "%s", checkpoint_path_text(shown, path));
}

static int check_own_list(struct job *job, const struct hvd_checkpoint *checkpoint, struct err *err)
{
    if (!job->path || job->path[0] == '\0')
        return fail(err, HVD_ERR_INVALID, "the file has no name");
    if (!checkpoint)
        return fail(err, HVD_ERR_INVALID, "there is no checkpoint");
    return checkpoint_list_init(&job->list, checkpoint, err);
}

/* A mistake of this rank is then in `own`: all ranks have to learn of it. */
static int job_init(struct job *job, const char *path, const struct hvd_checkpoint *checkpoint,
                    int process_set, struct err *own, struct err *err)
{
    *own = (struct err){ .code = HVD_OK };
    *job = (struct job){ .path = path, .process_set = process_set };
    check_own_list(job, checkpoint, own);
    job->first = call_first_rank(process_set, err);
    if (job->first < 0)
        return call_own_mistake_first(job->first, own, err);
    job->has_it = hvd_rank() == job->first;
    return HVD_OK;
}

static void job_fini(struct job *job)
{
    checkpoint_list_fini(&job->list);
}

/* The first rank has done its part, or has failed. All ranks get its result. */
static int checkpoint_tell(const struct job *job, const struct err *own, struct err *err)
{
    struct err told = *own;
    int rc = call_broadcast_bytes("hvd.checkpoint.told", job->process_set, &told, sizeof told,
                                  job->first, err);
    if (rc < 0)
        return fail_call(err);
    if (told.code == HVD_OK)
        return HVD_OK;
    told.text[sizeof told.text - 1] = '\0';
    text_make_line(told.text);
    return fail(err, told.code < 0 ? told.code : HVD_ERR_PROTOCOL, "%s", told.text);
}

/* ---- save ---- */

static int copy_entry(void *arg, size_t entry, uint64_t at, void *bytes, size_t nbytes,
                      struct err *err)
{
    const struct checkpoint_list *list = arg;
    const struct checkpoint_memory *memory = &list->memory[entry];
    const char *data = (const char *)memory->data + at;
    if (memory->device != 0)
        return device_read(memory->device, bytes, data, nbytes, err);
    memcpy(bytes, data, nbytes);
    return HVD_OK;
}

static int save(struct job *job, struct err *err)
{
    struct err own = { .code = HVD_OK };
    if (job->has_it)
        checkpoint_file_write(job->path, job->list.entries, job->list.count, copy_entry, &job->list,
                              &own);
    return checkpoint_tell(job, &own, err);
}

int hvd_checkpoint_save(const char *file, const struct hvd_checkpoint *checkpoint, int process_set)
{
    struct job job;
    struct err own, err = { .code = HVD_OK };
    int rc = job_init(&job, file, checkpoint, process_set, &own, &err);
    if (rc == HVD_OK)
        rc = agreement_complete("checkpoint", process_set, &own, &err);
    if (rc < 0)
        fail_call(&err);
    else
        rc = save(&job, &err);
    job_fini(&job);
    return process_answer(rc, &err);
}

/* ---- restore ---- */

/* The other ranks' lists must equal the first rank's: only the first is compared with the file. */
static int compare_lists(const struct job *job, struct err *own, struct err *err)
{
    struct wire_writer lines = { 0 };
    checkpoint_list_put_lines(&lines, &job->list);
    if (lines.failed && own->code == HVD_OK)
        fail(own, HVD_ERR_NOMEM, "out of memory");
    const char *text = lines.failed ? "" : (const char *)lines.data;
    int rc = agreement_conclude("checkpoint", job->process_set, own, text, err);
    wire_writer_fini(&lines);
    return rc;
}

/* On the first rank: the file, and the place in the file of each entry of the list. */
struct source {
    struct checkpoint_file file;
    size_t *places; /* owned */
};

static int source_open(struct source *source, const struct job *job, struct err *err)
{
    const struct checkpoint_list *list = &job->list;
    int rc = checkpoint_file_open(&source->file, job->path, err);
    if (rc < 0)
        return rc;
    source->places = calloc(list->count + 1, sizeof *source->places);
    if (source->places)
        rc = checkpoint_list_match(list, source->file.entries, source->file.count, source->places,
                                   err);
    else
        rc = fail(err, HVD_ERR_NOMEM, "out of memory");
    return rc < 0 ? fail_file(err, job->path) : HVD_OK;
}

static void source_close(struct source *source)
{
    checkpoint_file_close(&source->file);
    free(source->places);
}

enum { PIECE = 1 << 20 };

static int read_into_device(const struct checkpoint_file *file, size_t place,
                            const struct checkpoint_memory *memory, struct err *err)
{
    uint64_t nbytes = file->entries[place].nbytes;
    char *piece = malloc(PIECE);
    int rc = piece ? HVD_OK : fail(err, HVD_ERR_NOMEM, "checkpoint: out of memory");
    for (uint64_t at = 0; at < nbytes && rc == HVD_OK; at += PIECE) {
        size_t part = nbytes - at < PIECE ? (size_t)(nbytes - at) : PIECE;
        rc = checkpoint_file_read(file, place, at, piece, part, err);
        if (rc < 0)
            break;
        rc = device_write(memory->device, (char *)memory->data + at, piece, part, err);
        if (rc < 0)
            fail_file(err, file->path);
    }
    free(piece);
    return rc;
}

static int read_data(const struct source *source, const struct checkpoint_list *list,
                     struct err *err)
{
    int rc = HVD_OK;
    for (size_t i = 0; i < list->count && rc == HVD_OK; i++) {
        const struct checkpoint_memory *memory = &list->memory[i];
        if (memory->device != 0)
            rc = read_into_device(&source->file, source->places[i], memory, err);
        else
            rc = checkpoint_file_read(&source->file, source->places[i], 0, memory->data,
                                      (size_t)list->entries[i].nbytes, err);
    }
    return rc;
}

static int take_over(struct job *job, struct source *source, struct err *err)
{
    struct err own = { .code = HVD_OK };
    if (job->has_it)
        source_open(source, job, &own);
    int rc = checkpoint_tell(job, &own, err);
    if (rc < 0)
        return rc;
    if (job->has_it)
        read_data(source, &job->list, &own);
    return checkpoint_tell(job, &own, err);
}

static int checkpoint_broadcast(const struct job *job, const struct hvd_checkpoint *checkpoint,
                                struct err *err)
{
    int rc = hvd_broadcast_optimizer_state(checkpoint->tensors, checkpoint->ntensors,
                                           checkpoint->scalars, checkpoint->nscalars, job->first,
                                           job->process_set);
    return call_answer(rc, err);
}

static int restore(struct job *job, const struct hvd_checkpoint *checkpoint, struct err *err)
{
    struct source source = { .file = { .fd = -1 } };
    int rc = take_over(job, &source, err);
    source_close(&source);
    return rc < 0 ? rc : checkpoint_broadcast(job, checkpoint, err);
}

int hvd_checkpoint_restore(const char *file, const struct hvd_checkpoint *checkpoint,
                           int process_set)
{
    struct job job;
    struct err own, err = { .code = HVD_OK };
    int rc = job_init(&job, file, checkpoint, process_set, &own, &err);
    if (rc == HVD_OK)
        rc = compare_lists(&job, &own, &err);
    if (rc < 0)
        fail_call(&err);
    else
        rc = restore(&job, checkpoint, &err);
    job_fini(&job);
    return process_answer(rc, &err);
}
