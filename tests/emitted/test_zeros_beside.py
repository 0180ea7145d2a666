"""Where a launch stores the first of each axis of a tensor, only the rest of its gradient is set to 0."""

from __future__ import annotations

import random

from tests.emitted.plan import ROOT, helper_texts, tad

SHIFT = f"{ROOT}/bench/gpu/style/moves.py:shift_right_kernel"


def test_programs_behind_the_first_store_a_part() -> None:
    """Tokens one later: the program of the first one stores nothing, so all but the last one have a gradient."""
    text = tad("--backward", SHIFT).stdout
    assert "(D, max(programs[0] - 1, 0))," in text
    assert "(S * D, programs[1])," in text


class Memory:
    """As much of a tensor as the helper asks for: flat memory, of which views are set to 0."""

    def __init__(self, cells: list, sizes: list, steps: list, first: int = 0) -> None:
        self.cells, self.sizes, self.steps, self.first = cells, list(sizes), list(steps), first

    def numel(self) -> int:
        return len(self.cells)

    def element_size(self) -> int:
        return 1 << 22

    def as_strided(self, sizes: list, steps: list) -> Memory:
        return Memory(self.cells, sizes, steps)

    def narrow(self, axis: int, start: int, length: int) -> Memory:
        sizes = [length if i == axis else size for i, size in enumerate(self.sizes)]
        return Memory(self.cells, sizes, self.steps, self.first + start * self.steps[axis])

    def zero_(self) -> None:
        at = [self.first]
        for size, step in zip(self.sizes, self.steps, strict=True):
            at = [place + step * i for place in at for i in range(size)]
        for place in at:
            self.cells[place] = 0


class Torch:
    """What the helper allocates: memory that holds anything, or zeros."""

    @staticmethod
    def empty_like(tensor: Memory, dtype: object) -> Memory:
        return Memory(["old"] * tensor.numel(), [tensor.numel()], [1])

    @staticmethod
    def zeros_like(tensor: Memory, dtype: object) -> Memory:
        return Memory([0] * tensor.numel(), [tensor.numel()], [1])


def test_what_is_not_stored_is_0() -> None:
    names: dict = {"torch": Torch}
    exec(helper_texts(tad("--backward", SHIFT).stdout, "_nested", "_zeros_beside"), names)
    draw, parts = random.Random(5), 0
    for _ in range(2000):
        sizes = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
        stored, step = [], 1
        for size in sizes:
            stored.append((step, draw.randint(max(0, size - 2), size)))
            step *= size
        draw.shuffle(stored)
        cells = names["_zeros_beside"](stored, Memory([0] * step, [step], [1]), None).cells
        at = [0]
        for by, length in stored:
            at = [place + by * i for place in at for i in range(length)]
        assert all(cells[place] == 0 for place in set(range(step)) - set(at))
        parts += "old" in cells
    assert parts > 500
