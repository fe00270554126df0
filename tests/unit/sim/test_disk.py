"""The disk keeps what it said it has, and may lose or tear the rest."""

from random import Random

from antiphon.sim.disk import Disk, DiskSettings, torn


def test_a_finished_write_survives_a_crash() -> None:
    disk = Disk(DiskSettings(lost=1.0), Random(1))
    ticket, done = disk.begin(100, "log", b"one")
    assert (done, disk.contents) == (600, {})
    assert disk.finish(ticket) == "log"
    disk.crash()
    assert disk.contents == {"log": b"one"}


def test_writes_go_one_after_another_and_late_ones_take_longer() -> None:
    disk = Disk(DiskSettings(delay_us=10), Random(1))
    assert [disk.begin(0, "log", b"")[1] for _ in range(3)] == [10, 20, 30]
    late = Disk(DiskSettings(delay_us=10, late=1.0), Random(1))
    assert late.begin(0, "log", b"")[1] > 10


def fates(settings: DiskSettings) -> set[bytes]:
    """What is found after a crash in the midst of writing `new` over `old`."""
    found = set()
    for seed in range(100):
        disk = Disk(settings, Random(seed))
        disk.contents["key"] = b"old-old-old"
        disk.begin(0, "key", b"NEW-NEW-NEW")
        disk.crash()
        found.add(disk.contents["key"])
    return found


def test_a_write_in_flight_is_lost_torn_or_whole() -> None:
    assert fates(DiskSettings(lost=1.0, torn=0.0)) == {b"old-old-old"}
    assert fates(DiskSettings(lost=0.0, torn=0.0)) == {b"NEW-NEW-NEW"}
    parts = fates(DiskSettings(lost=0.0, torn=1.0))
    assert b"NEW-old-old" in parts and b"NEW-NEW-NEW" not in parts
    assert len(fates(DiskSettings())) > 3


def test_a_torn_write_to_a_new_file_is_a_beginning() -> None:
    for seed in range(20):
        part = torn(b"", b"0123456789", Random(seed))
        assert b"0123456789".startswith(part) and len(part) < 10
    assert torn(b"old", b"", Random(1)) == b"old"
