# SPDX-License-Identifier: Apache-2.0
"""horovod.run() with Horovod's arguments, on hvd.run()."""
from typing import Any, Callable, Dict, List, Optional, Sequence

import hvd

_ELASTIC = "elastic jobs are not built yet"
_MPI = "hvdrun starts the ranks itself; MPI is not used"


def _refuse(reasons: Dict[str, str], given: Dict[str, Any]) -> None:
    for name, reason in reasons.items():
        if given[name]:
            raise ValueError(f"horovod.run: {name}={given[name]!r}: {reason}")


def run(
    func: Callable,
    args: Sequence[Any] = (),
    kwargs: Optional[Dict[str, Any]] = None,
    num_proc: Optional[int] = None,
    min_num_proc: Optional[int] = None,
    max_num_proc: Optional[int] = None,
    slots: Optional[int] = None,
    reset_limit: Optional[int] = None,
    cooldown_range: Optional[Sequence[int]] = None,
    hosts: Optional[str] = None,
    hostfile: Optional[str] = None,
    start_timeout: Optional[int] = None,
    ssh_port: Optional[int] = None,
    ssh_identity_file: Optional[str] = None,
    disable_cache: Optional[bool] = None,
    output_filename: Optional[str] = None,
    verbose: Optional[int] = None,
    use_gloo: Optional[bool] = None,
    use_mpi: Optional[bool] = None,
    mpi_args: Optional[str] = None,
    network_interface: Optional[str] = None,
    executable: Optional[str] = None,
    np: Optional[int] = None,
    min_np: Optional[int] = None,
    max_np: Optional[int] = None,
    network_interfaces: Optional[str] = None,
    host_discovery_script: Optional[str] = None,
) -> List[Any]:
    """Calls `func` on all ranks; hvd.run() says more. `disable_cache` and `use_gloo` change nothing here. ValueError for
    an argument of elastic jobs or of MPI."""
    elastic = ("min_num_proc", "max_num_proc", "min_np", "max_np", "slots", "reset_limit", "cooldown_range")
    reasons = dict.fromkeys(elastic + ("host_discovery_script",), _ELASTIC)
    reasons.update(dict.fromkeys(("use_mpi", "mpi_args"), _MPI))
    _refuse(reasons, locals())
    return hvd.run(
        func,
        args,
        kwargs,
        np=num_proc or np or 1,
        hosts=hosts,
        hostfile=hostfile,
        start_timeout=start_timeout,
        ssh_port=ssh_port,
        ssh_identity_file=ssh_identity_file,
        output_filename=output_filename,
        network_interfaces=network_interfaces or network_interface,
        verbose=bool(verbose and verbose > 1),
        executable=executable,
    )
