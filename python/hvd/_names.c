/* SPDX-License-Identifier: Apache-2.0 */
/* Names that collectives in flight have taken.
 *
 * A name is taken when a collective starts, and released when its handle ends. So a program that
 * uses a name again too early fails in the same way on each run, however fast the other ranks are.
 *
 * Fails with ValueError when a name is taken already. */
#include "_handle.h"

static PyObject *taken; /* a set of bytes; the GIL guards it */

/* Names are taken in each process set by itself. A new reference. */
static PyObject *name_key(PyObject *name, int process_set)
{
    if (process_set != 0)
        return PyBytes_FromFormat("%d %s", process_set, PyBytes_AsString(name));
    Py_INCREF(name);
    return name;
}

void names_release(PyObject *names)
{
    Py_ssize_t count = names ? PyList_Size(names) : 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (PySet_Discard(taken, PyList_GetItem(names, i)) < 0)
            PyErr_Clear();
    Py_XDECREF(names);
}

/* 0 if the name is free, or -1 with an exception. */
static int name_check(PyObject *key)
{
    int is_taken = PySet_Contains(taken, key);
    if (is_taken > 0)
        PyErr_Format(PyExc_ValueError,
                     "'%s' is in flight already: synchronize() comes before the name is used again",
                     PyBytes_AsString(key));
    return is_taken != 0 ? -1 : 0;
}

int names_check(PyObject *const *tensors, int count, int process_set)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < count && PySet_Size(taken) > 0; i++) {
        PyObject *key = tensors[i] ? name_key(tensors[i], process_set) : NULL;
        rc = key ? name_check(key) : tensors[i] ? -1 : 0;
        Py_XDECREF(key);
    }
    return rc;
}

/* Takes a name and adds it to the list. 0, or -1 with an exception. */
static int name_take(PyObject *names, PyObject *key)
{
    return name_check(key) < 0 || PyList_Append(names, key) < 0 || PySet_Add(taken, key) < 0 ? -1
                                                                                             : 0;
}

int names_take(PyObject **list, PyObject *const *tensors, int count, int process_set)
{
    *list = NULL;
    for (int i = 0; i < count; i++) {
        if (!tensors[i])
            continue;
        PyObject *key = name_key(tensors[i], process_set);
        if (!*list)
            *list = PyList_New(0);
        int rc = key && *list ? name_take(*list, key) : -1;
        Py_XDECREF(key);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int names_define(void)
{
    taken = PySet_New(NULL);
    return taken ? 0 : -1;
}
