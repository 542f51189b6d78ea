# SPDX-License-Identifier: Apache-2.0
"""horovod.mxnet does not run on libhvd."""
raise ImportError(
    "horovod.mxnet does not run on libhvd; only horovod.torch does. Start the script without this directory on "
    "PYTHONPATH: it then uses the installed Horovod, whose workers run under hvdrun"
)
