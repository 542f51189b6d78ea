# The programs a user starts from. They include the library's public headers as a user's program does, and nothing else of it.
EXTRA_DIST += examples/README.md examples/kubernetes

# In Python: scripts that hvdrun starts, and what they share.
EXTRA_DIST += \
	examples/python/ddp.py \
	examples/python/fashion.py \
	examples/python/fashion_elastic.py \
	examples/python/fashion_mnist.py \
	examples/python/fit.py \
	examples/python/function_approximation.py \
	examples/python/models.py \
	examples/python/pinn.py \
	examples/python/support.py \
	examples/python/synthetic_benchmark.py

noinst_PROGRAMS += examples/hello
examples_hello_SOURCES = examples/hello.c
examples_hello_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_hello_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_hello_LDADD = lib/libhvd.la

# What the examples share and needs nothing but libhvd.
noinst_LTLIBRARIES += examples/libsupport.la
examples_libsupport_la_SOURCES = \
	examples/support/accelerator.c examples/support/accelerator.h examples/support/accelerator_impl.h \
	examples/support/accelerator_event.c examples/support/accelerator_event.h \
	examples/support/accelerator_memory.c examples/support/accelerator_memory.h \
	examples/support/accelerator_queue.c examples/support/accelerator_queue.h \
	examples/support/accelerator_table.c \
	examples/support/adam.c examples/support/adam.h \
	examples/support/agreement.c examples/support/agreement.h \
	examples/support/curve.c examples/support/curve.h \
	examples/support/element.c examples/support/element.h \
	examples/support/mlp.c examples/support/mlp.h \
	examples/support/hash.c examples/support/hash.h \
	examples/support/options.c examples/support/options.h \
	examples/support/plot.c examples/support/plot.h \
	examples/support/plot_axis.c examples/support/plot_axis.h \
	examples/support/problem.c examples/support/problem.h \
	examples/support/program.c examples/support/program.h \
	examples/support/progress.c examples/support/progress.h \
	examples/support/random.c examples/support/random.h \
	examples/support/result.c examples/support/result.h \
	examples/support/xml_text.c examples/support/xml_text.h
examples_libsupport_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
# The inner loops want to be vectorised and to call sqrtf() as an instruction; configure knows how.
examples_libsupport_la_CFLAGS = $(AM_CFLAGS) $(VECTORIZE_CFLAGS)
examples_libsupport_la_LIBADD = -lm

# Every call of the library once.
noinst_PROGRAMS += examples/api_tour
examples_api_tour_SOURCES = examples/api_tour.c examples/api_tour.h \
	examples/api_tour_device.c \
	examples/api_tour_elastic.c \
	examples/api_tour_moves.c \
	examples/api_tour_optimizer.c \
	examples/api_tour_reductions.c \
	examples/api_tour_sets.c \
	examples/api_tour_training.c \
	examples/api_tour_world.c
examples_api_tour_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_api_tour_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_api_tour_LDADD = examples/libsupport.la lib/libhvd.la -lm

# Networks that are fitted to a function or a differential equation.
noinst_LTLIBRARIES += examples/libfit.la
examples_libfit_la_SOURCES = \
	examples/fit.c examples/fit.h \
	examples/fit_curves.c examples/fit_curves.h \
	examples/fit_options.c examples/fit_options.h \
	examples/fit_place.c examples/fit_place.h \
	examples/fit_report.c examples/fit_report.h \
	examples/fit_training.c examples/fit_training.h
examples_libfit_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_libfit_la_LIBADD = examples/libsupport.la -lm

noinst_PROGRAMS += examples/function_approximation examples/pinn
examples_function_approximation_SOURCES = examples/function_approximation.c
examples_function_approximation_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_function_approximation_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_function_approximation_LDADD = examples/libfit.la lib/libhvd.la
examples_pinn_SOURCES = examples/pinn.c
examples_pinn_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_pinn_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_pinn_LDADD = examples/libfit.la lib/libhvd.la

# The parameters of well-known networks.
noinst_LTLIBRARIES += examples/libmodels.la
examples_libmodels_la_SOURCES = \
	examples/models/architectures.h \
	examples/models/inception.c \
	examples/models/layer.c examples/models/layer.h \
	examples/models/model.c examples/models/model.h \
	examples/models/resnet.c \
	examples/models/vgg.c

noinst_LTLIBRARIES += examples/libsynthetic.la
examples_libsynthetic_la_SOURCES = \
	examples/synthetic_compute.c examples/synthetic_compute.h \
	examples/synthetic_machine.c examples/synthetic_machine.h \
	examples/synthetic_options.c examples/synthetic_options.h \
	examples/synthetic_summary.c examples/synthetic_summary.h \
	examples/synthetic_training.c examples/synthetic_training.h
examples_libsynthetic_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_libsynthetic_la_CFLAGS = $(AM_CFLAGS) $(VECTORIZE_CFLAGS)
examples_libsynthetic_la_LIBADD = examples/libmodels.la examples/libsupport.la -lm

noinst_PROGRAMS += examples/synthetic_benchmark
examples_synthetic_benchmark_SOURCES = examples/synthetic_benchmark.c
examples_synthetic_benchmark_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_synthetic_benchmark_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_synthetic_benchmark_LDADD = examples/libsynthetic.la lib/libhvd.la

# Images need zlib.
if HAVE_ZLIB
noinst_LTLIBRARIES += examples/libimages.la
examples_libimages_la_SOURCES = \
	examples/fashion_data.c examples/fashion_data.h \
	examples/support/idx.c examples/support/idx.h
examples_libimages_la_CFLAGS = $(AM_CFLAGS) $(ZLIB_CFLAGS)
examples_libimages_la_LIBADD = $(ZLIB_LIBS)

noinst_LTLIBRARIES += examples/libsoftmax.la
examples_libsoftmax_la_SOURCES = \
	examples/softmax_kernels.c examples/softmax_kernels.h \
	examples/softmax_model.c examples/softmax_model.h \
	examples/softmax_options.c examples/softmax_options.h
examples_libsoftmax_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_libsoftmax_la_CFLAGS = $(AM_CFLAGS) $(VECTORIZE_CFLAGS)
examples_libsoftmax_la_LIBADD = examples/libimages.la examples/libsupport.la -lm

noinst_PROGRAMS += examples/softmax_regression
examples_softmax_regression_SOURCES = examples/softmax_regression.c
examples_softmax_regression_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_softmax_regression_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_softmax_regression_LDADD = examples/libsoftmax.la lib/libhvd.la
endif

# Layers need OpenBLAS.
if HAVE_EXAMPLES_BLAS
noinst_LTLIBRARIES += examples/libfashion.la
examples_libfashion_la_SOURCES = \
	examples/fashion_network.c examples/fashion_network.h \
	examples/fashion_options.c examples/fashion_options.h \
	examples/support/conv.c examples/support/conv.h \
	examples/support/layers.c examples/support/layers.h \
	examples/support/optimizer.c examples/support/optimizer.h
examples_libfashion_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_libfashion_la_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS) $(VECTORIZE_CFLAGS)
examples_libfashion_la_LIBADD = examples/libimages.la examples/libsupport.la $(OPENBLAS_LIBS) -lm

noinst_PROGRAMS += examples/fashion_mnist
examples_fashion_mnist_SOURCES = examples/fashion_mnist.c \
	examples/fashion_state.c examples/fashion_state.h \
	examples/fashion_training.c examples/fashion_training.h
examples_fashion_mnist_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
examples_fashion_mnist_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS)
examples_fashion_mnist_LDFLAGS = $(AM_LDFLAGS) -no-install
examples_fashion_mnist_LDADD = examples/libfashion.la lib/libhvd.la $(OPENBLAS_LIBS)
endif

# A program in Fortran
EXTRA_DIST += examples/fortran/heat.f90
if FORTRAN
noinst_DATA += examples/fortran/heat
CLEANFILES += examples/fortran/heat
examples/fortran/heat: examples/fortran/heat.f90 lib/fortran/libhvd_fortran.a lib/libhvd.la
	$(AM_V_GEN)$(MKDIR_P) examples/fortran && $(fortran_compile) -o $@ $(srcdir)/examples/fortran/heat.f90 \
		lib/fortran/libhvd_fortran.a -Llib/.libs -lhvd -Wl,-rpath,$(abs_builddir)/lib/.libs $(HVD_LDFLAGS)
endif
