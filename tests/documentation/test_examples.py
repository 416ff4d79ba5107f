"""Every SQL example of the documentation runs and answers what its page shows. ``--rewrite`` writes
what is answered now."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from documentation.pages import Example, StoredObject, Tick, parts
from fixtures.postgres import PASSWORD
from fixtures.publications import Upstream

from reclock.adapter.context.results import Result
from reclock.adapter.copy.transfer import CopyIn, CopyOut
from reclock.adapter.session.session import Session
from reclock.algebra.timestamps import Timestamp
from reclock.cli.output import Format, error_lines, print_result
from reclock.errors import ReclockError
from reclock.pipeline import tick
from reclock.runtime.environment import Environment
from reclock.sql.syntax.parse import parse

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "```sql\n" in path.read_text()
]
STARTED_AT = 1_795_263_000_000
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "word", "type": "string"}],
}


@pytest.fixture
def registry() -> Iterator[str]:
    """A schema registry in which every subject has one schema of Avro."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            schema = {
                "id": 1,
                "version": 1,
                "subject": "any",
                "schemaType": "AVRO",
                "schema": json.dumps(ORDER),
            }
            body = json.dumps(["any"] if self.path == "/subjects" else schema).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def reachable(upstream: Upstream, registry: str) -> Callable[[str], str]:
    """SQL in which the upstreams that examples name are those that the test has started."""
    upstream.run(
        "CREATE SCHEMA stock",
        "CREATE TABLE orders (id bigint PRIMARY KEY, price numeric(10, 2), notes text)",
        "CREATE TABLE customers (id bigint PRIMARY KEY, name text)",
        "CREATE TABLE stock.items (id bigint PRIMARY KEY, name text)",
        "CREATE PUBLICATION reclock FOR ALL TABLES",
    )
    server = (
        f"HOST '127.0.0.1', PORT {upstream.server.port}, DATABASE '{upstream.database}', "
        "USER 'postgres'"
    )
    names = {
        "HOST 'db.example', DATABASE 'shop', USER 'reclock'": server,
        (
            "host=db.example dbname=shop user=reclock passfile=/etc/reclock/pgpass"
        ): upstream.connection,
        "SECRET shop_password AS '…'": f"SECRET shop_password AS '{PASSWORD}'",
        "https://schemas.example": registry,
    }

    def replace(sql: str) -> str:
        for name, address in names.items():
            sql = sql.replace(name, address)
        return sql

    return replace


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_examples_answer_what_the_page_shows(
    page: Path,
    tmp_path: Path,
    reachable: Callable[[str], str],
    request: pytest.FixtureRequest,
    monkeypatch,
) -> None:
    monkeypatch.setenv("RECLOCK_STATEMENT_TIMEOUT_MS", "30000")
    monkeypatch.setenv("RECLOCK_EXPORTS", str(tmp_path / "exports"))
    now = [STARTED_AT]
    bucket = tmp_path / "buckets" / "landing"
    bucket.mkdir(parents=True)
    written = page.read_text()
    rewritten, copied = "", 0
    with Environment.initialise(tmp_path, clock=lambda: Timestamp(now[0])) as environment:
        session = Session(environment, lambda _notice: None)
        for part in parts(written):
            match part:
                case StoredObject(key, body):
                    (bucket / key).parent.mkdir(parents=True, exist_ok=True)
                    (bucket / key).write_text(body)
                case Tick(at, sources):
                    now[0] = at
                    tick.run(environment, only=sources or None, at=at, owner="documentation")
                case Example():
                    answer = answer_to(part, session, reachable)
                    if part.answer is not None:
                        start, end = part.answer_span
                        rewritten += written[copied:start] + answer
                        copied = end
        session.close()
    rewritten += written[copied:]
    if request.config.getoption("--rewrite"):
        page.write_text(rewritten)
    else:
        assert rewritten == written


def answer_to(example: Example, session: Session, reachable: Callable[[str], str]) -> str:
    """What the example's statements print. Fails on an error that the page neither shows nor
    announces."""
    printed = io.StringIO()
    states: set[str] = set()
    for statement in statements(example.sql):
        try:
            for result in session.execute(reachable(statement)):
                print_all(result, printed)
        except ReclockError as error:
            printed.write("\n".join(error_lines(error)) + "\n")
            if example.answer is None and error.sqlstate != example.may_fail_with:
                pytest.fail(f"{statement}\n{printed.getvalue()}")
            states.add(error.sqlstate)
    assert example.may_fail_with is None or example.may_fail_with in states, (
        f"nothing fails any more:\n{example.sql}"
    )
    return "".join(line.rstrip() + "\n" for line in printed.getvalue().splitlines())


def statements(sql: str) -> Iterator[str]:
    """The statements of an example as they are written, with their secrets."""
    starts = [statement.position - 1 for statement in parse(sql)]
    for start, end in zip(starts, [*starts[1:], len(sql)], strict=True):
        yield sql[start:end]


def print_all(result: Result | CopyIn | CopyOut, to: io.StringIO) -> None:
    """The answer of one statement. Of one that goes on for ever, such as a subscription, what is
    known now."""
    match result:
        case CopyIn():
            print_result(result.finish(), Format.TABLE, to=to)
        case CopyOut():
            for lines in result.lines:
                if not len(lines):
                    break
                to.write("".join(line.decode() for line in lines.to_pylist()))
        case _ if result.is_live:
            batches = []
            for batch in result.batches:
                if not batch.num_rows:
                    break
                batches.append(batch)
            result.close()
            print_result(Result(result.tag, result.desc, batches), Format.TABLE, to=to)
        case _:
            print_result(result, Format.TABLE, to=to)
