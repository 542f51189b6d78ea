/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the extension module share. The module is built with the limited API of CPython
 * 3.9, so that one build serves all later versions. */
#ifndef PYTHON_HVD_HVD_H
#define PYTHON_HVD_HVD_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>

#include <hvd.h>
#include <hvd_cuda.h>
#include <stdbool.h>

/* Sets the exception for a status, with the text of hvd_last_error(). Returns NULL.
 *   HVD_ERR_INVALID, HVD_ERR_ENVIRONMENT   ValueError: this process's own mistake
 *   HVD_ERR_NOMEM                          MemoryError
 *   others                                 HorovodInternalError, with the number in `status` */
PyObject *status_raise(int status);

/* Adds what a file defines to the module. Return 0, or -1 with an exception. */
int handle_define(PyObject *module);

/* submit(kind, tensors, op_or_root, process_set, prescale, postscale, splits, keep) -> Handle.
 * run(...) takes the same, waits, and returns what Handle.wait() returns. _handle.c says more. */
PyObject *handle_submit(PyObject *module, PyObject *args);
PyObject *handle_run(PyObject *module, PyObject *args);

/* Listens for questions where the threads stand, under HVD_STACK_TRACES; _stacks.c says more. 0, or
 * -1 with an exception. stop_stacks() ends it. */
int stacks_start(PyObject *module);
PyObject *stacks_stop(PyObject *module, PyObject *nothing);

/* describe(object) -> where the elements of an array are; _array.c says more. */
PyObject *array_describe(PyObject *module, PyObject *object);

#endif
