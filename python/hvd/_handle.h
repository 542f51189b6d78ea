/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind submit(), run() and Handle share. The GIL guards all of it. */
#ifndef PYTHON_HVD_HANDLE_H
#define PYTHON_HVD_HANDLE_H

#include "_hvd.h"

enum { SPLITS_ON_STACK = 64 };

enum kind { ALLREDUCE, ALLGATHER, BROADCAST, ALLTOALL, REDUCESCATTER, BARRIER, JOIN, KINDS };

/* Arguments of one call. `tensors` and what they point to live until arguments_free(). */
struct arguments {
    enum kind kind;
    bool group;
    int count;
    int op_or_root;
    struct hvd_options options; /* without the interrupt */
    struct hvd_tensor one, *tensors;
    struct hvd_tensor *many; /* of a group */
    int64_t dims_of_one[HVD_DIMS_MAX], (*dims)[HVD_DIMS_MAX];
    PyObject *name_of_one, **names; /* bytes, owned */
    int64_t few_splits[SPLITS_ON_STACK], *splits;
    int nsplits;
    PyObject *keep; /* borrowed */
};

/* Reads the arguments of submit() and run() into a zeroed struct. 0, or -1 with an exception.
 * arguments_free() in both cases. */
int arguments_read(struct arguments *arguments, PyObject *args);
void arguments_free(struct arguments *arguments);

/* 0, or -1 with an exception. */
int names_define(void);

/* 0 if no name of `count` tensors is taken, or -1 with an exception. NULL stands for no name. */
int names_check(PyObject *const *tensors, int count, int process_set);

/* Takes the names of `count` tensors and puts them into a new list, or NULL for none. 0, or -1 with
 * an exception. The caller passes the list to names_release() in both cases. */
int names_take(PyObject **list, PyObject *const *tensors, int count, int process_set);

/* Releases the names, and the list. `names` may be NULL. */
void names_release(PyObject *names);

/* The results of one collective as an object of Python: a list of tuples, a number, or None. Takes
 * the results over. NULL with an exception. */
PyObject *results_of(enum kind kind, struct hvd_result *results, int count);

#endif
