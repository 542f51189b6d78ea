# SPDX-License-Identifier: Apache-2.0
"""horovod.run() with Horovod's arguments, on hvd.run()."""
from typing import Any, Callable, Dict, List, Optional, Sequence

import hvd

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
    an argument of MPI."""
    _refuse(dict.fromkeys(("use_mpi", "mpi_args"), _MPI), locals())
    elastic = {"--slots-per-host": slots, "--reset-limit": reset_limit}
    options = [word for name, value in elastic.items() if value is not None for word in (name, str(value))]
    if cooldown_range is not None:
        options += ["--blacklist-cooldown-range", *map(str, cooldown_range)]
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
        options=options,
        min_np=min_num_proc or min_np,
        max_np=max_num_proc or max_np,
        host_discovery_script=host_discovery_script,
    )
