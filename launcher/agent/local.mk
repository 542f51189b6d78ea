# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/agent/agent.c launcher/agent/agent.h \
	launcher/agent/agent_binding.c \
	launcher/agent/agent_dial.c launcher/agent/agent_dial.h \
	launcher/agent/agent_ending.c \
	launcher/agent/agent_environment.c \
	launcher/agent/agent_exchange.c \
	launcher/agent/agent_impl.h \
	launcher/agent/agent_rank_stop.c \
	launcher/agent/agent_ranks.c \
	launcher/agent/agent_rank_ends.c \
	launcher/agent/agent_relay.c launcher/agent/agent_relay.h \
	launcher/agent/agent_relay_answer.c \
	launcher/agent/agent_serve.c \
	launcher/agent/agent_setup.c \
	launcher/agent/agent_stacks.c \
	launcher/agent/agent_streams.c \
	launcher/agent/agent_sweep.c \
	launcher/agent/agent_torch.c \
	launcher/agent/agent_trace.c launcher/agent/agent_trace.h \
	launcher/agent/agent_trace_answer.c \
	launcher/agent/agent_trace_debugger.c \
	launcher/agent/agent_tunnel.c launcher/agent/agent_tunnel.h \
	launcher/agent/agent_tunnel_frames.c \
	launcher/agent/agent_watch.c \
	launcher/agent/sent_copy.c launcher/agent/sent_copy.h
