# SPDX-License-Identifier: Apache-2.0
# hvdssh: what reads the bytes of ssh servers, in a process for each host. hvdrun links neither libssh2 nor libcrypto.
agent_PROGRAMS += hvdssh
hvdssh_SOURCES = src/ssh/hvdssh.c
hvdssh_LDADD = launcher/liblauncher.la lib/base/libbase.la $(UV_LIBS) $(SODIUM_LIBS) $(SSH2_LIBS) $(CRYPTO_LIBS) \
	$(SECCOMP_LIBS)
