# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/ssh/hmac_sha1.c launcher/ssh/hmac_sha1.h \
	launcher/ssh/known_hosts.c launcher/ssh/known_hosts.h \
	launcher/ssh/known_hosts_add.c \
	launcher/ssh/known_hosts_key.c \
	launcher/ssh/known_hosts_line.c launcher/ssh/known_hosts_line.h \
	launcher/ssh/known_hosts_match.c \
	launcher/ssh/ssh_agent.c launcher/ssh/ssh_agent.h \
	launcher/ssh/ssh_config.c launcher/ssh/ssh_config.h \
	launcher/ssh/ssh_config_expand.c launcher/ssh/ssh_config_expand.h \
	launcher/ssh/ssh_config_query.c \
	launcher/ssh/ssh_confine.c launcher/ssh/ssh_confine.h \
	launcher/ssh/ssh_connect.c launcher/ssh/ssh_connect.h \
	launcher/ssh/ssh_dial.c launcher/ssh/ssh_dial.h \
	launcher/ssh/ssh_helper.c launcher/ssh/ssh_helper.h launcher/ssh/ssh_helper_impl.h \
	launcher/ssh/ssh_host_key.c launcher/ssh/ssh_host_key.h launcher/ssh/ssh_host_key_impl.h \
	launcher/ssh/ssh_host_key_prefer.c launcher/ssh/ssh_host_key_prefer.h \
	launcher/ssh/ssh_host_key_refusal.c \
	launcher/ssh/ssh_key_file.c launcher/ssh/ssh_key_file.h \
	launcher/ssh/ssh_keys.c launcher/ssh/ssh_keys.h \
	launcher/ssh/ssh_login.c launcher/ssh/ssh_login.h \
	launcher/ssh/ssh_memory.c launcher/ssh/ssh_memory.h \
	launcher/ssh/ssh_message.c launcher/ssh/ssh_message.h \
	launcher/ssh/ssh_process.c launcher/ssh/ssh_process.h \
	launcher/ssh/ssh_pump.c launcher/ssh/ssh_pump.h \
	launcher/ssh/ssh_serve.c launcher/ssh/ssh_serve.h \
	launcher/ssh/ssh_session.c launcher/ssh/ssh_session.h \
	launcher/ssh/ssh_trust.c launcher/ssh/ssh_trust.h \
	launcher/ssh/ssh_unreachable_text.c launcher/ssh/ssh_unreachable_text.h \
	launcher/ssh/ssh_wire.c launcher/ssh/ssh_wire.h
