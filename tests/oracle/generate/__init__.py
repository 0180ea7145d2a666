"""Launchers written by a seed, in classes that have been wrong before."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle.case import Case
from tests.oracle.generate import (
    control,
    exchange,
    hosts,
    indices,
    memory,
    naming,
    overlaps,
    shapes,
    strangers,
    values,
    voids,
)
from tests.oracle.generate.maker import Maker

KINDS: dict[str, Callable[[Maker], None]] = {
    "views": memory.views,
    "aliases": memory.aliases,
    "dummies": memory.dummies,
    "beyond": memory.beyond,
    "overlaps": overlaps.overlaps,
    "indices": indices.indices,
    "flags": control.flags,
    "loops": control.loops,
    "chains": control.all_chains,
    "classes": control.classes,
    "grids": control.grids,
    "tuning": control.tuning,
    "second": control.second,
    "nan": values.nan,
    "voids": voids.voids,
    "bits": values.bits,
    "communication": values.communication,
    "exchange": exchange.exchange,
    "dtypes": values.dtypes,
    "kernels": naming.kernels,
    "nesting": naming.nesting,
    "names": naming.names,
    "uses": shapes.uses,
    "strangers": strangers.strangers,
    "tiles": shapes.tiles,
    "crossings": hosts.crossings,
    "modes": hosts.modes,
    "makers": hosts.makers,
}


def generated(kind: str, seed: int) -> Case:
    """The launcher of this class and seed, always the same."""
    maker = Maker(kind, seed)
    KINDS[kind](maker)
    return maker.case()
