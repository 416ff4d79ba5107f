"""The load generator TPCH: the eight tables of TPC-H (revision 3, clause 4.2), with their keys,
domains and derived columns.

The first tick inserts all tables. Each later tick replaces one order and its line items, cycling
through all orders; so the rows of a tick follow from its number alone. The random draws and the
words of comments differ from the official generator's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reclock.algebra.relations import DIFF_COLUMN, RelationDesc
from reclock.collections.schema import arrow_schema
from reclock.connectors.load_generators.noise import Numbers, noise

ORDERS_AT_ONCE = 25_000
"""How many orders are generated at once."""

_STRIDE = 1_000_003
"""A prime, so that the cycle visits every order."""

_FIRST_DAY, _DAYS, _CURRENT_DAY = 8035, 2406, 9298
"""In days since 1970. Order dates range from 1992-01-01 to 1998-08-02; the current date of the
benchmark is 1995-06-17."""

_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3),
    ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0),
    ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3),
    ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
_TYPES = tuple(
    f"{size} {finish} {metal}"
    for size in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for finish in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for metal in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
)
_CONTAINERS = tuple(
    f"{size} {kind}"
    for size in ("SM", "LG", "MED", "JUMBO", "WRAP")
    for kind in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
)
_COLORS = (
    "almond",
    "azure",
    "blue",
    "chocolate",
    "forest",
    "green",
    "ivory",
    "linen",
    "navy",
    "orchid",
    "plum",
    "rose",
    "snow",
    "tan",
)
_ADVERBS = ("quickly", "slowly", "carefully", "furiously", "blithely", "daringly")
_NOUNS = (
    "deposits",
    "requests",
    "packages",
    "accounts",
    "theodolites",
    "pinto beans",
    "foxes",
    "instructions",
)
_VERBS = ("sleep", "haggle", "nag", "wake", "boost", "cajole", "doze", "integrate")


@dataclass(frozen=True, slots=True)
class Tpch:
    """The tables at one scale factor."""

    scale_factor: float

    @property
    def suppliers(self) -> int:
        return max(int(10_000 * self.scale_factor), 1)

    @property
    def parts(self) -> int:
        return max(int(200_000 * self.scale_factor), 1)

    @property
    def customers(self) -> int:
        return max(int(150_000 * self.scale_factor), 1)

    @property
    def orders(self) -> int:
        return max(int(1_500_000 * self.scale_factor), 1)

    def read(
        self, lower: int, upper: int, outputs: Mapping[str, RelationDesc]
    ) -> Iterator[tuple[str, pa.Table]]:
        """The updates of the ticks ``[lower, upper)`` of each of ``outputs``, with ``mz_diff``."""
        if lower == 0:
            for output, columns in self._fixed().items():
                if output in outputs:
                    yield output, _table(outputs[output], columns, 1)
            for start in range(0, self.orders, ORDERS_AT_ONCE):
                keys = np.arange(start, min(start + ORDERS_AT_ONCE, self.orders), dtype=np.int64)
                yield from self._versions(keys, np.zeros_like(keys), 1, outputs)
        for start in range(max(lower, 1), upper, ORDERS_AT_ONCE):
            turns = np.arange(start, min(start + ORDERS_AT_ONCE, upper), dtype=np.int64) - 1
            keys, versions = turns * _STRIDE % self.orders, turns // self.orders
            yield from self._versions(keys, versions, -1, outputs)
            yield from self._versions(keys, versions + 1, 1, outputs)

    def _versions(
        self, keys: Numbers, versions: Numbers, diff: int, outputs: Mapping[str, RelationDesc]
    ) -> Iterator[tuple[str, pa.Table]]:
        for output, columns in zip(
            ("orders", "lineitem"), self._orders(keys, versions), strict=True
        ):
            if output in outputs:
                yield output, _table(outputs[output], columns, diff)

    def _fixed(self) -> dict[str, Sequence[object]]:
        regions, nations = np.arange(len(_REGIONS)), np.arange(len(_NATIONS))
        suppliers, customers = np.arange(1, self.suppliers + 1), np.arange(1, self.customers + 1)
        parts = np.arange(1, self.parts + 1)
        offered, nth = np.repeat(parts, 4), np.tile(np.arange(4), self.parts)
        pair = offered * 4 + nth
        maker = noise(parts, 20) % 5 + 1
        return {
            "region": [regions, pa.array(_REGIONS), _comment(regions, 1)],
            "nation": [nations, [name for name, _ in _NATIONS], [region for _, region in _NATIONS], _comment(nations, 2)],
            "supplier": [
                suppliers, _numbered("Supplier#", suppliers), _address(suppliers, 3), noise(suppliers, 4) % 25,
                _phone(suppliers, 4), _cents(noise(suppliers, 5) % 1_099_999 - 99_999), _comment(suppliers, 6),
            ],
            "part": [
                parts, _joined(_one_of(_COLORS, parts, 21), " ", _one_of(_COLORS, parts, 22)), _joined("Manufacturer#", maker),
                _joined("Brand#", maker * 10 + noise(parts, 23) % 5 + 1), _one_of(_TYPES, parts, 24), noise(parts, 25) % 50 + 1,
                _one_of(_CONTAINERS, parts, 26), _cents(_retail_cents(parts)), _comment(parts, 27),
            ],
            "partsupp": [
                offered, self._supplier(offered, nth), noise(pair, 30) % 9_999 + 1, _cents(noise(pair, 31) % 99_901 + 100),
                _comment(pair, 32),
            ],
            "customer": [
                customers, _numbered("Customer#", customers), _address(customers, 40), noise(customers, 41) % 25,
                _phone(customers, 41), _cents(noise(customers, 42) % 1_099_999 - 99_999), _one_of(_SEGMENTS, customers, 43),
                _comment(customers, 44),
            ],
        }  # fmt: skip

    def _orders(
        self, keys: Numbers, versions: Numbers
    ) -> tuple[Sequence[object], Sequence[object]]:
        """The columns of these versions of the orders, and of their line items."""
        order = keys * _STRIDE + versions
        days, count = _FIRST_DAY + noise(order, 50) % _DAYS, noise(order, 51) % 7 + 1
        parent = np.repeat(np.arange(len(keys)), count)
        number = np.arange(len(parent)) - np.repeat(np.cumsum(count) - count, count)
        line = order[parent] * 8 + number
        part, quantity = noise(line, 52) % self.parts + 1, noise(line, 53) % 50 + 1
        price = quantity * _retail_cents(part)
        discount, tax = noise(line, 54) % 11, noise(line, 55) % 9
        shipped = days[parent] + noise(line, 56) % 121 + 1
        committed = days[parent] + noise(line, 57) % 61 + 30
        received = shipped + noise(line, 58) % 30 + 1
        is_open = shipped > _CURRENT_DAY
        returned = np.where(received > _CURRENT_DAY, 1, noise(line, 59) % 2 * 2)
        charged = (price * (100 - discount) * (100 + tax) + 5_000) // 10_000
        total, opened = (
            np.bincount(parent, weights, len(keys)).astype(np.int64)
            for weights in (charged, is_open)
        )
        orders = [
            keys + 1, noise(order, 60) % self.customers + 1, _picked("FPO", (opened > 0) * 1 + (opened == count) * 1),
            _cents(total), _dates(days), _one_of(_PRIORITIES, order, 61),
            _numbered("Clerk#", noise(order, 62) % max(int(1000 * self.scale_factor), 1) + 1), np.zeros_like(keys),
            _comment(order, 63),
        ]  # fmt: skip
        items = [
            keys[parent] + 1, part, self._supplier(part, noise(line, 64) % 4), number + 1, _cents(quantity * 100), _cents(price),
            _cents(discount), _cents(tax), _picked("ANR", returned), _picked("FO", is_open.astype(np.int64)), _dates(shipped),
            _dates(committed), _dates(received), _one_of(_INSTRUCTIONS, line, 65), _one_of(_MODES, line, 66), _comment(line, 67),
        ]  # fmt: skip
        return orders, items

    def _supplier(self, part: Numbers, nth: Numbers) -> Numbers:
        """The nth of the four suppliers of a part."""
        count = self.suppliers
        return (part + nth * (count // 4 + (part - 1) // count)) % count + 1


def _table(desc: RelationDesc, columns: Sequence[object], diff: int) -> pa.Table:
    schema = arrow_schema(desc, with_updates=False)
    arrays = [
        pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)
    ]
    diffs = pa.repeat(pa.scalar(diff, pa.int64()), len(arrays[0]))
    return pa.table([*arrays, diffs], [*schema.names, DIFF_COLUMN])


def _retail_cents(part: Numbers) -> Numbers:
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1_000)


def _cents(amounts: Numbers) -> pa.Array:
    """Hundredths as exact decimals: the upper half of the 128-bit number is the sign extension."""
    halves = np.stack([amounts, amounts >> 63], axis=1).astype(np.int64)
    return pa.Array.from_buffers(
        pa.decimal128(15, 2), len(amounts), [None, pa.py_buffer(np.ascontiguousarray(halves))]
    )


def _dates(days: Numbers) -> pa.Array:
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def _picked(choices: Sequence[str], indices: Numbers) -> pa.Array:
    return pa.array(list(choices)).take(pa.array(indices))


def _one_of(choices: Sequence[str], ids: Numbers, salt: int) -> pa.Array:
    return _picked(choices, noise(ids, salt) % len(choices))


def _joined(*pieces: object) -> pa.Array:
    texts = [
        piece if isinstance(piece, str) else pa.array(piece).cast(pa.string()) for piece in pieces
    ]
    return pc.binary_join_element_wise(*texts, "")


def _numbered(word: str, numbers: Numbers) -> pa.Array:
    return _joined(word, pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 9, "0"))


def _address(ids: Numbers, salt: int) -> pa.Array:
    return _joined(noise(ids, salt) % 999 + 1, " ", _one_of(_COLORS, ids, salt + 1000), " street")


def _phone(ids: Numbers, nation_salt: int) -> pa.Array:
    """Phone numbers whose country code is the nation's key plus 10."""
    country, digits = noise(ids, nation_salt) % 25 + 10, noise(ids, nation_salt + 2000)
    return _joined(
        country,
        "-",
        digits % 900 + 100,
        "-",
        digits // 1000 % 900 + 100,
        "-",
        digits // 1_000_000 % 9000 + 1000,
    )


def _comment(ids: Numbers, salt: int) -> pa.Array:
    words = (
        _one_of(choices, ids, salt + 100 * n)
        for n, choices in enumerate((_ADVERBS, _NOUNS, _VERBS, _ADVERBS), 30)
    )
    return pc.binary_join_element_wise(*words, " ")
