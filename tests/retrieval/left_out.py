"""How good similar kernels are where those that ask choose nothing: `python3 -m tests.retrieval.left_out`.

For each package the numbers of the order (in similar.c STRUCTURE_SHARE, UNLIKE and the rarity of words)
are chosen by the queries of all other packages; then its own kernels ask. The queries are those of measure.py. The
similarities are computed here, from what the index holds, so that no number has to be compiled in.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.retrieval.measure import CORPUS, NEAR_DUPLICATE, ROOT, TUNED, Index, families

RARITY_OF_STRUCTURE = 0.4
MOST_ARRANGED = 12
SHARES, UNLIKES, RARITIES = (0.2, 0.3, 0.4, 0.5), (0.2, 0.35, 0.5), (0.4, 0.7, 1.0)
COMMITTED = (0.3, 0.35, 0.7)
TRAIT = np.dtype([("hash", "<u8"), ("weight", "<f4"), ("padding", "<u4")])
FORWARDS = """select path, name, traits, words from kernels k where exists
    (select 1 from members m where m.path = k.path and m.name = k.name and m.forward = 1)"""


def cosines(blobs: list[bytes], power: float) -> np.ndarray:
    """The similarity of each kernel to each; what few have counts more, by a power."""
    columns: dict[int, int] = {}
    traits = [np.frombuffer(blob, TRAIT) for blob in blobs]
    for trait in itertools.chain.from_iterable(kernel["hash"].tolist() for kernel in traits):
        columns.setdefault(trait, len(columns))
    matrix = np.zeros((len(blobs), len(columns)), np.float32)
    for row, kernel in enumerate(traits):
        matrix[row, [columns[trait] for trait in kernel["hash"].tolist()]] = kernel["weight"]
    matrix *= np.log((len(blobs) + 1) / (matrix > 0).sum(0)) ** power
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return np.clip(matrix @ matrix.T, 0, 1)


class Corpus:
    """The labelled kernels of the index, and which of them ask whom."""

    def __init__(self, path: Path) -> None:
        rows = sqlite3.connect(path).execute(FORWARDS).fetchall()
        self.names = [f"{Path(row[0]).relative_to(CORPUS.resolve())}:{row[1]}" for row in rows]
        self.packages = [name.split("/")[0] for name in self.names]
        self.structure = cosines([row[2] for row in rows], RARITY_OF_STRUCTURE)
        self.words = {power: cosines([row[3] for row in rows], power) for power in RARITIES}
        labels = families()
        kinds = [labels.get(name, {"other"}) for name in self.names]
        self.same = np.array([[bool(a & b) for b in kinds] for a in kinds])
        self.queries: list[tuple[int, np.ndarray]] = []
        asked: set[int] = set()
        for row in sorted(range(len(rows)), key=lambda row: self.names[row]):
            if kinds[row] == {"other"}:
                continue
            near = np.flatnonzero(self.structure[row] >= NEAR_DUPLICATE).tolist()
            if any(i in asked and self.packages[i] == self.packages[row] for i in near if i != row):
                continue
            asked.add(row)
            others = [
                i
                for i in range(len(rows))
                if self.packages[i] != self.packages[row]
                and self.structure[row, i] < NEAR_DUPLICATE
            ]
            if self.same[row, others].any():
                self.queries.append((row, np.array(others)))

    def listed(self, row: int, rank: np.ndarray, others: np.ndarray, unlike: float) -> list[int]:
        """The five that are listed, as `arrange` and `take` of similar.c make them."""
        order = others[np.argsort(-rank[others], kind="stable")][:60]
        before, left = np.zeros(len(order)), np.ones(len(order), bool)
        words = self.words[self.power]
        heads: list[int] = []
        last = -1
        for place in range(min(MOST_ARRANGED, len(order))):
            best = 0
            if place:
                alike = 1 - (1 - self.structure[order, last]) * (1 - words[order, last])
                alike[self.structure[order, last] >= NEAR_DUPLICATE] = 4
                before = np.maximum(before, alike)
                best = int(np.argmax(np.where(left, rank[order] - unlike * before, -9)))
            left[best], last = False, int(order[best])
            if all(self.structure[last, head] < NEAR_DUPLICATE for head in heads):
                heads.append(last)
        return heads[:5]

    def ask(self, share: float, unlike: float, power: float) -> np.ndarray:
        """For each query whether the nearest, and whether one of five, is of its family."""
        self.power = power
        rank = self.structure**share * self.words[power] ** (1 - share)
        found = []
        for row, others in self.queries:
            same = self.same[row, self.listed(row, rank[row], others, unlike)]
            found.append((same[0], same.any()))
        return np.array(found)


def main() -> int:
    """Prints three lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=Path(os.environ.get("TAD_BIN", ROOT / "build")))
    with tempfile.TemporaryDirectory() as folder:
        Index(parser.parse_args().bin / "tad-lsp", folder)
        corpus = Corpus(Path(folder) / "tad-lsp/index.sqlite")
    answers = {
        numbers: corpus.ask(*numbers) for numbers in itertools.product(SHARES, UNLIKES, RARITIES)
    }
    packages = np.array([corpus.packages[row] for row, _ in corpus.queries])

    def chosen(by: np.ndarray) -> tuple[float, float, float]:
        return max(answers, key=lambda numbers: answers[numbers][by].mean(0).sum())

    def tell(what: str, found: np.ndarray) -> None:
        first, five = found.mean(0)
        sys.stdout.write(f"{what:46} {len(found):4}  at 1: {first:.1%}  within 5: {five:.1%}\n")

    tell("as it is", answers[COMMITTED])
    left_out = np.zeros((len(packages), 2), bool)
    for package in sorted(set(packages)):
        own = packages == package
        left_out[own] = answers[chosen(~own)][own]
    tell("chosen by all other packages", left_out)
    tuned = np.isin(packages, list(TUNED))
    tell("chosen by TUNED packages, asked by the others", answers[chosen(tuned)][~tuned])
    return 0


if __name__ == "__main__":
    sys.exit(main())
