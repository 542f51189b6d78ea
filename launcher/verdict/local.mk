# SPDX-License-Identifier: Apache-2.0
launcher_liblauncher_la_SOURCES += \
	launcher/verdict/job_blame.c launcher/verdict/job_blame.h \
	launcher/verdict/job_cause_text.c launcher/verdict/job_cause_text.h \
	launcher/verdict/job_judge.c launcher/verdict/job_judge.h \
	launcher/verdict/job_report.c launcher/verdict/job_report.h \
	launcher/verdict/job_state.c launcher/verdict/job_state.h \
	launcher/verdict/job_verdict.h \
	launcher/verdict/job_verdict_text.c launcher/verdict/job_verdict_text.h \
	launcher/verdict/link_history.c launcher/verdict/link_history.h \
	launcher/verdict/stderr_failure.c launcher/verdict/stderr_failure.h \
	launcher/verdict/unresponsive_host.c launcher/verdict/unresponsive_host.h
