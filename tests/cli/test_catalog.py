"""`reclock catalog`: what it prints, how it exits, and what it does to an environment that is in
use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from reclock.algebra.timestamps import CATALOG
from reclock.catalog.objects import Cluster, ClusterReplica, Kind, Setting
from reclock.cli import app
from reclock.errors import CatalogImplementationsDiffer, CatalogSealed, ConfigurationError, Fenced
from reclock.runtime.environment import Environment

SETTING = ("setting", '{"name": "a"}')


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Environment]:
    with Environment.initialise(tmp_path) as environment:
        yield environment


def catalog(environment: Environment, *arguments: str) -> Result:
    return CliRunner().invoke(
        app, ["catalog", *arguments, "--home", str(environment.stores.settings.home)]
    )


def test_what_is_dumped_can_be_edited_and_passed_back(live: Environment, tmp_path: Path) -> None:
    live.stores.catalog.put([Setting("größe", 'eine "Zeile"')])
    file = tmp_path / "dump.json"
    assert catalog(live, "dump", "--target", str(file)).exit_code == 0
    assert file.read_text("utf-8") == catalog(live, "dump").stdout
    objects = json.loads(file.read_text("utf-8"))["objects"]
    [entry] = objects["setting"]
    assert (
        catalog(
            live, "edit", "setting", json.dumps(entry["key"]), json.dumps({"value": "neu"})
        ).exit_code
        == 0
    )
    with Environment.open(tmp_path) as after:
        assert after.stores.catalog.snapshot().sorted(Kind.SETTING) == [Setting("größe", "neu")]
    assert catalog(live, "delete", "setting", json.dumps(entry["key"])).exit_code == 0
    with Environment.open(tmp_path) as after:
        assert after.stores.catalog.snapshot().sorted(Kind.SETTING) == []
        assert [event.event_type for event in after.stores.catalog.get_audit_logs()] == [
            "edit",
            "delete",
        ]


def test_looking_and_checking_disturb_nobody(live: Environment, tmp_path: Path) -> None:
    before = (live.stores.catalog.upper, live.stores.oracle.read_ts(CATALOG))
    assert catalog(live, "dump").exit_code == 0
    assert catalog(live, "upgrade-check").stdout == "the catalog can be opened as version 9\n"
    live.stores.catalog.confirm_leadership()
    assert (live.stores.catalog.upper, live.stores.oracle.read_ts(CATALOG)) == before


def test_an_edit_fences_a_live_environment_and_says_who(live: Environment, tmp_path: Path) -> None:
    done = catalog(live, "edit", *SETTING, '{"value": "b"}', "--user", "ada")
    assert (done.exit_code, done.stdout) == (0, 'setting {"name": "a"} is stored, at epoch 3\n')
    with pytest.raises(Fenced):
        live.stores.catalog.put([Setting("mine", "1")])
    with pytest.raises(Fenced):
        live.stores.statuses.forget(["u1"])
    with Environment.open(tmp_path) as after:
        [event] = after.stores.catalog.get_audit_logs()
    assert (event.user, event.details) == ("ada", {"before": None, "after": {"value": "b"}})


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("edit", "setting", "{", "{}"), "ERROR:  22023: KEY is not JSON"),
        (("edit", "setting", '{"name": "a"}', "NaN"), "ERROR:  22023: VALUE is not JSON"),
        (("edit", "setting", "[1]", "{}"), "ERROR:  22023: KEY is not a JSON object"),
        (("edit", "setting", "{", "{}"), 'HINT:  write it as "reclock catalog dump" prints it'),
        (("edit", *SETTING, '{"value": 3}'), "DETAIL:  value: Input should be a valid string"),
        (("delete", *SETTING), 'ERROR:  42704: setting "{"name":"a"}" does not exist'),
        (("delete", "config", '{"key": "epoch"}'), "changes only when the catalog is opened"),
        (
            ("upgrade-check", "--cluster-replica-sizes", "none.json"),
            "cannot read cluster replica sizes",
        ),
    ],
)
def test_an_error_is_told_and_exits_with_1(
    live: Environment, arguments: tuple[str, ...], complaint: str
) -> None:
    done = catalog(live, *arguments)
    assert done.exit_code == 1
    assert complaint in done.stderr
    live.stores.catalog.confirm_leadership()


def test_every_command_says_that_keys_and_values_are_those_of_the_dump() -> None:
    for command in ("edit", "delete"):
        assert (
            "JSON as in the dump" in CliRunner().invoke(app, ["catalog", command, "--help"]).stdout
        )


class TestUpgradeCheck:
    def test_a_catalog_that_could_not_be_opened_fails_it(self, live: Environment) -> None:
        consensus = live.stores.consensus
        consensus.transact(
            lambda c: c.exec_driver_sql(
                "UPDATE catalog_updates SET value = 'oops' WHERE kind = 'cluster' AND diff = 1"
            )
        )
        done = catalog(live, "upgrade-check")
        assert done.exit_code == 1
        assert 'catalog object cluster "{"id":1}" is corrupt' in done.stderr
        assert '"value": "oops"' in catalog(live, "dump").stdout

    def test_sizes_in_use_must_be_defined(self, live: Environment, tmp_path: Path) -> None:
        tx = live.stores.catalog.transaction()
        big = Cluster(tx.allocate_cluster_id(), "big", "large", "u1")
        tx.insert(big)
        tx.insert(ClusterReplica(tx.allocate_cluster_replica_id(), big.id, "r1", "small"))
        live.stores.catalog.commit_transaction(tx)
        sizes = tmp_path / "sizes.json"
        small = {"master": "local", "cores": 1, "memory": "1g"}
        large = {"master": "spark://127.0.0.1:7077", "cores": 4, "memory": "8g", "executors": 3}
        for defined, complaint in (
            (
                {},
                (
                    'DETAIL:  cluster "big" has size "large"; replica "big.r1" has size '
                    '"small"\nHINT:  defined are: none'
                ),
            ),
            (
                {"small": small},
                'DETAIL:  cluster "big" has size "large"\nHINT:  defined are: small',
            ),
            ({"small": small, "large": large}, ""),
        ):
            sizes.write_text(json.dumps(defined))
            done = catalog(live, "upgrade-check", "--cluster-replica-sizes", str(sizes))
            assert done.exit_code == (1 if complaint else 0)
            assert complaint in done.stderr


class TestConvert:
    def test_there_and_back(self, live: Environment, tmp_path: Path) -> None:
        live.stores.catalog.put([Setting("a", "1")])
        for to, epoch in (("persist", 5), ("stash", 8)):
            done = catalog(live, "convert", "--to", to)
            assert done.stdout == f"the catalog is kept in {to} now, at epoch {epoch}\n"
            assert (
                catalog(live, "convert", "--to", to).stdout
                == f"the catalog is kept in {to} already\n"
            )
            with Environment.open(tmp_path) as after:
                assert (after.stores.mark.catalog, after.stores.catalog.epoch) == (to, epoch)
                assert after.stores.catalog.snapshot().sorted(Kind.SETTING) == [Setting("a", "1")]
                after.stores.catalog.put([])
        with pytest.raises(Fenced):
            live.stores.catalog.put([Setting("b", "1")])

    def test_the_setting_must_follow(
        self, live: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        catalog(live, "convert", "--to", "persist")
        monkeypatch.setenv("RECLOCK_CATALOG", "stash")
        with pytest.raises(ConfigurationError, match='kept in "persist"'):
            Environment.open(tmp_path)

    def test_a_process_that_began_before_and_opens_after_gets_an_error(
        self, live: Environment, tmp_path: Path
    ) -> None:
        """It has looked up where the catalog is kept, then the conversion happens."""
        late = Environment.unopened(tmp_path)
        catalog(live, "convert", "--to", "persist")
        with pytest.raises(CatalogSealed):
            late.stores.open(may_lead=False)

    def test_from_a_shadow_its_primary_is_moved(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RECLOCK_CATALOG", "shadow")
        with Environment.initialise(tmp_path) as shadow:
            shadow.stores.catalog.put([Setting("a", "1")])
            monkeypatch.delenv("RECLOCK_CATALOG")
            assert (
                "convert it to persist, and from there to the stash"
                in catalog(shadow, "convert", "--to", "stash").stderr
            )
            assert catalog(shadow, "convert", "--to", "persist").exit_code == 0
            # it may see first that the secondary went on alone
            with pytest.raises((Fenced, CatalogImplementationsDiffer)):
                shadow.stores.catalog.put([Setting("b", "1")])
        with Environment.open(tmp_path) as after:
            assert after.stores.mark.catalog == "persist"
            assert after.stores.catalog.snapshot().sorted(Kind.SETTING) == [Setting("a", "1")]
