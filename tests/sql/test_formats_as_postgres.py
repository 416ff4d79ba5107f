"""Random formats of numbers and moments mean what they mean to PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal

import psycopg
import pytest

from reclock.algebra.moment_formats import moment_of
from reclock.algebra.number_formats import double_text, number_text
from reclock.errors import ReclockError

_KEYS = "YYYY MM DD HH24 MI SS MS US DDD Month Mon Day Dy YY Y,YYY HH12 AM IYYY IW ID J CC WW W D Q"
_KEYS += " FMMM FMDD FMMonth DDth YYY SSSS TZH FF3"
_USUAL = ("YYYY MM DD", "DD Mon YYYY HH24 MI", "YYYY DDD", "YYYY FMMonth DD HH12 MI AM")


@pytest.fixture(scope="module")
def server(postgres_server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def theirs(server: psycopg.Connection, sql: str, *arguments: object) -> str:
    """PostgreSQL's answer, or the code of its error."""
    try:
        row = server.execute(sql.encode(), arguments).fetchone()
    except psycopg.Error as error:
        return str(error.sqlstate)
    return str(row[0]) if row is not None else ""


def ours(function: Callable[..., str], *arguments: object) -> str:
    try:
        return function(*arguments)
    except ReclockError as error:
        return error.sqlstate


def test_numbers_are_written_as_postgresql_writes_them(server: psycopg.Connection) -> None:
    draw = random.Random(1)
    for _ in range(400):
        parts = [draw.choice("9990,G") for _ in range(draw.randint(0, 6))] + ["9"]
        if draw.random() < 0.6:
            parts += [draw.choice(".D"), *(draw.choice("990") for _ in range(draw.randint(0, 4)))]
        if draw.random() < 0.5:
            parts.insert(
                draw.randint(0, len(parts)), draw.choice(["S", "MI", "PL", "SG", " ", "x"])
            )
        if draw.random() < 0.2:
            parts.append(draw.choice(["PR", "th", "TH", "MI", "S", "%"]))
        pattern = "".join(["FM" if draw.random() < 0.4 else "", *parts])
        largest = 10 ** draw.randint(0, 7)
        number = Decimal(draw.randint(-largest, largest)) / 10 ** draw.randint(0, 4)
        if draw.random() < 0.3:
            written = ours(double_text, float(number), pattern)
            expected = theirs(server, "SELECT to_char(%s::float8, %s)", number, pattern)
        else:
            written = ours(number_text, str(number), pattern)
            expected = theirs(server, "SELECT to_char(%s::numeric, %s)", number, pattern)
        assert written == expected, (number, pattern)


def test_moments_are_read_as_postgresql_reads_them(server: psycopg.Connection) -> None:
    """Of texts that are formatted, and then changed in one place."""
    draw, read = random.Random(2), 0
    for _ in range(400):
        day = f"{draw.randint(1, 2999):04}-{draw.randint(1, 12)}-{draw.randint(1, 28)}"
        moment = f"{day} {draw.randint(0, 23)}:{draw.randint(0, 59)}:{draw.randint(0, 59)}.{draw.randint(0, 999999):06}"
        keys = draw.choice(_USUAL).split()
        if draw.random() < 0.3:
            keys = draw.sample(_KEYS.split(), draw.randint(1, 5))
        pattern = draw.choice(["-", " ", "/", "", ":", ", "]).join(keys)
        text = theirs(server, "SELECT to_char(%s::timestamp, %s)", moment, pattern)
        if draw.random() < 0.3:
            place = draw.randint(0, len(text))
            text = text[:place] + draw.choice(" x1-") + text[place + draw.randint(0, 1) :]
        expected = theirs(
            server, "SELECT (to_timestamp(%s, %s) AT TIME ZONE 'UTC')::text", text, pattern
        )
        answer = ours(moment_of, text, pattern)
        if "-" in answer:
            read += 1
            answer = answer.rstrip("0").rstrip(".") if "." in answer else answer
        elif answer == "22008":  # of years that we do not have
            assert expected == "22008" or expected.endswith("BC") or expected[4].isdigit()
            continue
        assert answer == expected, (text, pattern)
    assert read > 200
