# SPDX-License-Identifier: Apache-2.0
"""The parts of horovod.common that scripts import."""
