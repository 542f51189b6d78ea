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

/* Opens /dev/null for each closed stream, so that descriptors opened next have other numbers. When
 * opening fails, nothing happens. Keeps errno. */
void standard_streams_hold(struct standard_streams *held);

/* Closes these descriptors again. Keeps errno. */
void standard_streams_release(struct standard_streams *held);

/* For a descriptor that was opened while streams were not held: moves `fd` above 2, close-on-exec.
 * Returns its new number; or -1 with errno, after closing `fd`. -1 stays -1. */
int standard_streams_lift(int fd);

#endif
