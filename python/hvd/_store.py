# SPDX-License-Identifier: Apache-2.0
"""The key-value store of a job's rendezvous, over HTTP on the loopback address.

hvdrun lets in the user who runs the job, without a key (hvd_protocol(7)). Values of any size are stored in pieces, because
the rendezvous limits one value.
"""
import http.client
import json
from typing import Optional

RUN_SCOPE = "hvd.run"  # of hvd.run() and its ranks
PIECE_BYTES = 2 * 1024 * 1024
WAIT_S = 30


class Store:
    """A client of one scope. Not for several threads at once. Raises OSError or http.client.HTTPException when the
    rendezvous is not there (any more), and RuntimeError when it refuses a request."""

    def __init__(self, address: str, port: int, scope: str):
        self._connection = http.client.HTTPConnection(address, port, timeout=WAIT_S + 10)
        self._scope = scope

    def _ask(self, method: str, key: str, body: Optional[bytes] = None, query: str = "") -> Optional[bytes]:
        path = f"/{self._scope}/{key}"
        self._connection.request(method, path + query, body)
        response = self._connection.getresponse()
        data = response.read()
        if response.status in (204, 404):
            return None
        if response.status != 200:
            raise RuntimeError(f"the rendezvous answered {response.status} to {method} {path}: {data[:200]!r}")
        return data

    def put(self, key: str, value: bytes) -> None:
        """Stores a value. The number of pieces comes last: who sees it sees all of them."""
        pieces = [value[at : at + PIECE_BYTES] for at in range(0, len(value), PIECE_BYTES)]
        for number, piece in enumerate(pieces):
            self._ask("PUT", f"{key}.{number}", piece)
        self._ask("PUT", key, str(len(pieces)).encode())

    def get(self, key: str, wait_s: float = WAIT_S) -> Optional[bytes]:
        """The value; None if there is none within `wait_s` seconds, 60 at most."""
        count = self._ask("GET", key, query=f"?wait={wait_s:.3f}")
        if count is None:
            return None
        pieces = [self._ask("GET", f"{key}.{number}") for number in range(int(count))]
        return b"".join(piece or b"" for piece in pieces)

    def count(self, key: str) -> int:
        """Adds 1 to a number, which begins at 0, in one step. The sum."""
        return int(json.loads(self._ask("POST", key, b'{"add": 1}') or b"{}")["value"])

    def close(self) -> None:
        self._connection.close()
