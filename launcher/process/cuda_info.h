/* SPDX-License-Identifier: Apache-2.0 */
/* What of CUDA a host has, for --check-build and --check-hosts: hvd-cuda-info, which is installed
 * beside hvdagent, loads the module, the driver and NCCL, and prints lines for people. */
#ifndef LAUNCHER_PROCESS_CUDA_INFO_H
#define LAUNCHER_PROCESS_CUDA_INFO_H

/* The driver may have to start GPUs that sleep. */
enum { CUDA_INFO_MS = 10000 };

/* Lines, each with its end: what hvd-cuda-info in `directory` ("": nowhere) prints in the
 * environment `envp`, and why it may not have printed all. Blocks for at most CUDA_INFO_MS. The
 * caller frees them. */
char *cuda_info_lines(const char *directory, char *const *envp);

/* The same in one line, with semicolons. The caller frees it. */
char *cuda_info_line(const char *directory, char *const *envp);

#endif
