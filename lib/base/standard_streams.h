/* SPDX-License-Identifier: Apache-2.0 */
/* Standard streams that the host program has closed. A descriptor that the library opens would get
 * the number of a closed stream, if only until it is moved. Bytes that another thread of the
 * program writes meanwhile would go to this descriptor: to a socket that is not connected yet
 * (SIGPIPE), or into shared memory. */
#ifndef LIB_BASE_STANDARD_STREAMS_H
#define LIB_BASE_STANDARD_STREAMS_H

struct standard_streams {
    int fds[3];
    int count;
};

/* Opens /dev/null for those that are closed, so that what is opened next has another number. Where
 * that is not possible, nothing happens. Keeps errno. */
void standard_streams_hold(struct standard_streams *held);

/* Closes them again. Keeps errno. */
void standard_streams_release(struct standard_streams *held);

/* For a descriptor that was opened without holding them: moves `fd` above 2, close-on-exec. Returns
 * its new number; or -1 with errno, and it is closed. -1 stays -1. */
int standard_streams_lift(int fd);

#endif
