/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of an array are, without a copy. The limited API of CPython 3.9 has no buffer
 * protocol, so two protocols are read that are plain C structs in a capsule:
 *
 *   __array_struct__   NumPy's array interface, and all that speak it
 *   __dlpack__         DLPack: JAX, CuPy, PyTorch and others
 *
 * describe(object) -> (address, shape, dtype, writable, contiguous, device, owner) or None when the
 * object has neither. dtype is a number of enum hvd_dtype; -1: none of them. device is that of
 * DLPack, 1 for host memory. `owner` keeps the memory. */
#include "_hvd.h"

#include <stdbool.h>
#include <string.h>

/* ---- the array interface, version 3 (NumPy's manual, "The array interface protocol") ---- */

struct array_interface {
    int two; /* a sanity check */
    int ndims;
    char kind; /* 'b' bool, 'i' signed, 'u' unsigned, 'f' floating point, and others */
    int element_size;
    int flags;
    Py_ssize_t *dims, *strides; /* strides in bytes */
    void *data;
    PyObject *description;
};

enum { INTERFACE_CONTIGUOUS = 0x1, INTERFACE_NATIVE = 0x200, INTERFACE_WRITABLE = 0x400 };

/* ---- DLPack 0.x and 1.x (dlpack.h). Only 1.x can say that a tensor is read-only. ---- */

struct dlpack_tensor {
    void *data;
    int32_t device_type, device_number;
    int32_t ndims;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *dims, *strides; /* strides in elements; NULL: contiguous */
    uint64_t byte_offset;
};

struct dlpack_managed {
    struct dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *self);
};

struct dlpack_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dlpack_versioned *self);
    uint64_t flags;
    struct dlpack_tensor tensor;
};

enum { DLPACK_MAJOR = 1, DLPACK_READ_ONLY = 0x1 };

enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BFLOAT = 4, DLPACK_BOOL = 6 };
enum { DLPACK_HOST = 1 };

static const struct element_type {
    char kind; /* of the array interface; 'V' has no row */
    int code;  /* of DLPack */
    int size;
    int dtype;
} element_types[] = {
    { 'u', DLPACK_UINT, 1, HVD_UINT8 },      { 'i', DLPACK_INT, 1, HVD_INT8 },
    { 'u', DLPACK_UINT, 2, HVD_UINT16 },     { 'i', DLPACK_INT, 2, HVD_INT16 },
    { 'i', DLPACK_INT, 4, HVD_INT32 },       { 'i', DLPACK_INT, 8, HVD_INT64 },
    { 'f', DLPACK_FLOAT, 2, HVD_FLOAT16 },   { 'f', DLPACK_FLOAT, 4, HVD_FLOAT32 },
    { 'f', DLPACK_FLOAT, 8, HVD_FLOAT64 },   { 'b', DLPACK_BOOL, 1, HVD_BOOL },
    { 'E', DLPACK_BFLOAT, 2, HVD_BFLOAT16 },
};

enum { ELEMENT_TYPES = sizeof element_types / sizeof *element_types };

static int dtype_of_kind(char kind, int size)
{
    for (int i = 0; i < ELEMENT_TYPES; i++)
        if (element_types[i].kind == kind && element_types[i].size == size)
            return element_types[i].dtype;
    return -1;
}

static int dtype_of_code(const struct dlpack_tensor *tensor)
{
    for (int i = 0; i < ELEMENT_TYPES; i++)
        if (element_types[i].code == tensor->code && element_types[i].size * 8 == tensor->bits &&
            tensor->lanes == 1)
            return element_types[i].dtype;
    return -1;
}

/* `owner` is taken over. */
static PyObject *description(void *address, PyObject *shape, int dtype, bool writable,
                             bool contiguous, int device, PyObject *owner)
{
    if (!shape) {
        Py_DECREF(owner);
        return NULL;
    }
    return Py_BuildValue("(NNiNNiN)", PyLong_FromVoidPtr(address), shape, dtype,
                         PyBool_FromLong(writable), PyBool_FromLong(contiguous), device, owner);
}

static PyObject *describe_interface(PyObject *capsule, PyObject *object)
{
    const struct array_interface *array = PyCapsule_GetPointer(capsule, NULL);
    if (!array)
        return NULL;
    if (array->two != 2) {
        PyErr_SetString(PyExc_TypeError, "__array_struct__ is not of the version that is known");
        return NULL;
    }
    PyObject *shape = PyTuple_New(array->ndims);
    for (int i = 0; shape && i < array->ndims; i++)
        PyTuple_SetItem(shape, i, PyLong_FromSsize_t(array->dims[i]));
    bool native = array->flags & INTERFACE_NATIVE || array->element_size == 1;
    Py_INCREF(object);
    return description(array->data, shape,
                       native ? dtype_of_kind(array->kind, array->element_size) : -1,
                       array->flags & INTERFACE_WRITABLE, array->flags & INTERFACE_CONTIGUOUS,
                       DLPACK_HOST, object);
}

static void dlpack_capsule_free(PyObject *capsule)
{
    struct dlpack_managed *managed = PyCapsule_GetPointer(capsule, "used_dltensor");
    if (managed && managed->deleter)
        managed->deleter(managed);
}

static void dlpack_versioned_free(PyObject *capsule)
{
    struct dlpack_versioned *managed = PyCapsule_GetPointer(capsule, "used_dltensor_versioned");
    if (managed && managed->deleter)
        managed->deleter(managed);
}

static bool dlpack_is_contiguous(const struct dlpack_tensor *tensor)
{
    int64_t expected = 1;
    for (int i = tensor->ndims - 1; tensor->strides && i >= 0; i--) {
        if (tensor->dims[i] != 1 && tensor->strides[i] != expected)
            return false;
        expected *= tensor->dims[i];
    }
    return true;
}

/* The capsule becomes the owner: it is renamed, and its destructor frees the tensor. */
static PyObject *describe_dlpack_tensor(PyObject *capsule, const struct dlpack_tensor *tensor,
                                        bool writable, const char *used, PyCapsule_Destructor free)
{
    PyObject *shape = PyTuple_New(tensor->ndims);
    for (int i = 0; shape && i < tensor->ndims; i++)
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(tensor->dims[i]));
    if (PyCapsule_SetName(capsule, used) < 0 || PyCapsule_SetDestructor(capsule, free) < 0) {
        Py_XDECREF(shape);
        return NULL;
    }
    Py_INCREF(capsule);
    return description((char *)tensor->data + tensor->byte_offset, shape, dtype_of_code(tensor),
                       writable, dlpack_is_contiguous(tensor), tensor->device_type, capsule);
}

static PyObject *describe_dlpack(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const struct dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
        return managed ? describe_dlpack_tensor(capsule, &managed->tensor, true, "used_dltensor",
                                                dlpack_capsule_free)
                       : NULL;
    }
    const struct dlpack_versioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (managed->major != DLPACK_MAJOR) {
        PyErr_Format(PyExc_TypeError, "the array has version %u of DLPack, expected %d",
                     managed->major, DLPACK_MAJOR);
        return NULL;
    }
    return describe_dlpack_tensor(capsule, &managed->tensor, !(managed->flags & DLPACK_READ_ONLY),
                                  "used_dltensor_versioned", dlpack_versioned_free);
}

/* An object that knows only DLPack 0.x does not know the argument max_version. */
static PyObject *dlpack_capsule(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = method ? PyTuple_New(0) : NULL;
    PyObject *version = none ? Py_BuildValue("{s(ii)}", "max_version", DLPACK_MAJOR, 0) : NULL;
    PyObject *capsule = version ? PyObject_Call(method, none, version) : NULL;
    if (!capsule && version && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(version);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

PyObject *array_describe(PyObject *module, PyObject *object)
{
    (void)module;
    PyObject *answer, *capsule = PyObject_GetAttrString(object, "__array_struct__");
    if (capsule) {
        answer = describe_interface(capsule, object);
        Py_DECREF(capsule);
        return answer;
    }
    PyErr_Clear();
    if (!PyObject_HasAttrString(object, "__dlpack__"))
        Py_RETURN_NONE;
    capsule = dlpack_capsule(object);
    if (!capsule)
        return NULL;
    answer = describe_dlpack(capsule);
    Py_DECREF(capsule);
    return answer;
}
