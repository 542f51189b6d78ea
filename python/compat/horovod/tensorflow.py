# SPDX-License-Identifier: Apache-2.0
"""horovod.tensorflow does not run on libhvd."""
raise ImportError(
    "horovod.tensorflow does not run on libhvd; only horovod.torch does. Start the script without this directory on "
    "PYTHONPATH: it then uses the installed Horovod, whose workers run under hvdrun"
)
