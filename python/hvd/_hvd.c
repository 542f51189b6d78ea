/* SPDX-License-Identifier: Apache-2.0 */
/* The extension module hvd._hvd: hvd.h for Python. The rest of the package is Python.
 *
 *   world      init, shutdown, rank and size calls, process sets, timeline: here
 *   _handle.c  collectives
 *   _array.c   where the elements of an array are
 *
 * Calls that wait for other ranks give up the GIL. A call that fails raises what status_raise()
 * chooses; it raises ValueError too for a rank or a size when there is no world, as in Horovod.
 */
#include "_hvd.h"

#include <stdbool.h>
#include <stdlib.h>

static PyObject *internal_error; /* hvd.exceptions.HorovodInternalError */

/* Calls of hvd.h have other names in Python. */
static const char *status_words(int status)
{
    switch (status) {
    case HVD_ERR_NOT_INITIALIZED:
        return "hvd.init() has not been called, or it failed";
    case HVD_ERR_SHUT_DOWN:
        return "hvd.shutdown() has been called";
    case HVD_ERR_FORKED:
        return "this process was forked from one that called hvd.init(); it is no rank";
    default:
        return *hvd_last_error() ? hvd_last_error() : hvd_strstatus(status);
    }
}

static void internal_error_raise(int status)
{
    PyObject *error = PyObject_CallFunction(internal_error, "s", status_words(status));
    PyObject *number = error ? PyLong_FromLong(status) : NULL;
    if (number && PyObject_SetAttrString(error, "status", number) == 0)
        PyErr_SetObject(internal_error, error);
    Py_XDECREF(number);
    Py_XDECREF(error);
}

PyObject *status_raise(int status)
{
    if (status == HVD_ERR_INVALID || status == HVD_ERR_ENVIRONMENT)
        PyErr_SetString(PyExc_ValueError, status_words(status));
    else if (status == HVD_ERR_NOMEM)
        PyErr_SetString(PyExc_MemoryError, status_words(status));
    else
        internal_error_raise(status);
    return NULL;
}

/* A number of the rank info, or of a process set. */
static PyObject *number_or_raise(long long number)
{
    if (number >= 0)
        return PyLong_FromLongLong(number);
    if (number == HVD_ERR_NOT_INITIALIZED || number == HVD_ERR_SHUT_DOWN ||
        number == HVD_ERR_FORKED) {
        PyErr_SetString(PyExc_ValueError, status_words((int)number));
        return NULL;
    }
    return status_raise((int)number);
}

static PyObject *none_or_raise(int status)
{
    if (status < 0)
        return status_raise(status);
    Py_RETURN_NONE;
}

/* ---- the world ---- */

/* Reads a sequence of numbers into a new array; NULL with an exception. */
static int *read_ranks(PyObject *sequence, int *count)
{
    Py_ssize_t length = PySequence_Size(sequence);
    if (length < 0)
        return NULL;
    int *ranks = calloc((size_t)length + 1, sizeof *ranks);
    if (!ranks)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; ranks && i < length; i++) {
        PyObject *rank = PySequence_GetItem(sequence, i);
        long number = rank ? PyLong_AsLong(rank) : -1;
        Py_XDECREF(rank);
        if (PyErr_Occurred()) {
            free(ranks);
            return NULL;
        }
        ranks[i] = number == (int)number ? (int)number : -1;
    }
    *count = (int)length;
    return ranks;
}

static PyObject *init_with(const struct hvd_ranks *sets, int count)
{
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = count > 0 ? hvd_init_process_sets(sets, count) : hvd_init();
    Py_END_ALLOW_THREADS return none_or_raise(rc);
}

static PyObject *world_init(PyObject *module, PyObject *list)
{
    (void)module;
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0)
        return NULL;
    struct hvd_ranks *sets = calloc((size_t)count + 1, sizeof *sets);
    if (!sets)
        return PyErr_NoMemory();
    bool read = true;
    for (Py_ssize_t i = 0; read && i < count; i++) {
        PyObject *ranks = PySequence_GetItem(list, i);
        sets[i].ranks = ranks ? read_ranks(ranks, &sets[i].count) : NULL;
        read = sets[i].ranks != NULL;
        Py_XDECREF(ranks);
    }
    PyObject *answer = read ? init_with(sets, (int)count) : NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        free((void *)sets[i].ranks);
    free(sets);
    return answer;
}

static PyObject *world_shutdown(PyObject *module, PyObject *none)
{
    int rc;
    (void)module;
    (void)none;
    Py_BEGIN_ALLOW_THREADS rc = hvd_shutdown();
    Py_END_ALLOW_THREADS return none_or_raise(rc);
}

static PyObject *world_is_initialized(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return PyBool_FromLong(hvd_is_initialized());
}

#define WORLD_NUMBER(name)                                                                         \
    static PyObject *world_##name(PyObject *module, PyObject *none)                                \
    {                                                                                              \
        (void)module;                                                                              \
        (void)none;                                                                                \
        return number_or_raise(hvd_##name());                                                      \
    }

WORLD_NUMBER(epoch)
WORLD_NUMBER(hosts_updated)
WORLD_NUMBER(rank)
WORLD_NUMBER(size)
WORLD_NUMBER(local_rank)
WORLD_NUMBER(local_size)
WORLD_NUMBER(cross_rank)
WORLD_NUMBER(cross_size)
WORLD_NUMBER(is_homogeneous)
WORLD_NUMBER(bytes_sent)

static PyObject *world_version(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return PyUnicode_FromString(hvd_version());
}

static PyObject *world_start_timeline(PyObject *module, PyObject *args)
{
    const char *file;
    int mark_cycles;
    (void)module;
    if (!PyArg_ParseTuple(args, "si", &file, &mark_cycles))
        return NULL;
    return none_or_raise(hvd_start_timeline(file, mark_cycles));
}

static PyObject *world_stop_timeline(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return none_or_raise(hvd_stop_timeline());
}

static PyObject *world_share(PyObject *module, PyObject *args)
{
    long long rows;
    int size, rank;
    (void)module;
    if (!PyArg_ParseTuple(args, "Lii", &rows, &size, &rank))
        return NULL;
    return number_or_raise(hvd_share(rows, size, rank));
}

/* ---- process sets ---- */

static PyObject *sets_add(PyObject *module, PyObject *sequence)
{
    int rc, count;
    int *ranks = read_ranks(sequence, &count);
    (void)module;
    if (!ranks)
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = hvd_add_process_set(ranks, count);
    Py_END_ALLOW_THREADS free(ranks);
    return number_or_raise(rc);
}

static PyObject *sets_remove(PyObject *module, PyObject *args)
{
    int rc, set;
    (void)module;
    if (!PyArg_ParseTuple(args, "i", &set))
        return NULL;
    Py_BEGIN_ALLOW_THREADS rc = hvd_remove_process_set(set);
    Py_END_ALLOW_THREADS return none_or_raise(rc);
}

#define SET_NUMBER(name)                                                                           \
    static PyObject *sets_##name(PyObject *module, PyObject *args)                                 \
    {                                                                                              \
        int set;                                                                                   \
        (void)module;                                                                              \
        return PyArg_ParseTuple(args, "i", &set) ? number_or_raise(hvd_process_set_##name(set))    \
                                                 : NULL;                                           \
    }

SET_NUMBER(rank)
SET_NUMBER(size)
SET_NUMBER(included)

static PyObject *numbers_list(const int *numbers, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++)
        PyList_SetItem(list, i, PyLong_FromLong(numbers[i]));
    return list;
}

/* Sets may be added between two calls, so room is made until all fit. */
static PyObject *sets_numbers(int set, int (*get)(int set, int *numbers, int capacity))
{
    int capacity = 0, count;
    int *numbers = NULL;
    while ((count = get(set, numbers, capacity)) > capacity) {
        free(numbers);
        capacity = count;
        numbers = calloc((size_t)capacity, sizeof *numbers);
        if (!numbers)
            return PyErr_NoMemory();
    }
    PyObject *list = count < 0 ? number_or_raise(count) : numbers_list(numbers, count);
    free(numbers);
    return list;
}

static int all_sets(int set, int *numbers, int capacity)
{
    (void)set;
    return hvd_process_sets(numbers, capacity);
}

static PyObject *sets_all(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return sets_numbers(0, all_sets);
}

static PyObject *sets_ranks(PyObject *module, PyObject *args)
{
    int set;
    (void)module;
    return PyArg_ParseTuple(args, "i", &set) ? sets_numbers(set, hvd_process_set_ranks) : NULL;
}

/* The default device, if it is this GPU, spares another set of pinned buffers. */
static PyObject *cuda_device(PyObject *module, PyObject *args)
{
    int ordinal, opened, device = hvd_default_device(), rc = HVD_OK;
    (void)module;
    if (!PyArg_ParseTuple(args, "i", &ordinal))
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    if (device == 0 || hvd_cuda_describe(device, &opened, NULL, 0) < 0 || opened != ordinal)
        rc = hvd_cuda_open(ordinal, &device);
    PyEval_RestoreThread(thread);
    return rc < 0 ? status_raise(rc) : PyLong_FromLong(device);
}

static PyMethodDef module_methods[] = {
    { "init", world_init, METH_O, "init(sets): join the world, with these process sets." },
    { "shutdown", world_shutdown, METH_NOARGS, "Leave the world." },
    { "is_initialized", world_is_initialized, METH_NOARGS, "Is there a world?" },
    { "epoch", world_epoch, METH_NOARGS, "How many worlds the job had before this one." },
    { "hosts_updated", world_hosts_updated, METH_NOARGS,
      "1: hosts removed, 2: added, 3: both; else 0." },
    { "rank", world_rank, METH_NOARGS, "The rank of this process." },
    { "size", world_size, METH_NOARGS, "The number of ranks." },
    { "local_rank", world_local_rank, METH_NOARGS, "The rank among those of this host." },
    { "local_size", world_local_size, METH_NOARGS, "The number of ranks of this host." },
    { "cross_rank", world_cross_rank, METH_NOARGS, "The rank among those with this local rank." },
    { "cross_size", world_cross_size, METH_NOARGS, "The number of ranks with this local rank." },
    { "is_homogeneous", world_is_homogeneous, METH_NOARGS, "Have all hosts as many ranks?" },
    { "bytes_sent", world_bytes_sent, METH_NOARGS, "Bytes sent to other ranks so far." },
    { "version", world_version, METH_NOARGS, "The version of the libhvd that is running." },
    { "share", world_share, METH_VARARGS, "share(rows, size, rank) of a reducescatter." },
    { "start_timeline", world_start_timeline, METH_VARARGS, "start_timeline(file, mark_cycles)" },
    { "stop_timeline", world_stop_timeline, METH_NOARGS, "End the timeline." },
    { "add_process_set", sets_add, METH_O, "add_process_set(ranks) -> number" },
    { "remove_process_set", sets_remove, METH_VARARGS, "remove_process_set(number)" },
    { "process_set_rank", sets_rank, METH_VARARGS, "process_set_rank(number)" },
    { "process_set_size", sets_size, METH_VARARGS, "process_set_size(number)" },
    { "process_set_included", sets_included, METH_VARARGS, "process_set_included(number)" },
    { "process_sets", sets_all, METH_NOARGS, "The numbers of all process sets." },
    { "process_set_ranks", sets_ranks, METH_VARARGS, "process_set_ranks(number)" },
    { "cuda_device", cuda_device, METH_VARARGS,
      "cuda_device(ordinal) -> number of this GPU as a device; opens it." },
    { "submit", handle_submit, METH_VARARGS, "Start a collective; returns a Handle." },
    { "run", handle_run, METH_VARARGS, "Start a collective and wait for it." },
    { "stop_stacks", stacks_stop, METH_NOARGS, "Answer no more questions where threads stand." },
    { "describe", array_describe, METH_O, "Where the elements of an array are, or None." },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hvd._hvd",
    .m_doc = "libhvd for Python; the package hvd is the interface.",
    .m_size = -1,
    .m_methods = module_methods,
};

static int find_exceptions(void)
{
    PyObject *exceptions = PyImport_ImportModule("hvd.exceptions");
    if (!exceptions)
        return -1;
    internal_error = PyObject_GetAttrString(exceptions, "HorovodInternalError");
    Py_DECREF(exceptions);
    return internal_error ? 0 : -1;
}

PyMODINIT_FUNC PyInit__hvd(void);

PyMODINIT_FUNC PyInit__hvd(void)
{
    if (find_exceptions() < 0)
        return NULL;
    PyObject *module = PyModule_Create(&module_definition);
    if (module && (handle_define(module) < 0 || stacks_start(module) < 0)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
