"""``flags`` and ``variants``: what there is."""

from __future__ import annotations

import argparse

from .. import flags, shapes
from .exits import OK
from .options import AddVerb, add_json, add_shape
from .output import emit, print_table


def add(verb: AddVerb) -> None:
    """Add the verbs."""
    add_json(verb("flags", flags_verb))
    listing = verb("variants", variants_verb)
    add_shape(listing)
    add_json(listing)


def flags_verb(arguments: argparse.Namespace) -> int:
    """List the flags."""
    rows = [
        {
            "flag": flag.name,
            "variants": " ".join(map(str, flag.variants)),
            "claim": flag.claim,
            "shows_in": flag.shows_in,
            "off": flag.off,
            "on": flag.on,
            "listed": flag.listed,
            "origin": "pull request" if flag in flags.FLAGS else "ours",
            "presets": " ".join(
                preset for preset, names in flags.PRESETS.items() if flag.name in names
            ),
            "provenance": flag.provenance,
        }
        for flag in flags.REGISTRY
    ]
    if arguments.json:
        emit(rows, as_json=True)
        return OK
    for row in rows:
        print(row["flag"])
        for name in ("off", "on", "claim", "shows_in", "variants", "origin", "presets"):
            print(f"  {name.replace('_', ' '):9} {row[name]}")
    print(f"\npresets: {', '.join(flags.PRESETS)}; studies: {', '.join(flags.STUDIES)}")
    return OK


def variants_verb(arguments: argparse.Namespace) -> int:
    """List the variants, with what runs them and whether they take the shape."""
    rows = []
    for variant in shapes.VARIANTS:
        try:
            shapes.check(variant, arguments.shape)
            fits = "yes"
        except shapes.ShapeError as error:
            fits = f"no: {error}"
        rows.append(
            {
                "variant": str(variant),
                "block_m": variant.block_m,
                "epilogue": variant.epilogue,
                "persistent": variant.persistent,
                "kimi_tp4_m": _tokens(variant),
                f"runs_{arguments.shape}": fits,
                "flags": flags.join(flags.acting(variant, flags.SAFE)),
            }
        )
    if arguments.json:
        emit(rows, as_json=True)
        return OK
    print_table(rows)
    print("\nkimi_tp4_m: tokens at which the published tuning for Kimi-K2.5 TP4 runs a variant")
    return OK


def _tokens(variant: shapes.Variant) -> str:
    """The numbers of tokens at which the published tuning runs a variant."""
    found = shapes.dispatched_tokens(variant)
    if found is None:
        return "never"
    first, last = found
    chosen = shapes.dispatch(variant.kernel, first) == variant
    return f"{first}..{'' if last is None else last}{'' if chosen else ' on request (lossy)'}"
