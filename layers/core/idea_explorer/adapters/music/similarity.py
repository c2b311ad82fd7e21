"""The vectors of an index in memory, compared with one query at a time.

A few are compared in plain Python, which takes less time than importing numpy. Many need numpy.
"""

from array import array
from collections.abc import Sequence
from heapq import nlargest
from operator import mul
from typing import TYPE_CHECKING

from idea_explorer.ports.music import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW = 5_000  # plain Python compares this many in about forty milliseconds


class Similarity:
    """float32 vectors by id. Not `available` if there are none, or many and numpy is missing."""

    def __init__(self, rows: Sequence[tuple[int, bytes]], few: int = FEW) -> None:
        self._ids = array("q", [row_id for row_id, _ in rows])
        blobs = [blob for _, blob in rows]
        is_few = len(blobs) <= few
        self._few: Sequence[Vector] = [array("f", blob) for blob in blobs] if is_few else []
        self._many = None if is_few else _matrix(blobs)

    @property
    def available(self) -> bool:
        return self._many is not None or bool(self._few)

    def best(self, query: Vector, floor: float, limit: int) -> list[int]:
        """The ids of the closest vectors at or above the floor, closest first."""
        if self._many is not None:
            return self._best_of_many(self._many, query, floor, limit)
        asked = list(query)  # an array would box every number again for each vector
        scores = ((sum(map(mul, asked, vector)), -place) for place, vector in enumerate(self._few))
        best = nlargest(limit, (scored for scored in scores if scored[0] >= floor))
        return [self._ids[-place] for _, place in best]

    def _best_of_many(
        self, matrix: "NDArray[np.float32]", query: Vector, floor: float, limit: int
    ) -> list[int]:
        import numpy as np

        # einsum stays in this thread: for so little work, waking BLAS threads costs more than it saves
        scores: NDArray[np.float32] = np.einsum(
            "ij,j->i", matrix, np.frombuffer(query, dtype=np.float32)
        )
        above = np.flatnonzero(scores >= floor)
        if len(above) > limit:
            above = above[np.argpartition(-scores[above], limit - 1)[:limit]]
        ordered = above[np.lexsort((above, -scores[above]))]
        return [self._ids[int(place)] for place in ordered]


def _matrix(blobs: Sequence[bytes]) -> "NDArray[np.float32] | None":
    try:
        import numpy as np
    except ImportError:
        return None
    return np.frombuffer(b"".join(blobs), dtype=np.float32).reshape(len(blobs), -1)
