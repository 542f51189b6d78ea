/* SPDX-License-Identifier: Apache-2.0 */
/* The one symbol that hvd_cuda.so exports. */
#ifndef LIB_CUDA_CUDA_MODULE_H
#define LIB_CUDA_CUDA_MODULE_H

#include "lib/device/device_module.h"

HVD_API const struct device_module *hvd_device_module(void);

#endif
