# SPDX-License-Identifier: Apache-2.0
# What distributions build from, and the unit of systemd. The version stands in lib/hvd.h; doc/releasing.md says what follows.

# systemd's unit of hvdrendezvousd
if PROGRAMS
if SYSTEMD_UNITS
paths_install += $(systemdsystemunitdir)/hvdrendezvousd.service:packaging/systemd/hvdrendezvousd.service.in
endif
endif

EXTRA_DIST += packaging/container packaging/debian packaging/rpm packaging/systemd
