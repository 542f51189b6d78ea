# SPDX-License-Identifier: Apache-2.0
"""hvd.run(): a function on all ranks of a job that hvdrun starts, from a script or a notebook.

The caller starts hvdrun with a port for its status page, which also serves the job's key-value store. Function and
results travel in this store (hvd._store), pickled with cloudpickle. No other port is opened.
"""
import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence

from ._store import RUN_SCOPE, Store

CONNECT_S = 0.02
STATUS_RESOURCE = 71  # hvdrun: the port is taken
TRIES = 5


class _Job:
    """A running hvdrun, and what its ranks have stored."""

    def __init__(self, command: List[str], port: int, relay: bool):
        streams = subprocess.PIPE if relay else None
        self.port = port
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=streams, stderr=streams, env=_environment()
        )
        self.error: Optional[tuple] = None
        self._threads: List[threading.Thread] = []
        if relay:
            self._start(self._relay, self.process.stdout, sys.stdout)
            self._start(self._relay, self.process.stderr, sys.stderr)

    def _start(self, function: Callable, *arguments: Any) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    @staticmethod
    def _relay(source: Any, target: Any) -> None:
        for line in source:
            target.write(line.decode(errors="replace"))

    def _open_store(self) -> Optional[Store]:
        """A connection to the store; None if hvdrun ends before it serves one."""
        while self.process.poll() is None:
            store = Store("127.0.0.1", self.port, RUN_SCOPE)
            try:
                store.get("function", 0)
                return store
            except (OSError, RuntimeError):
                store.close()
            try:
                self.process.wait(CONNECT_S)
            except subprocess.TimeoutExpired:
                pass
        return None

    def _get(self, store: Store, key: str) -> Optional[bytes]:
        """Waits for a value until hvdrun has ended."""
        while self.process.poll() is None:
            value = store.get(key, 1)
            if value is not None:
                return value
        return None

    def _watch_errors(self) -> None:
        store = self._open_store()
        if store is None:
            return
        try:
            value = self._get(store, "error")
            if value is not None:
                self.error = pickle.loads(value)
                store.put("error_read", b"")
        except (OSError, RuntimeError):
            pass  # hvdrun has ended
        finally:
            store.close()

    def run(self, pickled: bytes, size: int) -> Optional[List[Any]]:
        """The results in order of rank; None if a rank or hvdrun has failed."""
        store = self._open_store()
        if store is None:
            return None
        self._start(self._watch_errors)
        results = []
        try:
            store.put("function", pickled)
            for rank in range(size):
                value = self._get(store, f"result.{rank}")
                if value is None:
                    return None
                results.append(pickle.loads(value))
            store.put("results_read", b"")
        except (OSError, RuntimeError):
            return None
        finally:
            store.close()
        return results

    def finish(self) -> int:
        """hvdrun's exit status."""
        status = self.process.wait()
        for thread in self._threads:
            thread.join()
        return status

    def stop(self) -> None:
        """Ends the job; hvdrun ends its ranks."""
        if self.process.poll() is None:
            self.process.terminate()
        self.finish()


def _environment() -> Dict[str, str]:
    """The ranks find this package where the caller has found it, behind all that PYTHONPATH has."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.environ.get("PYTHONPATH")
    return dict(os.environ, PYTHONPATH=f"{path}{os.pathsep}{here}" if path else here)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _is_file(stream: Any) -> bool:
    try:
        stream.fileno()
    except (AttributeError, OSError, ValueError):
        return False
    return True


def _options(
    np: int,
    hosts: Optional[str],
    hostfile: Optional[str],
    start_timeout: Optional[int],
    ssh_port: Optional[int],
    ssh_identity_file: Optional[str],
    output_filename: Optional[str],
    network_interfaces: Optional[str],
    verbose: bool,
    options: Sequence[str],
) -> List[str]:
    given: Dict[str, Any] = {
        "-np": np,
        "--hosts": hosts,
        "--hostfile": hostfile,
        "--start-timeout": start_timeout,
        "--ssh-port": ssh_port,
        "--ssh-identity-file": ssh_identity_file,
        "--output-filename": output_filename,
        "--network-interfaces": network_interfaces,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return words + (["--verbose"] if verbose else []) + list(options)


def _raise(job: _Job, status: int) -> None:
    if job.error is None:
        raise RuntimeError(f"hvd.run: hvdrun ended with exit status {status}; its last line says why")
    rank, text, pickled = job.error
    message = f"hvd.run: rank {rank} raised:\n{text}"
    cause = pickle.loads(pickled) if pickled else None
    raise RuntimeError(message) from cause


def run(
    function: Callable,
    args: Sequence[Any] = (),
    kwargs: Optional[Dict[str, Any]] = None,
    np: int = 1,
    hosts: Optional[str] = None,
    hostfile: Optional[str] = None,
    start_timeout: Optional[int] = None,
    ssh_port: Optional[int] = None,
    ssh_identity_file: Optional[str] = None,
    output_filename: Optional[str] = None,
    network_interfaces: Optional[str] = None,
    verbose: bool = False,
    executable: Optional[str] = None,
    hvdrun: str = "hvdrun",
    options: Sequence[str] = (),
) -> List[Any]:
    """Calls `function(*args, **kwargs)` on `np` ranks and returns the results in order of rank.

    The function is pickled with cloudpickle, so it may be a lambda or stand in a notebook; results must be pickled, too.
    It calls hvd.init() itself. The other arguments are options of hvdrun(1): hosts such as "a:2,b:2", a hostfile, seconds
    for the start, a port and a key for ssh, a directory for the output of each rank, network interfaces, progress;
    `options` are more words for its command line, `hvdrun` the program, `executable` the Python of the ranks (this one).

    Raises RuntimeError with the traceback of the first rank that failed, whose exception is its __cause__ if it can be
    pickled; or with hvdrun's exit status when no rank said why. ValueError when np is less than 1, or both hosts and
    hostfile are given; FileNotFoundError when there is no hvdrun. Ctrl-C ends the job.
    """
    import cloudpickle

    if np < 1:
        raise ValueError(f"np={np} must be at least 1")
    if hosts is not None and hostfile is not None:
        raise ValueError("hosts and hostfile exclude each other")
    program = shutil.which(hvdrun)
    if program is None:
        raise FileNotFoundError(f"hvd.run: there is no program '{hvdrun}'; install hvdrun, or pass its path as hvdrun=")
    call = cloudpickle.dumps((function, tuple(args), dict(kwargs or {})))
    pickled = pickle.dumps((sys.path, call))
    words = _options(np, hosts, hostfile, start_timeout, ssh_port, ssh_identity_file, output_filename,
                     network_interfaces, verbose, options)  # fmt: skip
    rank = [executable or sys.executable, "-m", "hvd._run_rank"]
    relay = not (_is_file(sys.stdout) and _is_file(sys.stderr))
    for attempt in range(TRIES):
        port = _free_port()
        job = _Job([program, *words, "--status-port", str(port), *rank], port, relay)
        try:
            results = job.run(pickled, np)
            status = job.finish()
        except BaseException:
            job.stop()
            raise
        if status == 0 and results is not None:
            return results
        if status != STATUS_RESOURCE or attempt == TRIES - 1:
            _raise(job, status)
    raise AssertionError("not reached")
