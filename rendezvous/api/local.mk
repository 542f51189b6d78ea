# SPDX-License-Identifier: Apache-2.0
rendezvous_librendezvous_la_SOURCES += \
	rendezvous/api/http_elastic_wait.c rendezvous/api/http_elastic_wait.h \
	rendezvous/api/http_exchange.h \
	rendezvous/api/http_jobs.c \
	rendezvous/api/http_key_value.c rendezvous/api/http_key_value.h \
	rendezvous/api/http_key_value_post.c \
	rendezvous/api/http_metrics.c \
	rendezvous/api/http_page.c \
	rendezvous/api/http_rank_and_size.c \
	rendezvous/api/http_route.c rendezvous/api/http_route.h \
	rendezvous/api/metrics_count.c rendezvous/api/metrics.h \
	rendezvous/api/metrics_line.h \
	rendezvous/api/metrics_ranks.c \
	rendezvous/api/metrics_text.c \
	rendezvous/api/page/status_html.h \
	rendezvous/api/status_json.c rendezvous/api/status_json.h
