# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/world/elastic.c rendezvous/world/elastic.h \
	rendezvous/world/elastic_service.c rendezvous/world/elastic_service.h \
	rendezvous/world/gloo_scopes.c rendezvous/world/gloo_scopes.h \
	rendezvous/world/job_declaration.c rendezvous/world/job_declaration.h \
	rendezvous/world/job_table.c rendezvous/world/job_table.h \
	rendezvous/world/launcher_view.c rendezvous/world/launcher_view.h \
	rendezvous/world/membership.c rendezvous/world/membership.h \
	rendezvous/world/membership_text.c rendezvous/world/membership_text.h \
	rendezvous/world/pending_workers.c rendezvous/world/pending_workers.h \
	rendezvous/world/pending_workers_assign.c \
	rendezvous/world/pending_workers_text.c rendezvous/world/pending_workers_text.h \
	rendezvous/world/rank_places.c rendezvous/world/rank_places.h \
	rendezvous/world/rank_query.c rendezvous/world/rank_query.h \
	rendezvous/world/rank_states.c rendezvous/world/rank_states.h \
	rendezvous/world/rendezvous_job.c rendezvous/world/rendezvous_job.h \
	rendezvous/world/rendezvous_job_elastic.c rendezvous/world/rendezvous_job_impl.h \
	rendezvous/world/rendezvous_job_next.c \
	rendezvous/world/stalls.c rendezvous/world/stalls.h
