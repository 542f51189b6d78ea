# SPDX-License-Identifier: Apache-2.0
# Interrupts the main thread once, by SIGUSR1, while it sleeps in a call.
import os
import signal
import threading
import time


def sleeps():
    """Whether the main thread has been asleep for a while, so that it is in the call."""
    seen = []
    for _ in range(2):
        with open(f"/proc/self/task/{os.getpid()}/status") as file:
            seen.append([line for line in file if line.startswith(("State", "voluntary"))])
        time.sleep(0.05)
    return seen[0] == seen[1] and "S" in seen[0][0].split()


def when_asleep():
    """Returns at once. A KeyboardInterrupt is raised in the main thread when it sleeps."""
    interrupted = threading.Event()

    def signal_until_interrupted():
        while not interrupted.wait(0.05):
            if sleeps():
                os.kill(os.getpid(), signal.SIGUSR1)

    def interrupt(number, frame):
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    signal.signal(signal.SIGUSR1, interrupt)
    threading.Thread(target=signal_until_interrupted).start()
