"""CREATE SOURCE … FORMAT PARQUET: columns declared or taken from the first file, and what a client
sees of the source."""

import pytest
from fixtures.parquet import parquet

from reclock.adapter.session.session import Session
from reclock.errors import InvalidOption, ParquetUnreadable, UnsupportedSql
from reclock.pipeline import tick
from reclock.runtime.environment import Environment

FILES = "FROM S3 DISCOVER OBJECTS MATCHING 't/**' USING BUCKET SCAN 'lake' FORMAT PARQUET"


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "home" / "buckets" / "lake" / "t"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def environment(tmp_path, lake):
    with Environment.initialise(tmp_path / "home") as opened:
        yield opened


def rows(environment, text):
    *_, result = Session(environment).execute(text)
    return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]


def test_columns_that_are_not_declared_are_those_of_the_first_file(environment, lake):
    (lake / "_SUCCESS").touch()
    (lake / "b.parquet").write_bytes(parquet([(1, "x"), (2, None)]))
    (lake / "c.parquet").write_bytes(parquet([(3, "y")]))
    rows(environment, f"CREATE SOURCE files {FILES}")
    [(_, definition)] = rows(environment, "SHOW CREATE SOURCE files")
    assert "(number INT, ignored TEXT[], word TEXT)" in definition
    assert tick.run(environment, owner="test").succeeded
    assert rows(environment, "SELECT number, word FROM files ORDER BY number") == [
        (1, "x"),
        (2, None),
        (3, "y"),
    ]
    assert rows(environment, "SELECT key, row_offset FROM files_progress ORDER BY key") == [
        ("t/b.parquet", 2),
        ("t/c.parquet", 1),
    ]
    assert rows(
        environment,
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'files'::regclass AND attnum > 0 ORDER BY attnum",
    ) == [("number", "integer"), ("ignored", "text[]"), ("word", "text")]
    rows(environment, "DROP SOURCE files")
    rows(environment, definition)
    assert rows(environment, "SHOW CREATE SOURCE files")[0][1] == definition


def test_declared_columns_need_no_file_yet(environment, lake):
    rows(environment, f"CREATE SOURCE files (word varchar(3), number bigint NOT NULL) {FILES}")
    assert tick.run(environment, owner="test").succeeded
    (lake / "a.parquet").write_bytes(parquet([(1, "abc ")]))
    assert tick.run(environment, owner="test").succeeded
    assert rows(environment, "SELECT * FROM files") == [("abc", 1)]


def test_a_file_that_was_given_up_can_be_read_again(environment, lake):
    rows(environment, f"CREATE SOURCE files (number integer, word text) {FILES}")
    path = lake / "a.parquet"
    path.write_bytes(b"no parquet at all")
    assert not tick.run(environment, owner="test").succeeded
    with pytest.raises(InvalidOption, match=r"the content of .* is no record"):
        rows(environment, "ALTER SOURCE files SKIP 't/a.parquet' FROM 0 TO 1")
    rows(environment, "ALTER SOURCE files SKIP 't/a.parquet'")
    assert tick.run(environment, owner="test").succeeded
    path.write_bytes(parquet([(1, "x")]))
    assert tick.run(environment, owner="test").succeeded
    assert rows(environment, "SELECT * FROM files") == []
    rows(environment, "ALTER SOURCE files RESTART 't/a.parquet'")
    assert tick.run(environment, owner="test").succeeded
    assert rows(environment, "SELECT * FROM files") == [(1, "x")]


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        (f"CREATE SOURCE s {FILES}", InvalidOption, "no object is there to take them from"),
        (f"CREATE SOURCE s (a int) {FILES} INCLUDE OFFSET", InvalidOption, "INCLUDE"),
        (f"CREATE SOURCE s (a int) {FILES} ENVELOPE UPSERT", InvalidOption, "ENVELOPE"),
        (
            f"CREATE SOURCE s (a int) {FILES.replace('FORMAT', 'COMPRESSION GZIP FORMAT')}",
            InvalidOption,
            "no COMPRESSION around them",
        ),
        (
            "CREATE SOURCE s (a int) FROM KAFKA BROKER 'x:1' TOPIC 't' FORMAT PARQUET",
            InvalidOption,
            "messages cannot be Parquet files",
        ),
        (
            "CREATE SOURCE s (a int) FROM KINESIS (STREAM 's', REGION 'r') FORMAT PARQUET",
            InvalidOption,
            "messages cannot be Parquet files",
        ),
        (
            "CREATE SOURCE s FROM KAFKA BROKER 'x:1' TOPIC 't' FORMAT ORC",
            UnsupportedSql,
            "FORMAT",
        ),
    ],
)
def test_what_cannot_be_created_is_refused(environment, statement, error, message):
    with pytest.raises(error, match=message):
        rows(environment, statement)


def test_the_first_object_must_be_a_parquet_file(environment, lake):
    (lake / "a.csv").write_text("number,word\n1,x\n")
    with pytest.raises(ParquetUnreadable, match="cannot be read as a Parquet file"):
        rows(environment, f"CREATE SOURCE s {FILES}")
