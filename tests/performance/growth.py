"""How the time of everything that reads text of strangers grows with its size.

    python -m tests.performance.growth [surface ...]

Each surface is given each shape at four sizes up to 1 MB. CPU time is measured, so that other programs on
the machine hardly matter; a curve that fails is measured once more. The exponent is that of the curve through
the sizes that take long enough to measure: 1 is linear, 2 quadratic. A surface passes with an exponent of at
most 1.25 and less than a second at 1 MB.
"""

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.performance.surfaces import SHAPES, SURFACES, Surface

MEGABYTE = 1_000_000
SIZES = (MEGABYTE // 64, MEGABYTE // 16, MEGABYTE // 4, MEGABYTE)
MAX_EXPONENT = 1.25  # n log n is about 1.08 here; the rest is noise
MAX_SECONDS = 1.0
NOISE_SECONDS = 0.03  # below this, the processor's caches matter more than the growth
LONG_SECONDS = 1.0  # too long already; once is enough
GIVE_UP_SECONDS = 4.0  # a size that takes this long is the last one


@dataclass(frozen=True, slots=True)
class Growth:
    shape: str
    sizes: Sequence[int]
    seconds: Sequence[float]

    @property
    def at_a_megabyte(self) -> float:
        """Measured, or extended along the curve from the largest size that was."""
        return float(self.seconds[-1] * (MEGABYTE / self.sizes[-1]) ** max(self.exponent, 1.0))

    @property
    def exponent(self) -> float:
        """Between the smallest size that takes long enough to measure and the largest."""
        measured = [
            (size, taken)
            for size, taken in zip(self.sizes, self.seconds, strict=True)
            if taken >= NOISE_SECONDS
        ]
        if len(measured) < 2:
            return 0.0
        (small, first), (large, last) = measured[0], measured[-1]
        return math.log(last / first) / math.log(large / small)

    @property
    def passes(self) -> bool:
        return self.exponent <= MAX_EXPONENT and self.at_a_megabyte < MAX_SECONDS


def time_once(surface: Surface, text: str) -> float:
    """The CPU seconds of a call."""
    began = time.process_time()
    surface(text)
    return time.process_time() - began


def measure(surface: Surface, text: str) -> float:
    """The best of three calls; of a call that takes long, its time."""
    first = time_once(surface, text)
    if first > LONG_SECONDS:
        return first
    return min(first, time_once(surface, text), time_once(surface, text))


def grow(surface: Surface, shape: str, sizes: Sequence[int] = SIZES) -> Growth:
    seconds: list[float] = []
    for size in sizes:
        seconds.append(measure(surface, SHAPES[shape](size)))
        if seconds[-1] > GIVE_UP_SECONDS:
            break
    return Growth(shape, sizes[: len(seconds)], seconds)


def grow_twice(surface: Surface, shape: str) -> Growth:
    """A single measurement may be off; a defect is slow both times."""
    curve = grow(surface, shape)
    return curve if curve.passes else grow(surface, shape)


def main(names: Sequence[str]) -> int:
    failed = 0
    print(f"{'surface':<28}{'worst shape':<20}{'exponent':>9}{'ms at 1 MB':>12}")
    for name in names or SURFACES:
        curves = [grow_twice(SURFACES[name], shape) for shape in SHAPES]
        bad = [curve for curve in curves if not curve.passes]
        for curve in bad or [max(curves, key=lambda curve: curve.at_a_megabyte)]:
            row = f"{name:<28}{curve.shape:<20}{curve.exponent:>9.2f}"
            print(f"{row}{1_000 * curve.at_a_megabyte:>12,.0f}{'' if curve.passes else '  FAILED'}")
        failed += len(bad)
        sys.stdout.flush()
    print(f"{len(names or SURFACES)} surfaces, {len(SHAPES)} shapes, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
