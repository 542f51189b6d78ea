# SPDX-License-Identifier: Apache-2.0
"""The key-value store of a job's rendezvous, over HTTP on the loopback address.

hvdrun lets in the user who runs the job, without a key (hvd_protocol(7)). A value is stored in pieces, because the
rendezvous limits one value to 4 MiB; all values of a job together may have 256 MiB.
"""
import http.client
import json
from typing import Any, Optional

RUN_SCOPE = "hvd.run"  # of hvd.run() and its ranks
PIECE_BYTES = 2 * 1024 * 1024
FULL = 507  # HTTP's status of a store that takes no more
WAIT_S = 30


class StoreFullError(RuntimeError):
    """The values of a job are too large together."""


class Store:
    """A client of one scope. Each request has a connection of its own, since the rendezvous closes idle ones.

    Raises OSError when the rendezvous is not there (any more), and RuntimeError when it refuses a request.
    """

    def __init__(self, address: str, port: int, scope: str):
        self._address, self._port, self._scope = address, port, scope

    def _request(self, method: str, path: str, body: Optional[bytes] = None) -> Optional[bytes]:
        connection = http.client.HTTPConnection(self._address, self._port, timeout=WAIT_S + 10)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            data = response.read()
        except http.client.HTTPException as error:
            raise OSError(f"the rendezvous ended in the middle of an answer: {error!r}") from error
        finally:
            connection.close()
        if response.status in (204, 404):
            return None
        if response.status == FULL:
            raise StoreFullError(data.decode(errors="replace").strip())
        if response.status != 200:
            raise RuntimeError(f"the rendezvous answered {response.status} to {method} {path}: {data[:200]!r}")
        return data

    def _ask(self, method: str, key: str, body: Optional[bytes] = None, query: str = "") -> Optional[bytes]:
        return self._request(method, f"/{self._scope}/{key}{query}", body)

    def put(self, key: str, value: bytes) -> None:
        """Stores a value. The number of pieces comes last, so a reader that finds it finds all pieces.

        StoreFullError when it does not fit beside the other values; then no piece is left.
        """
        pieces = [value[at : at + PIECE_BYTES] for at in range(0, len(value), PIECE_BYTES)]
        try:
            for number, piece in enumerate(pieces):
                self._ask("PUT", f"{key}.{number}", piece)
            self._ask("PUT", key, str(len(pieces)).encode())
        except StoreFullError as error:
            self._delete(key, len(pieces))
            raise StoreFullError(
                f"{key} of {len(value)} bytes does not fit: function and results of a job may have 256 MiB together. "
                "Larger results belong into files"
            ) from error

    def _delete(self, key: str, pieces: int) -> None:
        for number in range(pieces):
            self._ask("DELETE", f"{key}.{number}")

    def get(self, key: str, wait_s: float = WAIT_S) -> Optional[bytes]:
        """The value; None if there is none within `wait_s` seconds, 60 at most."""
        count = self._ask("GET", key, query=f"?wait={wait_s:.3f}")
        if count is None:
            return None
        pieces = [self._ask("GET", f"{key}.{number}") for number in range(int(count))]
        return b"".join(piece or b"" for piece in pieces)

    def take(self, key: str, wait_s: float = WAIT_S) -> Optional[bytes]:
        """Like get(); frees the memory of the value."""
        value = self.get(key, wait_s)
        if value is not None:
            self._delete(key, -(-len(value) // PIECE_BYTES))
        return value

    def count(self, key: str) -> int:
        """Adds 1 to a number, which begins at 0, in one step. The sum."""
        return int(json.loads(self._ask("POST", key, b'{"add": 1}') or b"{}")["value"])

    def has_ended(self, rank: int) -> bool:
        """True if the process of the rank has exited with status 0."""
        jobs: Any = json.loads(self._request("GET", "/v1/jobs") or b'{"jobs": []}')["jobs"]
        job = json.loads(self._request("GET", f"/v1/jobs/{jobs[0]['id']}") or b"{}") if jobs else {}
        return any(entry["rank"] == rank and entry["exit_status"] == 0 for entry in job.get("ranks", []))
