"""What both kinds of bucket promise, and what a local one must not give away."""

import pickle

import pytest

from reclock.connectors.objects.object_store import (
    LocalBuckets,
    ObjectMissing,
    S3Buckets,
    open_object_store,
)
from reclock.errors import UpstreamUnavailable


def read(buckets, key, lower, upper):
    return b"".join(buckets.store.read("landing", key, lower, upper))


def test_a_listing_has_the_objects_under_a_prefix_in_order_of_key(buckets):
    for key in ("b/2.csv", "a.csv", "b/1.csv", "bb.csv"):
        buckets.put(key, key.encode())
    assert [o.key for o in buckets.store.list("landing")] == [
        "a.csv",
        "b/1.csv",
        "b/2.csv",
        "bb.csv",
    ]
    assert [(o.key, o.size) for o in buckets.store.list("landing", "b/")] == [
        ("b/1.csv", 7),
        ("b/2.csv", 7),
    ]
    assert [o.key for o in buckets.store.list("landing", "b")] == ["b/1.csv", "b/2.csv", "bb.csv"]
    assert buckets.store.list("landing", "nothing/here") == []


def test_one_object_is_found_as_it_is_listed(buckets):
    buckets.put("a/b", b"one")
    buckets.put("a/bc", b"two")
    assert [buckets.store.find("landing", key) for key in ("a/b", "a", "a/bcd")] == [
        buckets.store.list("landing")[0],
        None,
        None,
    ]


def test_a_range_is_read_exactly(buckets):
    content = bytes(range(256)) * 40_000  # more than one chunk
    buckets.put("big", content)
    assert read(buckets, "big", 0, len(content)) == content
    assert read(buckets, "big", 5, 9_000_000) == content[5:9_000_000]
    assert read(buckets, "big", 7, 7) == b""


def test_the_version_changes_with_the_bytes_and_only_then(buckets):
    buckets.put("a", b"one")
    buckets.put("b", b"one")
    first = {o.key: o.version for o in buckets.store.list("landing")}
    assert {o.key: o.version for o in buckets.store.list("landing")} == first
    buckets.put("a", b"one and more")
    second = {o.key: o.version for o in buckets.store.list("landing")}
    assert second["a"] != first["a"]
    assert second["b"] == first["b"]


def test_a_missing_bucket_is_unavailable(buckets):
    with pytest.raises(UpstreamUnavailable, match='bucket "nowhere" does not exist'):
        buckets.store.list("nowhere")


@pytest.mark.parametrize(("key", "upper"), [("gone", 3), ("short", 4)])
def test_an_object_that_lacks_the_bytes_is_missing(buckets, key, upper):
    buckets.put("short", b"abc")
    with pytest.raises(ObjectMissing, match=f'cannot read object "{key}" of bucket "landing"'):
        read(buckets, key, 0, upper)


def test_a_store_travels_to_executors(buckets):
    buckets.put("a", b"abc")
    there = pickle.loads(pickle.dumps(buckets.store))  # noqa: S301 what we just wrote
    assert b"".join(there.read("landing", "a", 1, 3)) == b"bc"


def test_an_endpoint_that_does_not_answer_is_unavailable():
    with pytest.raises(UpstreamUnavailable):
        S3Buckets("http://127.0.0.1:1", "us-east-1", "test", "test").list("landing")


def test_the_root_says_which_kind_it_is(tmp_path):
    assert open_object_store(str(tmp_path)) == LocalBuckets(str(tmp_path))
    opened = open_object_store(
        "s3://", endpoint="http://x", access_key_id="k", secret_access_key="hidden"
    )
    assert isinstance(opened, S3Buckets)
    assert "hidden" not in repr(opened)


@pytest.mark.parametrize("bucket", ["", ".", "..", "a/b", "landing/..", "../outside", "a\0"])
def test_a_bucket_is_a_folder_right_below_the_root(tmp_path, bucket):
    (tmp_path / "root" / "landing").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    with pytest.raises(UpstreamUnavailable):
        LocalBuckets(str(tmp_path / "root")).list(bucket)


@pytest.mark.parametrize(
    "key", ["../secret", "a/../../secret", "/etc/hostname", "file-link", "folder-link/secret"]
)
def test_nothing_outside_a_bucket_is_read_or_listed(tmp_path, key):
    folder = tmp_path / "landing"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret").write_text("secret")
    (folder / "file-link").symlink_to(tmp_path / "secret")
    (folder / "folder-link").symlink_to(tmp_path / "other")
    store = LocalBuckets(str(tmp_path))
    assert (
        store.list("landing")
        == []
        == store.list("landing", "folder-link/")
        == store.list("landing", "../")
    )
    with pytest.raises(ObjectMissing, match="cannot read"):
        list(store.read("landing", key, 0, 1))


def test_a_link_within_a_bucket_is_an_object(tmp_path):
    folder = tmp_path / "landing"
    folder.mkdir()
    (folder / "a").write_text("abc")
    (folder / "b").symlink_to(folder / "a")
    assert [o.key for o in LocalBuckets(str(tmp_path)).list("landing")] == ["a", "b"]
