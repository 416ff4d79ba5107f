"""The probe of objects: whole records only, each byte once, and growth told from anything else."""

import zlib

import pytest

from reclock.algebra.relations import INTEGER, TEXT, Column, RelationDesc
from reclock.connectors.objects import line_contents, scan
from reclock.connectors.objects.compression import Unzipped
from reclock.connectors.objects.growth import Split
from reclock.connectors.objects.line_contents import LineContents
from reclock.connectors.objects.readings import ObjectEvidence, newest_readings, restarted
from reclock.connectors.objects.scan import list_objects, probe, reread
from reclock.definitions.formats import CsvFormat, JsonFormat
from reclock.definitions.sources import ObjectsConnector
from reclock.errors import (
    DecodeFailed,
    HeaderMismatch,
    ObjectsUnreadable,
    UpstreamChanged,
    UpstreamUnavailable,
)

DESC = RelationDesc((Column("n", INTEGER), Column("w", TEXT)))
CSV = CsvFormat(has_header=False)
OBJECTS = ObjectsConnector("landing", "**/*.csv")


def look(buckets, evidence=(), format=CSV, skips=()):
    store = Unzipped(buckets.store, "AUTO")
    contents = LineContents(store, "landing", format, DESC)
    listed = list_objects(store, OBJECTS, contents)
    return probe(listed, contents, {e.key: e for e in evidence}, skips)


def look_again(buckets, before):
    store = Unzipped(buckets.store, "AUTO")
    return reread(store, OBJECTS, LineContents(store, "landing", CSV, DESC), before)


def test_what_is_new_is_cut_back_to_the_last_whole_record(buckets):
    buckets.put("a.csv", b'1,x\n2,"two\nlines"\n3,"open\n')
    [growth] = look(buckets)
    assert (growth.key, growth.lower, growth.upper) == ("a.csv", 0, 18)
    assert growth.evidence.length == 18
    assert growth.evidence.crc32 == zlib.crc32(b'1,x\n2,"two\nlines"\n')
    assert growth.splits == (Split(0, 18, 0, growth.evidence.crc32),)


def test_growth_goes_on_where_the_bound_bytes_end(buckets):
    buckets.put("a.csv", b"1,x\n2,")
    [first] = look(buckets)
    buckets.put("a.csv", b"1,x\n2,y\n3,z\n")
    buckets.put("b.csv", b"9,q\n")
    second = look(buckets, [first.evidence])
    assert [(g.key, g.lower, g.upper) for g in second] == [("a.csv", 4, 12), ("b.csv", 0, 4)]
    assert second[0].evidence.crc32 == zlib.crc32(b"1,x\n2,y\n3,z\n")
    assert second[0].splits == (Split(4, 12, zlib.crc32(b"1,x\n"), zlib.crc32(b"1,x\n2,y\n3,z\n")),)


def test_an_object_without_news_costs_the_listing_alone(buckets, monkeypatch):
    buckets.put("a.csv", b"1,x\n2,")
    evidence = [growth.evidence for growth in look(buckets)]
    monkeypatch.setattr(type(buckets.store), "read", lambda *_: pytest.fail("an object was read"))
    assert look(buckets, evidence) == []


def test_bytes_that_no_newline_ends_are_not_bound(buckets):
    buckets.put("a.csv", b"1,x")
    assert look(buckets) == []


def test_objects_that_do_not_match_are_not_looked_at(buckets):
    buckets.put("a.json", b"1,x\n")
    buckets.put("empty.csv", b"")
    assert look(buckets) == []


def test_an_object_rewritten_with_the_same_bytes_only_gets_a_new_version(buckets):
    buckets.put("a.csv", b"1,x\n")
    [first] = look(buckets)
    stale = ObjectEvidence("a.csv", 4, first.evidence.crc32, "an older version")
    [growth] = look(buckets, [stale])
    assert (growth.lower, growth.upper, growth.splits) == (4, 4, ())
    assert growth.evidence == first.evidence
    buckets.put("a.csv", b"1,x\n2")
    assert look(buckets, [stale]) == []


def test_a_deleted_object_keeps_its_rows_and_holds_up_no_other(buckets):
    """However many are deleted. One that comes back goes on where it was, if its bound bytes are
    the same."""
    for key in ("a.csv", "b.csv", "c.csv"):
        buckets.put(key, b"1,x\n")
    evidence = [growth.evidence for growth in look(buckets)]
    buckets.delete("a.csv")
    buckets.delete("b.csv")
    buckets.put("c.csv", b"1,x\n2,y\n")
    gone_a, gone_b, grown = look(buckets, evidence)
    assert [
        (removed.key, removed.lower, removed.upper, removed.splits, removed.evidence.is_deleted)
        for removed in (gone_a, gone_b)
    ] == [
        ("a.csv", 4, 4, (), True),
        ("b.csv", 4, 4, (), True),
    ]
    assert (grown.key, grown.upper) == ("c.csv", 8)
    known_evidence = [growth.evidence for growth in (gone_a, gone_b, grown)]
    assert look(buckets, known_evidence) == []
    buckets.put("a.csv", b"1,x\n2,y\n")
    [back] = look(buckets, known_evidence)
    assert (back.key, back.lower, back.upper) == ("a.csv", 4, 8)
    buckets.put("b.csv", b"2,x\n")
    with pytest.raises(UpstreamChanged, match=r'object "b\.csv" changed under its bound bytes'):
        look(buckets, known_evidence)


@pytest.mark.parametrize(
    ("now", "byte", "message"),
    [
        (b"1,x\n", 4, 'object "a.csv" shrank: it ends at byte 4'),
        (b"1,x\n2,Y\n3,z\n", 0, 'object "a.csv" changed under its bound bytes, from byte 0 to 8'),
    ],
)
def test_an_object_that_did_not_just_grow_is_a_definite_error(buckets, now, byte, message):
    buckets.put("a.csv", b"1,x\n2,y\n")
    buckets.put("b.csv", b"1,x\n")
    evidence = [growth.evidence for growth in look(buckets)]
    buckets.delete("a.csv")
    buckets.put("a.csv", now)
    with pytest.raises(UpstreamChanged, match=message) as failure:
        look(buckets, evidence)
    assert (failure.value.partition, failure.value.offset) == ("a.csv", byte)
    with pytest.raises(UpstreamChanged):  # a decision about something else does not help
        look(buckets, evidence, skips=[("b.csv", 0, 4), ("a.csv", byte + 1, 99)])

    buckets.put("b.csv", b"1,x\n2,y\n")
    aside, grown = look(buckets, evidence, skips=[("a.csv", byte, byte + 1)])
    assert (aside.key, aside.lower, aside.upper, aside.evidence.is_abandoned) == (
        "a.csv",
        8,
        8,
        True,
    )
    assert (grown.key, grown.upper) == ("b.csv", 8)
    assert look(buckets, [aside.evidence, grown.evidence]) == []
    buckets.put("a.csv", b"1,x\n2,y\n3,z\n4,u\n")
    assert look(buckets, [aside.evidence, grown.evidence]) == []


def test_a_missing_bucket_is_unavailable(buckets):
    store = Unzipped(buckets.store, "AUTO")
    contents = LineContents(store, "nowhere", CSV, DESC)
    with pytest.raises(UpstreamUnavailable, match="nowhere"):
        list_objects(store, ObjectsConnector("nowhere", "**"), contents)


def test_large_growth_is_split_at_records_and_each_split_has_its_checksums(buckets, monkeypatch):
    monkeypatch.setattr(scan, "SPLIT_BYTES", 1000)
    monkeypatch.setattr("reclock.connectors.objects.object_store.CHUNK_BYTES", 300)
    content = b"".join(b'%d,"a\nb%s"\n' % (i, b"x" * (i % 50)) for i in range(500))
    buckets.put("a.csv", content + b'7,"')
    [growth] = look(buckets)
    assert growth.upper == len(content)
    assert len(growth.splits) > 5
    at = crc = 0
    for split in growth.splits:
        assert (split.lower, split.crc_before) == (at, crc)
        piece = content[split.lower : split.upper]
        assert piece.endswith(b'"\n')
        assert piece[:1].isdigit()
        at, crc = split.upper, zlib.crc32(piece, crc)
        assert crc == split.crc_after
    assert (
        (at, crc)
        == (growth.evidence.length, growth.evidence.crc32)
        == (len(content), zlib.crc32(content))
    )


def test_a_quote_that_never_closes_is_a_definite_error(buckets, monkeypatch):
    monkeypatch.setattr(line_contents, "RECORD_LIMIT_BYTES", 100)
    buckets.put("a.csv", b'1,x\n2,"y\n' + b"3,z\n" * 30)
    with pytest.raises(DecodeFailed, match="record at byte 4") as failure:
        look(buckets)
    assert "quote" in failure.value.detail


def test_json_records_end_at_every_newline(buckets):
    buckets.put("a.csv", b'{"w":"\\""}\n{"w":"')
    [growth] = look(buckets, format=JsonFormat())
    assert growth.upper == 11


def test_the_header_is_read_again_for_later_growth(buckets):
    buckets.put("a.csv", b"w,n\n")
    [first] = look(buckets, format=CsvFormat())
    assert (first.upper, first.header, first.header_end) == (4, ("w", "n"), 4)
    buckets.put("a.csv", b"w,n\nx,1\n")
    [second] = look(buckets, [first.evidence], format=CsvFormat())
    assert (second.lower, second.upper, second.header, second.header_end) == (4, 8, ("w", "n"), 4)


def test_a_wrong_header_binds_nothing(buckets):
    buckets.put("a.csv", b"w,m\nx,1\n")
    with pytest.raises(HeaderMismatch, match=r'header of "a\.csv"'):
        look(buckets, format=CsvFormat())


def test_one_error_names_all_objects_that_cannot_be_read(buckets):
    for key in ("c.csv", "b.csv", "d.csv"):
        buckets.put(key, b"w,m\nx,1\n")
    buckets.put("a.csv", b"w,n\nx,1\n")
    with pytest.raises(ObjectsUnreadable) as failure:
        look(buckets, format=CsvFormat())
    assert failure.value.partitions == ("b.csv", "c.csv", "d.csv")


NOTHING_BOUND = ObjectEvidence("a.csv", 0, 0, "")


@pytest.mark.parametrize(
    "corrected", [b"1,x\n2,y\n3,z\n", b"1,x\n2,y\n", b"1,x\n22,yy\n", b"1,x\n"]
)
def test_a_range_that_is_not_published_may_be_corrected_in_any_length(buckets, corrected):
    buckets.put("a.csv", b"1,x\nbad\n")
    look(buckets)
    buckets.put("a.csv", corrected)
    again = look_again(buckets, NOTHING_BOUND)
    assert (again.lower, again.upper) == (0, len(corrected))
    assert again.evidence.crc32 == zlib.crc32(corrected)
    buckets.put("a.csv", corrected + b"4,q\n")
    [later] = look(buckets, [again.evidence])
    assert (later.lower, later.upper) == (len(corrected), len(corrected) + 4)


@pytest.mark.parametrize("corrected", [b"", b"1", None])
def test_nothing_is_left_of_an_unpublished_object_without_a_whole_record(buckets, corrected):
    buckets.put("a.csv", b"1,x\nbad\n")
    look(buckets)
    buckets.delete("a.csv")
    if corrected is not None:
        buckets.put("a.csv", corrected)
    assert look_again(buckets, NOTHING_BOUND) is None


@pytest.mark.parametrize("corrected", [b"2,x\n2,y\n", b"1,x", None])
def test_a_correction_must_keep_the_bytes_that_are_published(buckets, corrected):
    buckets.put("a.csv", b"1,x\n")
    [published] = look(buckets)
    buckets.put("a.csv", b"1,x\nbad\n")
    look(buckets, [published.evidence])
    buckets.delete("a.csv")
    if corrected is not None:
        buckets.put("a.csv", corrected)
    with pytest.raises(UpstreamChanged):
        look_again(buckets, published.evidence)


def as_bound(*evidence):
    """The evidence as it comes back from the lake."""
    return {row.partition: (row.length, *row.stored) for row in evidence}


def test_the_newest_reading_of_an_object_counts_and_survives_the_lake():
    first = ObjectEvidence("a.csv", 8, 7, "etag").abandoned()
    second = ObjectEvidence("a.csv", 4, 5, "etag 2", number=2)
    other = ObjectEvidence("b.csv#2", 3, 4, "reading 2")
    assert newest_readings(as_bound(second, first, other)) == {"a.csv": second, "b.csv#2": other}
    third = ObjectEvidence("a.csv", 2, 2, "x", number=3).abandoned()
    assert newest_readings(as_bound(first, third, second))["a.csv"] == third


def test_a_restart_is_done_once_its_reading_has_begun():
    abandoned = ObjectEvidence("a.csv", 8, 7, "etag").abandoned()
    again = restarted({"a.csv": abandoned}, {"a.csv": 2, "c.csv": 5})
    assert again == {"a.csv": ObjectEvidence("a.csv", 0, 0, "", number=2)}
    begun = ObjectEvidence("a.csv", 4, 5, "etag 2", number=2)
    assert restarted({"a.csv": begun}, {"a.csv": 2}) == {"a.csv": begun}
