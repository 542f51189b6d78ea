# SPDX-License-Identifier: Apache-2.0
# The Python packages: hvd, with one extension module in the limited API, and the compatibility package horovod, which
# is installed beside, where no interpreter looks for it. The module is linked by hand: libtool would install a .la file
# beside it and name the build directory in it. It finds libhvd from its own directory, unless configured with --disable-rpath.
python_sources = python/hvd/_hvd.c python/hvd/_handle.c python/hvd/_arguments.c python/hvd/_names.c python/hvd/_results.c \
	python/hvd/_array.c python/hvd/_stacks.c
EXTRA_DIST += $(python_sources) python/hvd/_hvd.h python/hvd/_handle.h python/setup.py python/pyproject.toml

if PYTHON
pyhvddir = $(pydir)/hvd
nodist_pyhvd_DATA = python/hvd/_hvd.abi3.so
dist_pyhvd_DATA = \
	python/hvd/__init__.py \
	python/hvd/_collectives.py \
	python/hvd/_interruptible.py \
	python/hvd/_objects.py \
	python/hvd/_run.py \
	python/hvd/_run_rank.py \
	python/hvd/_store.py \
	python/hvd/_world.py \
	python/hvd/elastic.py \
	python/hvd/exceptions.py \
	python/hvd/numpy.py \
	python/hvd/process_sets.py
pytorchdir = $(pydir)/hvd/torch
dist_pytorch_DATA = \
	python/hvd/torch/__init__.py \
	python/hvd/torch/_autograd.py \
	python/hvd/torch/_collectives.py \
	python/hvd/torch/_cuda.py \
	python/hvd/torch/_tensors.py \
	python/hvd/torch/compression.py \
	python/hvd/torch/distributed.py \
	python/hvd/torch/functions.py \
	python/hvd/torch/optimizer.py \
	python/hvd/torch/sync_batch_norm.py
pytorchelasticdir = $(pytorchdir)/elastic
dist_pytorchelastic_DATA = \
	python/hvd/torch/elastic/__init__.py \
	python/hvd/torch/elastic/sampler.py \
	python/hvd/torch/elastic/state.py
compatdir = $(pkgdatadir)/compat/horovod
dist_compat_DATA = \
	python/compat/horovod/__init__.py \
	python/compat/horovod/keras.py \
	python/compat/horovod/mxnet.py \
	python/compat/horovod/tensorflow.py
compatrunnerdir = $(compatdir)/runner
dist_compatrunner_DATA = python/compat/horovod/runner/__init__.py
compatrunnercommondir = $(compatrunnerdir)/common
dist_compatrunnercommon_DATA = python/compat/horovod/runner/common/__init__.py
compatrunnerutildir = $(compatrunnercommondir)/util
dist_compatrunnerutil_DATA = \
	python/compat/horovod/runner/common/util/__init__.py \
	python/compat/horovod/runner/common/util/env.py
compatcommondir = $(compatdir)/common
dist_compatcommon_DATA = \
	python/compat/horovod/common/__init__.py \
	python/compat/horovod/common/basics.py \
	python/compat/horovod/common/elastic.py \
	python/compat/horovod/common/exceptions.py \
	python/compat/horovod/common/process_sets.py \
	python/compat/horovod/common/util.py
compattorchdir = $(compatdir)/torch
dist_compattorch_DATA = \
	python/compat/horovod/torch/__init__.py \
	python/compat/horovod/torch/compression.py \
	python/compat/horovod/torch/functions.py \
	python/compat/horovod/torch/mpi_ops.py \
	python/compat/horovod/torch/optimizer.py \
	python/compat/horovod/torch/sync_batch_norm.py
compattorchelasticdir = $(compattorchdir)/elastic
dist_compattorchelastic_DATA = \
	python/compat/horovod/torch/elastic/__init__.py \
	python/compat/horovod/torch/elastic/sampler.py \
	python/compat/horovod/torch/elastic/state.py

python/hvd/_hvd.abi3.so: $(python_sources) python/hvd/_hvd.h python/hvd/_handle.h lib/hvd.h lib/hvd_cuda.h lib/libhvd.la
	$(AM_V_CCLD)$(MKDIR_P) python/hvd && cd $(srcdir) && $(CC) $(CPPFLAGS) $(PYTHON_CPPFLAGS) -Ilib $(HVD_CFLAGS) $(WERROR) \
		$(CFLAGS) -fPIC -shared -o '$(abs_builddir)/$@' $(python_sources) $(HVD_LDFLAGS) $(LDFLAGS) \
		$(PYTHON_RPATH) -L'$(abs_builddir)/lib/.libs' -lhvd
CLEANFILES += python/hvd/_hvd.abi3.so
# What the installation that is tested has of them
python_staged = $(nodist_pyhvd_DATA) $(dist_pyhvd_DATA) $(dist_pytorch_DATA) $(dist_pytorchelastic_DATA) $(dist_compat_DATA) \
	$(dist_compatcommon_DATA) $(dist_compatrunner_DATA) $(dist_compatrunnercommon_DATA) $(dist_compatrunnerutil_DATA) $(dist_compattorch_DATA) $(dist_compattorchelastic_DATA)
endif
