/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that listens to the rendezvous; see news.h. */
#include "lib/join/news.h"

#include "lib/link/descriptor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

int news_receive(struct join_connection *connection, struct failure *failure)
{
    struct err err = { 0 };
    struct join_news news;
    int rc;
    while ((rc = join_news(connection, &news, &err)) > 0)
        failure_record(failure, news.collectives, news.status, news.text);
    if (rc == 0)
        return 0;
    failure_record(failure, 0, rc, err.text);
    return -1;
}

static void *listen_to_rendezvous(void *argument)
{
    struct news *news = argument;
    struct pollfd fds[] = {
        { .fd = news->connection->fd, .events = POLLIN },
        { .fd = news->stop_fd, .events = POLLIN },
    };
    for (int ended = 0; !ended;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents)
            break;
        ended = news_receive(news->connection, news->failure);
        eventfd_write(news->wake_fd, 1);
    }
    return NULL;
}

/* The host program's signals are not for this thread. */
static int start_without_signals(struct news *news)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&news->thread, NULL, listen_to_rendezvous, news);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        pthread_setname_np(news->thread, "hvd-news");
    return error;
}

static void close_fds(struct news *news)
{
    descriptor_close(news->wake_fd);
    descriptor_close(news->stop_fd);
}

int news_start(struct news *news, struct join_connection *connection, struct failure *failure,
               struct err *err)
{
    *news = (struct news){ .connection = connection, .failure = failure };
    news->wake_fd = descriptor_event();
    news->stop_fd = descriptor_event();
    int error = news->wake_fd < 0 || news->stop_fd < 0 ? errno : start_without_signals(news);
    if (error) {
        close_fds(news);
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
    close_fds(news);
    news->running = false;
}
