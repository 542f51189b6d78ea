# SPDX-License-Identifier: Apache-2.0
"""Calls of libhvd that wait for other ranks and have no time limit: joining the world, process sets.

The call runs in a thread of its own, so that the main thread can be interrupted (Ctrl-C) while it waits. An
interrupted call goes on in its thread until the other ranks have come or the process ends.
"""
import threading
from typing import Any, Callable


def interruptible(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `call(*arguments)` returns, or raise what it raises."""
    if threading.current_thread() is not threading.main_thread():
        return call(*arguments)
    outcome: list = []

    def run() -> None:
        try:
            outcome.append((call(*arguments), None))
        except BaseException as error:  # it is raised again, by the thread that waits
            outcome.append((None, error))

    thread = threading.Thread(target=run, name="hvd", daemon=True)
    thread.start()
    thread.join()
    answer, error = outcome[0]
    if error is not None:
        raise error
    return answer
