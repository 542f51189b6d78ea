/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives in flight, as Python objects.
 *
 *   pending -> ended      wait() has returned, or raised what became of the collective
 *
 * submit() starts a collective and returns a Handle. The Handle holds `keep`: the objects whose
 * memory the library reads and writes. wait() drops them in the end, so that no cycle of objects
 * outlives it. A Handle that the program drops before wait() leaves `keep` in a list of abandoned
 * collectives until the library is done with the memory, so that no tensor can be freed in flight.
 *
 * run() is submit() and wait() in one. It takes the short way of the blocking calls in C, without a
 * Handle.
 *
 * A name is taken until wait() has ended its handle, or poll() has found it done, or, for a Handle
 * that was dropped, until the next call that waits. So whether a name can be used again does not
 * depend on how fast the other ranks are.
 *
 * wait() and run() give up the GIL, and the library asks for signals (hvd_wait_interruptible()).
 * When a signal handler raises (Ctrl-C does), the call raises the same. The Handle stays pending:
 * the program may wait again, or drop it. What run() has started is abandoned.
 *
 * Fails when the library refuses the submission, when the collective fails, and when another thread
 * waits for the same Handle: exceptions of status_raise(). */
#include "_handle.h"

#include <stdlib.h>

static const char *const kind_names[KINDS] = { "ALLREDUCE", "ALLGATHER",     "BROADCAST",
                                               "ALLTOALL",  "REDUCESCATTER", "BARRIER",
                                               "JOIN" };

struct handle {
    PyObject_HEAD int64_t number;
    enum kind kind;
    bool pending;
    int count;                 /* of tensors, and of results */
    PyObject *keep;            /* owned; NULL when it has ended */
    PyObject *names;           /* owned; a list of those that are taken; NULL: none */
    struct handle *next, **at; /* while pending: the list, and what points to this one */
};

static PyObject *handle_type;
static struct handle *pending; /* all that wait() has not ended; the GIL guards the list */

static void handle_begin(struct handle *handle)
{
    handle->pending = true;
    handle->next = pending;
    handle->at = &pending;
    if (pending)
        pending->at = &handle->next;
    pending = handle;
}

static void handle_release_names(struct handle *handle)
{
    PyObject *names = handle->names;
    handle->names = NULL;
    names_release(names);
}

static void handle_end(struct handle *handle)
{
    handle_release_names(handle);
    if (!handle->pending)
        return;
    handle->pending = false;
    *handle->at = handle->next;
    if (handle->next)
        handle->next->at = handle->at;
    PyObject *keep = handle->keep;
    handle->keep = NULL;
    Py_XDECREF(keep);
}

/* ---- abandoned collectives; the GIL guards the list ---- */

struct abandoned {
    int64_t number;
    PyObject *keep, *names; /* owned */
    struct abandoned *next;
};

static struct abandoned *abandoned;

/* Frees what the library does not use any more. After a fork, and when the world has ended, no
 * handle exists, and hvd_poll() returns an error. */
static void abandoned_reap(void)
{
    for (struct abandoned **at = &abandoned; *at;) {
        struct abandoned *each = *at;
        int done = hvd_poll(each->number);
        if (done == 0) {
            at = &each->next;
            continue;
        }
        if (done > 0)
            hvd_wait(each->number);
        *at = each->next;
        names_release(each->names);
        Py_XDECREF(each->keep);
        free(each);
        at = &abandoned; /* what `keep` has freed may have changed the list */
    }
}

/* Takes `keep` and `names` over. Without memory for the list, `keep` is never freed. */
static void abandon(int64_t number, PyObject *keep, PyObject *names)
{
    struct abandoned *each = malloc(sizeof *each);
    if (!each)
        return;
    *each = (struct abandoned){ number, keep, names, abandoned };
    abandoned = each;
}

static void handle_abandon(struct handle *handle)
{
    abandon(handle->number, handle->keep, handle->names);
    handle->keep = handle->names = NULL;
    handle_end(handle);
}

/* ---- starting ---- */

static int start_group(const struct arguments *arguments, int64_t *number)
{
    const struct hvd_options *options = &arguments->options;
    enum hvd_op op = (enum hvd_op)arguments->op_or_root;
    switch (arguments->kind) {
    case ALLREDUCE:
        return hvd_grouped_allreduce_async(arguments->tensors, arguments->count, op, options,
                                           number);
    case ALLGATHER:
        return hvd_grouped_allgather_async(arguments->tensors, arguments->count, options, number);
    default:
        return hvd_grouped_reducescatter_async(arguments->tensors, arguments->count, op, options,
                                               number);
    }
}

static int start(const struct arguments *arguments, int64_t *number)
{
    const struct hvd_tensor *tensor = arguments->tensors;
    const struct hvd_options *options = &arguments->options;
    enum hvd_op op = (enum hvd_op)arguments->op_or_root;
    if (arguments->group)
        return start_group(arguments, number);
    switch (arguments->kind) {
    case ALLREDUCE:
        return hvd_allreduce_async(tensor, op, options, number);
    case ALLGATHER:
        return hvd_allgather_async(tensor, options, number);
    case BROADCAST:
        return hvd_broadcast_async(tensor, arguments->op_or_root, options, number);
    case ALLTOALL:
        return hvd_alltoall_async(tensor, arguments->splits, arguments->nsplits, options, number);
    case REDUCESCATTER:
        return hvd_reducescatter_async(tensor, op, options, number);
    case BARRIER:
        return hvd_barrier_async(options, number);
    default:
        return hvd_join_async(options, number);
    }
}

static struct handle *handle_create(const struct arguments *arguments)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)handle_type, Py_tp_alloc);
    struct handle *handle = (struct handle *)alloc((PyTypeObject *)handle_type, 0);
    if (!handle)
        return NULL;
    handle->kind = arguments->kind;
    handle->count = arguments->count > 0 ? arguments->count : 1;
    handle->keep = arguments->keep;
    Py_INCREF(handle->keep);
    return handle;
}

/* NULL with an exception. */
static struct handle *handle_start_with(const struct arguments *arguments)
{
    struct handle *handle = handle_create(arguments);
    if (!handle)
        return NULL;
    int rc = names_take(&handle->names, arguments->names, arguments->count,
                        arguments->options.process_set);
    if (rc == 0) {
        PyThreadState *thread = PyEval_SaveThread();
        rc = start(arguments, &handle->number);
        PyEval_RestoreThread(thread);
        if (rc < 0)
            status_raise(rc);
    }
    if (rc < 0) {
        Py_DECREF((PyObject *)handle);
        return NULL;
    }
    handle_begin(handle);
    return handle;
}

static struct handle *handle_start(PyObject *args)
{
    struct arguments arguments = { .count = 0 };
    struct handle *handle = NULL;
    if (arguments_read(&arguments, args) == 0)
        handle = handle_start_with(&arguments);
    arguments_free(&arguments);
    return handle;
}

/* ---- waiting ---- */

/* A thread that waits in the library, without the GIL. */
struct away {
    PyThreadState *thread;
    struct hvd_interrupt interrupt;
};

/* Signal handlers run here, in the main thread. 1 if one of them has raised; its exception stays
 * set. */
static int check_signals(void *arg)
{
    struct away *away = arg;
    PyEval_RestoreThread(away->thread);
    int raised = PyErr_CheckSignals() < 0;
    away->thread = PyEval_SaveThread();
    return raised;
}

static void away_begin(struct away *away)
{
    *away = (struct away){ PyEval_SaveThread(), { check_signals, away, 0 } };
}

static void away_end(struct away *away)
{
    PyEval_RestoreThread(away->thread);
}

/* Waits and ends the handle. 0, or -1 with an exception. */
static int handle_await(struct handle *handle, struct hvd_result *results)
{
    struct away away;
    if (abandoned)
        abandoned_reap();
    away_begin(&away);
    int rc = hvd_wait_interruptible(handle->number, &away.interrupt, results);
    away_end(&away);
    if (rc == HVD_ERR_INTERRUPTED)
        return -1;
    if (rc < 0)
        status_raise(rc); /* before hvd_poll() replaces the text of the failure */
    if (rc != HVD_ERR_INVALID || hvd_poll(handle->number) < 0)
        handle_end(handle);
    return rc < 0 ? -1 : 0;
}

static PyObject *handle_finish(struct handle *handle)
{
    struct hvd_result one = { .last_rank = -1 }, *results = &one;
    PyObject *answer = NULL;
    if (!handle->pending) {
        PyErr_SetString(PyExc_ValueError, "this handle was waited for already");
        return NULL;
    }
    if (handle->count > 1)
        results = calloc((size_t)handle->count, sizeof *results);
    if (!results)
        return PyErr_NoMemory();
    if (handle_await(handle, results) == 0)
        answer = results_of(handle->kind, results, handle->count);
    if (results != &one)
        free(results);
    return answer;
}

PyObject *handle_submit(PyObject *module, PyObject *args)
{
    (void)module;
    return (PyObject *)handle_start(args);
}

/* ---- both in one ---- */

/* A group, a barrier and a join have no short way. */
static PyObject *submit_and_wait(const struct arguments *arguments)
{
    struct handle *handle = handle_start_with(arguments);
    if (!handle)
        return NULL;
    PyObject *answer = handle_finish(handle);
    Py_DECREF((PyObject *)handle);
    return answer;
}

static int call(const struct arguments *arguments, const struct hvd_options *options,
                struct hvd_result *result)
{
    const struct hvd_tensor *tensor = arguments->tensors;
    enum hvd_op op = (enum hvd_op)arguments->op_or_root;
    switch (arguments->kind) {
    case ALLREDUCE:
        return hvd_allreduce_tensor(tensor, op, options);
    case ALLGATHER:
        return hvd_allgather_tensor(tensor, options, result);
    case BROADCAST:
        return hvd_broadcast_tensor(tensor, arguments->op_or_root, options);
    case ALLTOALL:
        return hvd_alltoall(tensor, arguments->splits, arguments->nsplits, options, result);
    default:
        return hvd_reducescatter(tensor, op, options);
    }
}

/* The interrupted collective still uses `keep`, and its name. */
static void abandon_call(const struct arguments *arguments, int64_t number)
{
    PyObject *type, *value, *traceback, *names;
    PyErr_Fetch(&type, &value, &traceback);
    if (names_take(&names, arguments->names, arguments->count, arguments->options.process_set) < 0)
        PyErr_Clear(); /* no memory for the name */
    Py_INCREF(arguments->keep);
    abandon(number, arguments->keep, names);
    PyErr_Restore(type, value, traceback);
}

static PyObject *call_and_wait(const struct arguments *arguments)
{
    struct away away;
    struct hvd_result result = { .last_rank = -1 };
    struct hvd_options options = arguments->options;
    if (names_check(arguments->names, arguments->count, options.process_set) < 0)
        return NULL;
    away_begin(&away);
    options.interrupt = &away.interrupt;
    int rc = call(arguments, &options, &result);
    away_end(&away);
    if (rc == HVD_ERR_INTERRUPTED) {
        abandon_call(arguments, away.interrupt.handle);
        return NULL;
    }
    return rc < 0 ? status_raise(rc) : results_of(arguments->kind, &result, 1);
}

PyObject *handle_run(PyObject *module, PyObject *args)
{
    struct arguments arguments = { .count = 0 };
    PyObject *answer = NULL;
    (void)module;
    if (abandoned)
        abandoned_reap();
    if (arguments_read(&arguments, args) == 0)
        answer = arguments.group || arguments.count == 0 ? submit_and_wait(&arguments)
                                                         : call_and_wait(&arguments);
    arguments_free(&arguments);
    return answer;
}

/* ---- the type ---- */

static PyObject *handle_wait(PyObject *self, PyObject *none)
{
    (void)none;
    return handle_finish((struct handle *)self);
}

static PyObject *handle_poll(PyObject *self, PyObject *none)
{
    const struct handle *handle = (struct handle *)self;
    (void)none;
    if (!handle->pending) {
        PyErr_SetString(PyExc_ValueError, "this handle was waited for already");
        return NULL;
    }
    int done = hvd_poll(handle->number);
    if (done > 0)
        handle_release_names((struct handle *)self);
    return done < 0 ? status_raise(done) : PyBool_FromLong(done);
}

static PyObject *handle_pending(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((struct handle *)self)->pending);
}

static PyObject *handle_keep(PyObject *self, void *closure)
{
    PyObject *keep = ((struct handle *)self)->keep;
    (void)closure;
    if (!keep)
        keep = Py_None;
    Py_INCREF(keep);
    return keep;
}

static PyObject *handle_repr(PyObject *self)
{
    const struct handle *handle = (struct handle *)self;
    return PyUnicode_FromFormat("<hvd.Handle %lld of %s, %s>", (long long)handle->number,
                                kind_names[handle->kind], handle->pending ? "in flight" : "ended");
}

static void handle_dealloc(PyObject *self)
{
    struct handle *handle = (struct handle *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    if (handle->pending)
        handle_abandon(handle);
    names_release(handle->names);
    Py_XDECREF(handle->keep);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef handle_methods[] = {
    { "wait", handle_wait, METH_NOARGS, "Wait until the collective is done, once." },
    { "poll", handle_poll, METH_NOARGS, "True when wait() would return at once." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef handle_attributes[] = {
    { "pending", handle_pending, NULL, "True until wait() has returned.", NULL },
    { "keep", handle_keep, NULL, "The objects whose memory the collective uses; None after wait().",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot handle_slots[] = {
    { Py_tp_doc, "A collective in flight, from submit()." },
    { Py_tp_dealloc, handle_dealloc },
    { Py_tp_repr, handle_repr },
    { Py_tp_methods, handle_methods },
    { Py_tp_getset, handle_attributes },
    { 0, NULL },
};

static PyType_Spec handle_spec = {
    .name = "hvd.Handle",
    .basicsize = sizeof(struct handle),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = handle_slots,
};

int handle_define(PyObject *module)
{
    handle_type = PyType_FromSpec(&handle_spec);
    if (!handle_type || names_define() < 0)
        return -1;
    Py_INCREF(handle_type);
    if (PyModule_AddObject(module, "Handle", handle_type) < 0)
        return -1;
    for (int kind = 0; kind < KINDS; kind++)
        if (PyModule_AddIntConstant(module, kind_names[kind], kind) < 0)
            return -1;
    return 0;
}
