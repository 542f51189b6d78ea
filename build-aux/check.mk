# SPDX-License-Identifier: Apache-2.0
# For "bootstrap check": the three builds and their tests side by side, with as many jobs in all as make is given. What is
# compiled for one fills the time in which tests of another wait. A warning is an error in each, however it was configured.
# libtool runs some 2500 times; libtool-quick needs a third of its time.
libtool = LIBTOOL='/bin/sh $(CURDIR)/build-aux/libtool-quick'
all: asan plain tsan
asan:
	+@$(MAKE) -C build-asan check $(libtool)
plain:
	+@$(MAKE) -C build check WERROR=-Werror $(libtool)
tsan:
	+@$(MAKE) -C build-tsan check-threads $(libtool)
.PHONY: all asan plain tsan
