"""How often the nearest forward is of the same family: `python3 -m tests.retrieval.measure`.

Each labelled kernel (families.tsv) of the corpus asks for its nearest with its whole package left out, and without
near duplicates of it (structures alike by 0.95 and more). Near duplicates within a package ask once. A kernel whose
family no other package has does not ask, nor does one of `other`. What is chosen (weights, kinds of traits) is chosen
by the queries of TUNED packages alone; those of the others only say how good it is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / ".corpus"
NEAR_DUPLICATE = 0.95
MOST = 400  # kernels are labelled
TUNED = {
    "adasplash",
    "fla",
    "flag_gems",
    "flash_attn",
    "flash_attn_triton",
    "flash_sinkhorn",
    "jvp_flash_attention",
}


def families() -> dict[str, set[str]]:
    """Kernel (path below .corpus:name) -> its families."""
    lines = (ROOT / "tests/retrieval/families.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {kernel: set(names.split()) for kernel, names in rows}


def key_of(place: dict) -> str:
    """The name of a kernel in families.tsv."""
    return f"{Path(place['file']).relative_to(CORPUS.resolve())}:{place['name']}"


class Index:
    """An index of the corpus, in a folder of its own."""

    def __init__(self, program: Path, folder: str) -> None:
        self.program = program
        self.environment = {**os.environ, "XDG_DATA_HOME": folder}
        self.run("--index", str(CORPUS))

    def run(self, *arguments: str) -> str:
        """What the program says."""
        command = [str(self.program), *arguments]
        run = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        if run.returncode == 2 and not run.stdout and "--similar" in arguments:
            raise RuntimeError(run.stderr)
        return run.stdout

    def nearest(self, kernel: str, *options: str) -> list[dict]:
        """Its list in JSON."""
        arguments = ("--similar", str(CORPUS / kernel), "--json", "--top-k", str(MOST), *options)
        (answer,) = json.loads(self.run(*arguments))["kernels"]
        return answer["similar"]


def measure(index: Index, labels: dict[str, set[str]], score: str) -> dict[str, list[int]]:
    """Part or family -> how many asked, were answered by the same family at 1, and within 5, by `score`."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    asked: set[str] = set()
    for kernel in sorted(labels):
        package = kernel.split("/")[0]
        if labels[kernel] == {"other"}:
            continue
        all_of_them = index.nearest(kernel, "--min-sim", "0")
        copies = [
            key_of(place)
            for near in all_of_them
            if near["structure"] >= NEAR_DUPLICATE
            for place in [near, *near["copies"]]
        ]
        if any(copy in asked and copy.split("/")[0] == package for copy in copies):
            continue
        asked.add(kernel)
        found = index.nearest(
            kernel, "--min-sim", "0", "--exclude", f"{CORPUS.resolve()}/{package}/*"
        )
        found = [near for near in found if near["structure"] < NEAR_DUPLICATE]
        if score == "structure":  # else the list has its own order
            found.sort(key=lambda near: -near[score])
        same = [bool(labels.get(key_of(near), {"other"}) & labels[kernel]) for near in found]
        if not any(same):
            continue
        part = "(tuned)" if package in TUNED else "(others)"
        for family in ("(all)", part, sorted(labels[kernel])[0]):
            counts[family][0] += 1
            counts[family][1] += same[0]
            counts[family][2] += any(same[:5])
    return counts


def main() -> int:
    """Prints two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=Path(os.environ.get("TAD_BIN", ROOT / "build")))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = Index(arguments.bin / "tad-lsp", folder)
        for score, told in (("similarity", "as it is"), ("structure", "by structure alone")):
            sys.stdout.write(f"{told}\n")
            for family, (count, first, five) in sorted(measure(index, families(), score).items()):
                sys.stdout.write(
                    f"{family:14} {count:4}  at 1: {first / count:4.0%}  within 5: {five / count:4.0%}\n"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
