# SPDX-License-Identifier: Apache-2.0
"""Builds the package hvd against an installed libhvd, which pkg-config must find:

    pip install --no-build-isolation ./python

The compatibility package horovod goes to share/hvdrun/compat below the prefix, where no interpreter looks for it.
"""
import glob
import os
import subprocess
import sys

from setuptools import Extension, setup


def pkg_config(*arguments):
    try:
        return subprocess.check_output(["pkg-config", *arguments, "hvd"], text=True).split()
    except (OSError, subprocess.CalledProcessError):
        sys.exit(
            "hvd needs libhvd and its header, which pkg-config does not find: install them (./configure, make install; "
            "the directory of hvd.pc belongs into PKG_CONFIG_PATH)"
        )


def files_of(folder):
    for place, _, files in os.walk(os.path.join("compat", folder)):
        if "__pycache__" not in place:
            yield os.path.join("share/hvdrun", place), [os.path.join(place, each) for each in files]


os.chdir(os.path.dirname(os.path.abspath(__file__)))
libraries = pkg_config("--variable=libdir")
setup(
    name="hvd",
    version=pkg_config("--modversion")[0],
    description="Data-parallel training with libhvd: collectives and optimizers for PyTorch and NumPy",
    license="Apache-2.0",
    python_requires=">=3.9",
    install_requires=["numpy"],
    extras_require={"torch": ["torch"], "objects": ["cloudpickle"]},
    packages=["hvd", "hvd.torch", "hvd.torch.elastic"],
    data_files=list(files_of("horovod")),
    options={"bdist_wheel": {"py_limited_api": "cp39"}},  # for all versions from this one
    ext_modules=[
        Extension(
            "hvd._hvd",
            sorted(glob.glob("hvd/_*.c")),
            depends=["hvd/_hvd.h", "hvd/_handle.h"],
            define_macros=[("Py_LIMITED_API", "0x03090000")],
            py_limited_api=True,
            extra_compile_args=pkg_config("--cflags"),
            extra_link_args=pkg_config("--libs"),
            runtime_library_dirs=libraries,
        )
    ],
)
