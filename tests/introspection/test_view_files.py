"""The files of system views: each is registered, and declares one column for each that its query
returns."""

from pathlib import Path

import pytest
from sqlglot import exp

from reclock.introspection import views
from reclock.introspection.builtins import BUILTINS
from reclock.introspection.relation import Builtin
from reclock.sql.syntax.parse import parse_one

FILES = sorted(Path(views.__file__).with_name("sql").glob("*/*.sql"))
VIEWS = [builtin for builtin in BUILTINS if builtin.query is not None]


def test_every_file_is_a_registered_view() -> None:
    registered = {(view.schema, view.name) for view in VIEWS}
    assert {(file.parent.name, file.stem) for file in FILES} == registered


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_declares_the_columns_of_its_query(view: Builtin) -> None:
    assert view.query is not None
    query = parse_one(view.query).this
    while isinstance(query, exp.SetOperation):
        query = query.this
    if query.is_star:
        read = query.find(exp.Table)
        (base,) = (base for base in VIEWS if (base.schema, base.name) == (read.db, read.name))
        assert view.desc == base.desc
        return
    row = query.expressions[0].expressions if isinstance(query, exp.Values) else query.expressions
    assert len(row) == len(view.desc)


def test_a_column_of_an_unknown_type_is_an_error() -> None:
    with pytest.raises(KeyError):
        views.parse_columns(["name text", "size bignt"])
