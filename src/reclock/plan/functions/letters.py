"""Upper and lower case, character by character as DuckDB maps them: one letter becomes one letter,
independent of its neighbors.

Spark's tables are newer, and map some letters to two (``ß`` to ``SS``). Where the two differ, Spark
gets DuckDB's mapping. The list has every such code point of Unicode, which a test computes again,
and ``Σ``, which Spark lowers depending on its neighbors.
"""

from __future__ import annotations

from reclock.plan.functions.sql_names import string

# Hexadecimal code points and ranges of them.
_DIFFERS = {
    "lower": "130 3A3 1C89 A7CB-A7CC A7CE A7D2 A7D4 A7DA A7DC 10D50-10D65 16EA0-16EB8",
    "upper": "DF 149 19B 1F0 264 390 3B0 587 1C8A 1E96-1E9A 1F50 1F52 1F54 1F56 1F80-1FAF "
    "1FB2-1FB4 1FB6-1FB7 1FBC 1FC2-1FC4 "
    "1FC6-1FC7 1FCC 1FD2-1FD3 1FD6-1FD7 1FE2-1FE4 1FE6-1FE7 1FF2-1FF4 1FF6-1FF7 1FFC "
    "A7CD A7CF A7D3 A7D5 A7DB FB00-FB06 FB13-FB17 "
    "10D70-10D85 16EBB-16ED3",
}
# Of those, the ones that change at all, and how far they move.
_MOVES = {
    "lower": {"130": -199, "3A3": 32},
    "upper": {"DF": 7615, "1F80-1F87 1F90-1F97 1FA0-1FA7": 8, "1FB3 1FC3 1FF3": 9},
}


def _letters(ranges: str) -> list[int]:
    bounds = [[int(bound, 16) for bound in part.split("-")] for part in ranges.split()]
    return [code for part in bounds for code in range(part[0], part[-1] + 1)]


def in_case(case: str, engine: str, text: str) -> str:
    """``text`` in ``case`` (``lower`` or ``upper``)."""
    if engine == "duckdb":
        return f"{case}({text})"
    listed = string(engine, f"[{''.join(map(chr, _letters(_DIFFERS[case])))}]")
    moves = [(code, code + by) for ranges, by in _MOVES[case].items() for code in _letters(ranges)]
    before, after = (string(engine, "".join(chr(move[side]) for move in moves)) for side in (0, 1))
    letters = f"regexp_extract_all({text}, {string(engine, '(?s).')}, 0)"
    converted = (
        f"CASE WHEN letter RLIKE {listed} THEN translate(letter, {before}, {after}) ELSE "
        f"{case}(letter) END"
    )
    return (
        f"(CASE WHEN {text} RLIKE {listed} THEN array_join(transform({letters}, letter -> "
        f"{converted}), '') ELSE {case}({text}) END)"
    )
