# SPDX-License-Identifier: Apache-2.0
# For "bootstrap check": the three builds and their tests side by side, with as many jobs in all as make is given. What is
# compiled for one fills the time in which tests of another wait. A warning is an error in each, however it was configured.
# configure chooses bash, in which libtool takes twice as long as in a smaller shell; it runs some 2500 times.
libtool = LIBTOOL='/bin/sh ./libtool'
all: asan plain tsan
asan:
	+@$(MAKE) -C build-asan check $(libtool)
plain:
	+@$(MAKE) -C build check WERROR=-Werror $(libtool)
tsan:
	+@$(MAKE) -C build-tsan check-threads $(libtool)
.PHONY: all asan plain tsan
