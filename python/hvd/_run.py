# SPDX-License-Identifier: Apache-2.0
"""hvd.run(): a function on all ranks of a job that hvdrun starts, from a script or a notebook.

hvdrun offers its status page at a port of the loopback address that it has chosen itself, and writes the port into a
pipe. The port also serves the job's key-value store. Function and results travel there (hvd._store), pickled with
cloudpickle. What hvdrun prints is passed on.
"""
import os
import pickle
import shutil
import subprocess
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence

from ._store import RUN_SCOPE, Store, StoreFullError

LOOK_S = 1  # how often the caller looks whether a rank has ended without a result


def _pass_on(source: Any, target: Any) -> None:
    """A stream that cannot be written, or is none, must not stop the job."""
    for line in source:
        try:
            target.write(line.decode(errors="replace"))
            target.flush()
        except Exception:
            pass


class _Job:
    """A running hvdrun, and what its ranks have stored."""

    def __init__(self, command: List[str], is_elastic: bool):
        self.error: Optional[tuple] = None
        self.missing = ""
        self._is_elastic = is_elastic
        self._store: Optional[Store] = None
        self._threads: List[threading.Thread] = []
        port, port_end = os.pipe()
        self._port = open(port, "rb")
        try:
            self.process = subprocess.Popen(
                [command[0], "--status-fd", str(port_end), *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=None if _is_file(sys.stdout) else subprocess.PIPE,
                stderr=None if _is_file(sys.stderr) else subprocess.PIPE,
                env=_environment(),
                pass_fds=(port_end,),
            )
        finally:
            os.close(port_end)
        for source, target in ((self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr)):
            if source is not None:
                self._start(_pass_on, source, target)

    def _start(self, function: Callable, *args: Any) -> None:
        thread = threading.Thread(target=function, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _watch_failures(self) -> None:
        """Keeps what the first rank that fails has stored."""
        try:
            while self.process.poll() is None:
                value = self._store.get("error", LOOK_S)
                if value is not None:
                    self.error = pickle.loads(value)
                    self._store.put("error_read", b"")
                    return
        except (OSError, RuntimeError):
            pass  # hvdrun has ended

    def _result(self, rank: int) -> Optional[bytes]:
        """Waits for the result of a rank; None if the rank or hvdrun ends without it."""
        while self.process.poll() is None:
            value = self._store.take(f"result.{rank}", LOOK_S)
            if value is not None:
                return value
            if not self._is_elastic and self._store.has_ended(rank):
                value = self._store.take(f"result.{rank}", 0)
                self.missing = "" if value is not None else f"rank {rank} has ended without a result"
                return value
        return None

    def run(self, pickled: bytes, size: int) -> Optional[List[bytes]]:
        """The pickled results in order of rank; None if a rank or hvdrun has failed."""
        with self._port:
            port = self._port.readline()
        if not port:  # hvdrun has ended
            return None
        self._store = Store("127.0.0.1", int(port), RUN_SCOPE)
        self._start(self._watch_failures)
        results = []
        try:
            self._store.put("function", pickled)
            while len(results) < size:
                value = self._result(len(results))
                if value is None:
                    return None
                size, result = pickle.loads(value)
                results.append(result)
            self._store.put("results_read", b"")
        except StoreFullError:
            raise
        except (OSError, RuntimeError):
            return None
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
    min_np: Optional[int],
    max_np: Optional[int],
    host_discovery_script: Optional[str],
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
        "--min-np": min_np,
        "--max-np": max_np,
        "--host-discovery-script": host_discovery_script,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return words + (["--verbose"] if verbose else []) + list(options)


def _raise(job: _Job, status: int) -> None:
    if job.error is not None:
        rank, text, pickled = job.error
        cause = pickle.loads(pickled) if pickled else None
        raise RuntimeError(f"hvd.run: rank {rank} raised:\n{text}") from cause
    if job.missing:
        raise RuntimeError(f"hvd.run: {job.missing}")
    raise RuntimeError(f"hvd.run: hvdrun ended with exit status {status}; its last line says why")


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
    min_np: Optional[int] = None,
    max_np: Optional[int] = None,
    host_discovery_script: Optional[str] = None,
) -> List[Any]:
    """Calls `function(*args, **kwargs)` on `np` ranks and returns the results in order of rank.

    The function is pickled with cloudpickle, so it may be a lambda or stand in a notebook; results must be pickled, too.
    It calls hvd.init() itself. The other arguments are options of hvdrun(1): hosts such as "a:2,b:2", a hostfile, seconds
    for the start, a port and a key for ssh, a directory for the output of each rank, network interfaces, progress;
    `options` are more words for its command line, `hvdrun` the program, `executable` the Python of the ranks (this one).

    `min_np`, `max_np` and `host_discovery_script` make the job elastic; its results are those of the last world.

    Raises RuntimeError with the traceback of the first rank that failed, whose exception is its __cause__ if it can be
    pickled; with hvdrun's exit status when no rank said why; or when function and results have more than 256 MiB
    together. ValueError when np is less than 1, or both hosts and
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
                     network_interfaces, verbose, min_np, max_np, host_discovery_script, options)  # fmt: skip
    job = _Job([program, *words, executable or sys.executable, "-m", "hvd._run_rank"],
               min_np is not None or host_discovery_script is not None)  # fmt: skip
    try:
        results = job.run(pickled, np)
        if results is None and job.missing:
            job.stop()  # the other ranks wait for the results to be read
        status = job.finish()
    except BaseException:
        job.stop()
        raise
    if results is None or status != 0:
        _raise(job, status)
    return [pickle.loads(result) for result in results]
