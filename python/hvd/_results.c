/* SPDX-License-Identifier: Apache-2.0 */
/* What a collective returns to Python. An object of Python owns each result of the library, so that
 * gathered rows are not copied. */
#include "_handle.h"

#include <stdlib.h>

static void result_capsule_free(PyObject *capsule)
{
    struct hvd_result *result = PyCapsule_GetPointer(capsule, "hvd_result");
    hvd_result_free(result);
    free(result);
}

/* Takes the result over into an object that frees it; empties it in any case. */
static PyObject *result_owner(struct hvd_result *result)
{
    struct hvd_result *own = malloc(sizeof *own);
    if (!own) {
        hvd_result_free(result);
        return PyErr_NoMemory();
    }
    *own = *result;
    *result = (struct hvd_result){ .last_rank = -1 };
    PyObject *capsule = PyCapsule_New(own, "hvd_result", result_capsule_free);
    if (!capsule) {
        hvd_result_free(own);
        free(own);
    }
    return capsule;
}

/* (address, rows, size, rows of each rank, owner): gathered rows lie in the library's memory, which
 * the owner frees. */
static PyObject *result_tuple(struct hvd_result *result)
{
    PyObject *rows = PyTuple_New(result->nrows);
    for (int i = 0; rows && i < result->nrows; i++) {
        PyObject *number = PyLong_FromLongLong(result->rows[i]);
        if (!number || PyTuple_SetItem(rows, i, number) < 0) {
            Py_DECREF(rows);
            rows = NULL;
        }
    }
    void *data = result->data;
    long long dim0 = result->dim0;
    Py_ssize_t size = (Py_ssize_t)result->size;
    PyObject *owner = result_owner(result);
    if (!rows || !owner) {
        Py_XDECREF(rows);
        Py_XDECREF(owner);
        return NULL;
    }
    return Py_BuildValue("(NLnNN)", PyLong_FromVoidPtr(data), dim0, size, rows, owner);
}

static PyObject *results_list(struct hvd_result *results, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; i < count; i++) {
        PyObject *tuple = list ? result_tuple(&results[i]) : NULL;
        if (list && (!tuple || PyList_SetItem(list, i, tuple) < 0)) {
            Py_DECREF(list);
            list = NULL;
        }
        hvd_result_free(&results[i]);
    }
    return list;
}

PyObject *results_of(enum kind kind, struct hvd_result *results, int count)
{
    switch (kind) {
    case ALLGATHER:
    case ALLTOALL:
        return results_list(results, count);
    case JOIN:
        return PyLong_FromLong(results->last_rank);
    default:
        Py_RETURN_NONE;
    }
}
