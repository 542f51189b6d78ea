/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that listens to the rendezvous; see news.h. */
#include "lib/join/news.h"

#include "lib/base/descriptor.h"
#include "lib/base/quiet_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>

static void news_answer(struct news *news, const struct join_ask *ask)
{
    struct join_report report = { .text = "" };
    news->report(news->report_arg, &report, (size_t)ask->size);
    join_report(news->connection, &report);
}

static void record(struct news *news, const struct rank_end *end)
{
    failure_record(news->failure, end);
    eventfd_write(news->wake_fd, 1);
}

static bool is_of_server(const struct news *news, const struct rank_end *end)
{
    return news->connection->served_by_rank && end->rank == news->connection->server_rank;
}

static void record_lost_server(struct news *news)
{
    const struct join_connection *connection = news->connection;
    struct rank_end end = rank_end_none();
    end.how.kind = RANK_END_DISCONNECTED;
    end.status = HVD_ERR_PEER_LOST;
    end.rank = end.because_of = connection->server_rank;
    snprintf(end.host, sizeof end.host, "%s", connection->server_host);
    record(news, &end);
}

static void record_lost_rendezvous(struct news *news, const struct err *err)
{
    if (news->connection->served_by_rank && err->code == HVD_ERR_PEER_LOST) {
        if (!news->server_left)
            record_lost_server(news);
        return;
    }
    struct rank_end end = rank_end_none();
    end.how.kind = RANK_END_RENDEZVOUS_LOST;
    end.status = err->code;
    snprintf(end.words, sizeof end.words, "%s", err->text);
    record(news, &end);
}

/* Like join_receive(), and handles the message. */
static int news_receive(struct news *news)
{
    struct err err = { 0 };
    struct join_message message;
    int rc = join_receive(news->connection, &message, &err);
    if (rc < 0)
        record_lost_rendezvous(news, &err);
    else if (rc > 0 && message.type == JOIN_ASK)
        news_answer(news, &message.ask);
    else if (rc > 0 && message.type == JOIN_UPDATE)
        atomic_fetch_or(&news->hosts_updated, message.update.hosts);
    else if (rc > 0) {
        news->server_left |=
            is_of_server(news, &message.news) && message.news.status == HVD_ERR_PEER_LEFT;
        record(news, &message.news);
    }
    return rc;
}

/* Receives before it waits: a message may have come together with WELCOME. */
static void *listen_to_rendezvous(void *argument)
{
    struct news *news = argument;
    struct pollfd fds[] = {
        { .fd = news->connection->fd, .events = POLLIN },
        { .fd = news->stop_fd, .events = POLLIN },
    };
    for (int rc; !fds[1].revents && (rc = news_receive(news)) >= 0;)
        if (poll(fds, 2, rc > 0 ? 0 : -1) < 0 && errno != EINTR)
            break;
    return NULL;
}

int news_start(struct news *news, struct join_connection *connection, struct failure *failure,
               report_fn *report, void *report_arg, int wake_fd, struct err *err)
{
    *news = (struct news){
        .connection = connection,
        .failure = failure,
        .report = report,
        .report_arg = report_arg,
        .wake_fd = wake_fd,
        .stop_fd = descriptor_event(),
    };
    int error = news->stop_fd < 0
                    ? errno
                    : quiet_thread_start(&news->thread, "hvd-news", listen_to_rendezvous, news);
    if (error) {
        descriptor_close(news->stop_fd);
        return fail_errno(err, HVD_ERR_SYSTEM, error, "start the thread that listens for news");
    }
    news->running = true;
    return HVD_OK;
}

void news_stop(struct news *news)
{
    if (!news->running)
        return;
    eventfd_write(news->stop_fd, 1);
    pthread_join(news->thread, NULL);
    descriptor_close(news->stop_fd);
    news->running = false;
}

void news_abandon(struct news *news)
{
    if (news->running)
        pthread_detach(news->thread);
}
