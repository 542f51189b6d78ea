/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of submit() and run(): what Python passes, as the structs of hvd.h.
 *
 * Fails with the exception of Python for a value of another type, with ValueError for a name with a
 * NUL, for a tensor larger than memory, and for a group without a tensor or with more than a
 * million. */
#include "_handle.h"

#include <stdlib.h>
#include <string.h>

void arguments_free(struct arguments *arguments)
{
    for (int i = 0; i < arguments->count; i++)
        Py_XDECREF(arguments->names[i]);
    if (arguments->group) {
        free(arguments->many);
        free(arguments->dims);
        free(arguments->names);
    }
    if (arguments->splits != arguments->few_splits)
        free(arguments->splits);
}

/* The library knows HVD_DIMS_MAX dimensions; all that follow are one with the last of them. */
static int read_shape(struct hvd_tensor *tensor, int64_t *dims, PyObject *shape)
{
    Py_ssize_t ndims = PyTuple_Size(shape);
    if (ndims < 0)
        return -1;
    for (Py_ssize_t i = 0; i < ndims; i++) {
        int64_t dim = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (dim == -1 && PyErr_Occurred())
            return -1;
        if (i < HVD_DIMS_MAX)
            dims[i] = dim;
        else if (__builtin_mul_overflow(dims[HVD_DIMS_MAX - 1], dim, &dims[HVD_DIMS_MAX - 1])) {
            PyErr_SetString(PyExc_ValueError, "the tensor is larger than memory can be");
            return -1;
        }
    }
    tensor->ndims = ndims < HVD_DIMS_MAX ? (int)ndims : HVD_DIMS_MAX;
    tensor->dims = dims;
    return 0;
}

/* Borrowed from arguments->names. NULL with an exception. */
static const char *read_name(struct arguments *arguments, int i, PyObject *name)
{
    char *text;
    Py_ssize_t length;
    PyObject *bytes = arguments->names[i] = PyUnicode_AsUTF8String(name);
    if (!bytes || PyBytes_AsStringAndSize(bytes, &text, &length) < 0)
        return NULL;
    if ((size_t)length == strlen(text))
        return text;
    PyErr_Format(PyExc_ValueError, "the name %R has a NUL in it", name);
    return NULL;
}

/* (name or None, input, output, output_size, dtype, shape), and for the memory of an accelerator
 * its number as a device and an event. Addresses are numbers, 0 for none. */
static int read_tensor(struct arguments *arguments, int i, PyObject *tuple)
{
    struct hvd_tensor *tensor = &arguments->tensors[i];
    PyObject *name, *input, *output, *shape, *ready = NULL;
    int dtype, device = 0;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(tuple, "OOOniO|iO", &name, &input, &output, &size, &dtype, &shape,
                          &device, &ready))
        return -1;
    *tensor = (struct hvd_tensor){ .input = PyLong_AsVoidPtr(input),
                                   .output = PyLong_AsVoidPtr(output),
                                   .output_size = (size_t)size,
                                   .dtype = (enum hvd_dtype)dtype,
                                   .device = device,
                                   .ready = ready ? PyLong_AsVoidPtr(ready) : NULL };
    if (PyErr_Occurred())
        return -1;
    if (name != Py_None && !(tensor->name = read_name(arguments, i, name)))
        return -1;
    return read_shape(tensor, arguments->dims[i], shape);
}

static int read_group(struct arguments *arguments, PyObject *list)
{
    Py_ssize_t count = PyList_Size(list);
    if (count < 1 || count > 1000000) {
        PyErr_SetString(PyExc_ValueError, count < 1 ? "the group has no tensor"
                                                    : "the group has more than a million tensors");
        return -1;
    }
    arguments->group = true;
    arguments->tensors = arguments->many = calloc((size_t)count, sizeof *arguments->many);
    arguments->dims = calloc((size_t)count, sizeof *arguments->dims);
    arguments->names = calloc((size_t)count, sizeof(PyObject *));
    if (!arguments->many || !arguments->dims || !arguments->names) {
        PyErr_NoMemory();
        return -1;
    }
    arguments->count = (int)count;
    for (int i = 0; i < arguments->count; i++)
        if (read_tensor(arguments, i, PyList_GetItem(list, i)) < 0)
            return -1;
    return 0;
}

/* A tuple is one tensor, a list is a group, None is none. */
static int read_tensors(struct arguments *arguments, PyObject *tensors)
{
    if (PyList_Check(tensors))
        return read_group(arguments, tensors);
    arguments->tensors = &arguments->one;
    arguments->dims = &arguments->dims_of_one;
    arguments->names = &arguments->name_of_one;
    if (tensors == Py_None)
        return 0;
    arguments->count = 1;
    return read_tensor(arguments, 0, tensors);
}

static int read_splits(struct arguments *arguments, PyObject *splits)
{
    if (splits == Py_None)
        return 0;
    Py_ssize_t count = PyTuple_Size(splits);
    if (count < 0)
        return -1;
    arguments->splits = arguments->few_splits;
    if (count > SPLITS_ON_STACK)
        arguments->splits = calloc((size_t)count, sizeof *arguments->splits);
    if (!arguments->splits) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        arguments->splits[i] = PyLong_AsLongLong(PyTuple_GetItem(splits, i));
    arguments->nsplits = (int)count;
    return PyErr_Occurred() ? -1 : 0;
}

int arguments_read(struct arguments *arguments, PyObject *args)
{
    int kind;
    PyObject *tensors, *splits;
    if (!PyArg_ParseTuple(args, "iOiiddOO", &kind, &tensors, &arguments->op_or_root,
                          &arguments->options.process_set, &arguments->options.prescale,
                          &arguments->options.postscale, &splits, &arguments->keep))
        return -1;
    if (kind < 0 || kind >= KINDS) {
        PyErr_Format(PyExc_ValueError, "%d is no kind of collective", kind);
        return -1;
    }
    arguments->kind = (enum kind)kind;
    return read_tensors(arguments, tensors) < 0 || read_splits(arguments, splits) < 0 ? -1 : 0;
}
