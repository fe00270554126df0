"""A good file means what it says; a bad one is told line by line, all of it."""

from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import ConfigError, UsageError
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.trace import Level
from antiphon.daemon.config.config import Config, daemon_id, examine, load, parse
from antiphon.daemon.config.declaration import TABLES, AccessEntry, DaemonEntry, keys_of
from antiphon.daemon.config.dials import PRESETS
from antiphon.daemon.config.examples import EXAMPLES
from antiphon.daemon.config.findings import ConfigFindings
from antiphon.daemon.config.places import Places, usual_places
from antiphon.daemon.config.reload import restart_needed
from antiphon.protocol.presets import LAN
from antiphon.protocol.sessions.access import AccessRule

PLACES = Places(Path("/run/antiphon"), Path("/var/lib/antiphon"))
SMALL = """\
[cluster]
name = "lab"
[[daemon]]
name = "one"
address = "127.0.0.1:4813"
[[daemon]]
name = "two"
address = "127.0.0.1:4815"
clients = ["4804"]
"""
NETWORK = SMALL.replace("127.0.0.1", "192.0.2.1")


def read(text: str) -> Config:
    return parse(text, "c.toml", PLACES)


def findings(text: str) -> list[str]:
    return [str(finding) for finding in examine(text, "c.toml", Path(), PLACES)[1]]


def test_a_small_file_has_sensible_defaults() -> None:
    config = read(SMALL)
    one, two = config.daemons
    assert config.daemon("two") is two
    assert one.id == daemon_id("one") != two.id
    assert [*map(str, one.clients), *map(str, two.clients)] == ["127.0.0.1:4803", "127.0.0.1:4804"]
    assert one.socket == "/run/antiphon/lab.one.sock"
    assert config.records.directory == "/var/lib/antiphon/lab/records"
    assert config.store.directory == "/var/lib/antiphon/lab/store"
    assert config.packet_bytes == 65_000
    assert not config.encrypted
    settings = config.node_settings("one")
    assert settings.cluster == config.cluster_hash()
    assert settings.daemons == tuple(sorted((one.id, two.id)))
    assert (settings.level, settings.membership) == (Level.VIEWS, PRESETS["lan"].membership)


def test_ids_and_hashes_never_change() -> None:
    assert daemon_id("one") == 312499
    assert f"{read(SMALL).cluster_hash():016x}" == "db347d76e9e1d710"


@given(st.text(min_size=1))
def test_an_id_is_positive_and_fits_63_bits(name: str) -> None:
    assert 0 < daemon_id(name) <= 10**6


def test_the_hash_covers_only_what_all_must_share() -> None:
    usual = read(SMALL).cluster_hash()
    more = '[[daemon]]\nname = "three"\naddress = "127.0.0.1:1"\nclients = []\n'
    for same in (
        SMALL + more,
        SMALL + "[limits]\nsessions = 5\n",
        SMALL + "[timeouts]\ntoken_loss = 400\n",
        SMALL + '[log]\nformat = "json"\n[records]\nlevel = "all"\n',
        SMALL + '[spread]\nenabled = false\naddresses = ["10.0.0.0/8"]\n',
        SMALL.replace("4813", "4999"),
    ):
        assert read(same).cluster_hash() == usual
    assert read(SMALL.replace("lab", "lob")).cluster_hash() != usual
    site = SMALL.replace('name = "one"', 'name = "one"\nsite = "x"')
    site = site.replace('name = "two"', 'name = "two"\nsite = "x"')
    assert read(site).cluster_hash() != usual
    assert read(SMALL + "site = 'far'\n").cluster_hash() == usual
    assert read(SMALL).cluster_hash(wire_version=2) != usual


def test_daemons_stand_in_their_sites() -> None:
    """SP-12, SP-14."""
    third = '[[daemon]]\nname = "three"\naddress = "127.0.0.1:1"\nclients = []\n'
    config = read(SMALL + "site = 'far'\n" + third)
    one, two, three = (daemon.id for daemon in config.daemons)
    settings = config.node_settings("two")
    assert settings.sites == ((one, three), (two,))
    assert settings.hop.packet_bytes == settings.stream.packet_bytes == 8900
    assert read(SMALL).node_settings("one").sites == ()


def test_a_packet_of_a_link_may_be_as_long_as_any() -> None:
    long = read(SMALL + "site = 'far'\n[network]\npacket_bytes = 60000\n").node_settings("one")
    assert long.hop.packet_bytes == 60_000 <= long.hop.burst_bytes
    (told,) = findings(SMALL + "site = 'far'\n[network]\npacket_bytes = 250\n")
    assert told.startswith("c.toml:12: network.packet_bytes: 250 is out of range")


def test_numbers_reach_the_settings_of_the_protocol() -> None:
    config = read(
        SMALL
        + """
[network]
packet_bytes = 2000
preset = "wan"
[limits]
sessions = 7
backlog_bytes = "1MiB"
[timeouts]
token_loss = "2s"
hello = 160
pause = "300ms"
[tuning]
strikes_max = 5
accelerated_packets = 0
[[access]]
group = "orders.*"
who = ["unix", "token:a*"]
may = ["join"]
"""
    )
    settings = config.node_settings("one")
    assert settings.stream.packet_bytes == 2000
    assert settings.stream.token_loss_us == 2 * SECOND
    assert settings.stream.token_repeat_us == PRESETS["wan"].stream.token_repeat_us
    assert settings.membership.hello_us == 160 * MILLISECOND
    assert settings.membership.strikes_max == 5
    assert settings.pause_us == 300 * MILLISECOND
    assert (settings.sessions.sessions_max, settings.sessions.backlog_bytes_max) == (7, 1 << 20)
    assert settings.sessions.rules == (AccessRule("orders.*", ("uid:*", "token:a*"), True, False),)


def test_where_clients_of_spread_come_in_and_from_where() -> None:
    usual = read(SMALL).spread
    assert (usual.enabled, usual.unix_socket, usual.addresses) == (True, "auto", ())
    text = '[spread]\nunix_socket = "/run/s"\naddresses = ["10.1.2.3", "2001:db8::/32"]\n'
    given = read(SMALL + text)
    assert given.spread.unix_socket == "/run/s"
    assert given.spread.addresses == ("10.1.2.3/32", "2001:db8::/32")
    assert read(given.effective_toml()).spread == given.spread


def test_an_unknown_daemon_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match="use one of one, two"):
        read(SMALL).node_settings("three")


BAD = [
    ("[cluster]\nname = 'x\n", "c.toml:2: not TOML"),
    ("[cluster]\nname = ", "c.toml:2: not TOML"),
    ("x = " + "[" * 5000, "c.toml:1: "),
    ("x = " + "9" * 5000, "c.toml:1: a number is too long"),
    (SMALL + "id = 0x" + "f" * 5000, "c.toml:10: daemon[2].id: the number is too long"),
    ("", "c.toml:1: cluster.name: is missing; add it"),
    ("", "c.toml:1: daemon: no daemon is listed"),
    (SMALL + "[netwrk]\n", "c.toml:10: netwrk: there is no such key; did you mean network?"),
    (SMALL + "adress = 1\n", "c.toml:10: daemon[2].adress: there is no such key; did you mean"),
    (SMALL + "[log]\nzzz = 1\n", "log.zzz: there is no such key; known here: file, format"),
    (SMALL + "[spread]\nenabled = 1\n", "spread.enabled: 1 is neither true nor false; write true"),
    (SMALL + "[spread]\nunix_socket = 'x'\n", "spread.unix_socket: 'x' is not a path; write"),
    (SMALL + "[spread]\nunix_socket = 4803\n", "spread.unix_socket: 4803 is not a text"),
    (SMALL + "[spread]\naddresses = ['lan']\n", "'lan' is not an address or network; write"),
    (SMALL + "[spread]\naddresses = ['10.0.0.1/8']\n", "'10.0.0.1/8' is not an address or net"),
    (SMALL + "[spread]\naddresses = [7]\n", "spread.addresses: 7 is not an address or network"),
    (SMALL.replace("4815", "70000"), "c.toml:8: daemon[2].address: port 70000 is above 65535; use"),
    (SMALL.replace('"two"', '"one"'), "c.toml:7: daemon[2].name: is the same as daemon[1].name on"),
    (SMALL.replace("4815", "4813"), "c.toml:8: daemon[2].address: is the same as daemon[1].addres"),
    (SMALL.replace("4804", "4803"), "c.toml:9: daemon[2].clients[1]: is the same as daemon[1].cli"),
    (SMALL.replace('"4804"', '"0.0.0.0:4803"'), "daemon[2].clients[1]: is the same as"),
    (SMALL + f"id = {daemon_id('one')}\n", "c.toml:10: daemon[2].id: is the same as daemon[1].id"),
    (SMALL + "id = 0\n", "c.toml:10: daemon[2].id: 0 is below 1"),
    (SMALL + "socket = '/run/antiphon/lab.one.sock'\n", "c.toml:10: daemon[2].socket: is the same"),
    (SMALL + f"socket = '/{'x' * 120}'\n", "daemon[2].socket: the path is longer than 107 bytes"),
    (
        SMALL + "site = 'far'\n[network]\nmulticast = '239.192.0.7:4814'\n",
        "c.toml:12: network.multicast: there are several sites; remove it",
    ),
    (NETWORK, "c.toml:1: cluster.key_file: is missing, and not all daemons are on loopback"),
    (SMALL.replace('"lab"', '"a b"'), "c.toml:2: cluster.name: 'a b' cannot be a name"),
    (
        SMALL.replace('"lab"', '"lab"\nkey_file = "k"\nencryption = "off"'),
        "c.toml:4: cluster.encryption: is off, but there is a key_file",
    ),
    (SMALL + "[clients]\ntls_key = 'k'\n", "c.toml:11: clients.tls_key: is of no use without"),
    (SMALL + "[clients]\nunix_mode = 660\n", "clients.unix_mode: 660 is not a file mode"),
    (SMALL + "[clients]\nadmin = ['root']\n", "clients.admin: 'root' is nobody"),
    (SMALL + "[[access]]\nwho = []\nmay = ['fly']\n", "c.toml:10: access[1].group: is missing"),
    (SMALL + "[[access]]\nwho = []\nmay = ['fly']\n", "c.toml:12: access[1].may: 'fly' is not"),
    (SMALL + "[records]\nmax_age = 7\n", "records.max_age: 7 is not a time with a unit"),
    (SMALL + "[records]\nlevel = 'some'\n", "write one of off, views, all"),
    (SMALL + "[limits]\nsessions = true\n", "limits.sessions: True is not a whole number"),
    (
        SMALL + "[limits]\nqueue_bytes_low = '8MiB'\n",
        "c.toml:11: limits.queue_bytes_low: queue limits are not rising",
    ),
    (
        SMALL + "[timeouts]\ntoken_loss = 60\npause = 10\n",
        "c.toml:11: timeouts.token_loss: leaves no time for a rest and four repeats; raise it or "
        "lower token_rest_max",
    ),
    (SMALL + "[timeouts]\nhello = 200\n", "timeouts.hear_alert: is not four Hellos to hear"),
    (SMALL + "[timeouts]\npause = '2s'\n", "c.toml:11: timeouts.pause: is not below token_loss"),
    (SMALL + "[network]\npacket_bytes = 10\n", "c.toml:11: network.packet_bytes: 10 is out of"),
    (SMALL + "[network]\npacket_bytes = 'big'\n", "packet_bytes: 'big' is not a whole number; wri"),
    (SMALL + "[tuning]\nring_packets_max = 0\n", "tuning.ring_packets_max: 0 is below 1"),
    ("cluster = 3\ndaemon = 4\n", "c.toml:1: cluster: is not one table"),
    ("cluster = 3\ndaemon = 4\n", "c.toml:2: daemon: is not a list of tables"),
]


@pytest.mark.parametrize(("text", "told"), BAD)
def test_a_fault_is_told_with_line_key_and_remedy(text: str, told: str) -> None:
    found = findings(text)
    assert any(told in one for one in found), found
    with pytest.raises(ConfigFindings):
        read(text)


def test_all_faults_are_told_and_nothing_twice() -> None:
    text = SMALL.replace('"two"', '"one"').replace("4815", "99999") + "[log]\nlevl = 1\n"
    assert [one.split(": ")[1] for one in findings(text)] == ["daemon[2].address", "log.levl"]
    text = SMALL.replace('"two"', '"one"') + "[limits]\nsessions = 0\nbacklog = 'x'\n"
    told = ["daemon[2].name", "limits.sessions", "limits.backlog"]
    assert [one.split(": ")[1] for one in findings(text)] == told


def test_faults_of_all_layers_are_told_together() -> None:
    settings = "[timeouts]\ntoken_loss = 60\nhello = 200\n[limits]\nqueue_bytes_low = '8MiB'\n"
    told = {"timeouts.token_loss", "timeouts.hear_alert", "limits.queue_bytes_low"}
    assert {one.split(": ")[1] for one in findings(SMALL + settings)} == told
    broken = SMALL.replace("4815", "99999").replace('"lab"', "3") + settings
    told |= {"cluster.name", "daemon[2].address"}
    assert {one.split(": ")[1] for one in findings(broken)} == told


def test_no_fault_is_made_up_from_a_default_that_stands_in() -> None:
    (told,) = findings(SMALL + "[timeouts]\ntoken_rest_max = 200\ntoken_loss = 'x'\n")
    assert "c.toml:12: timeouts.token_loss: 'x' is not a time" in told


def test_the_exception_is_a_config_error_with_all_findings() -> None:
    with pytest.raises(ConfigError) as caught:
        read("")
    assert isinstance(caught.value, ConfigFindings)
    assert (caught.value.key, len(caught.value.findings)) == ("cluster.name", 2)
    assert len(str(caught.value).splitlines()) == 2


def test_a_network_needs_a_key_or_a_word() -> None:
    assert read(NETWORK.replace('"lab"', '"lab"\nkey_file = "k"')).encrypted
    off = read(NETWORK.replace('"lab"', '"lab"\nencryption = "off"'))
    assert (off.encrypted, off.packet_bytes) == (False, 1400)


def test_a_lone_loopback_among_others_is_odd() -> None:
    text = SMALL.replace("127.0.0.1:4815", "192.0.2.1:4815")
    text = text.replace('"lab"', '"lab"\nkey_file = "k"')
    (told,) = findings(text)
    assert told.startswith("c.toml:6: warning: daemon[1].address: daemons on other machines")
    assert [str(one) for one in read(text).warnings] == [told]


def test_files_of_secrets_are_for_their_owner(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(SMALL.replace('"lab"', '"lab"\nkey_file = "secret"'))
    (missing,) = load(file, PLACES).warnings
    assert "antiphon keys new" in str(missing) and missing.line == 3
    secret = tmp_path / "secret"
    secret.write_text("")
    secret.chmod(0o640)
    with pytest.raises(ConfigFindings, match=":3: cluster.key_file: .* can be read by others"):
        load(file, PLACES)
    secret.chmod(0o600)
    config = load(file, PLACES)
    assert (config.cluster.key_file, config.warnings) == (str(secret), ())
    secret.unlink()
    secret.mkdir()
    with pytest.raises(ConfigFindings, match="is not a file"):
        load(file, PLACES)


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    with pytest.raises(ConfigFindings, match="cannot be read"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin").write_bytes(b"# \xe9")
    with pytest.raises(ConfigFindings, match="is not UTF-8"):
        load(tmp_path / "latin")


@pytest.mark.parametrize("text", [*EXAMPLES.values(), SMALL], ids=[*EXAMPLES, "small"])
def test_the_effective_file_says_everything_and_means_the_same(text: str) -> None:
    config = read(text)
    again = read(config.effective_toml())
    assert again.effective_toml() == config.effective_toml()
    for daemon in config.daemons:
        assert again.node_settings(daemon.name) == config.node_settings(daemon.name)
    same = ("cluster", "daemons", "limits", "records", "log", "clients", "access")
    for table in same:
        assert getattr(again, table) == getattr(config, table)
    assert again.network.packet_bytes == config.packet_bytes


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=[*EXAMPLES])
def test_an_example_is_fine_as_it_is_and_on_one_machine(text: str) -> None:
    assert findings(text) == []
    assert findings(text.replace("192.0.2.", "127.0.0.")) == []


def test_a_reload_takes_what_it_can() -> None:
    old = read(SMALL)
    keyed = [read(SMALL.replace('"lab"', f'"lab"\nkey_file = "{name}"')) for name in "ab"]
    assert restart_needed(*keyed, "one") == ()
    for taken in (
        SMALL + '[[daemon]]\nname = "three"\naddress = "127.0.0.1:1"\nclients = []\n',
        SMALL.replace("4815", "4817"),
        SMALL + "[limits]\nsessions = 1\n[log]\nlevel = 'debug'\n",
        SMALL + "[[access]]\ngroup = 'x'\nwho = ['*']\nmay = []\n",
    ):
        assert read(taken) != old
        assert restart_needed(old, read(taken), "one") == ()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (SMALL + "[records]\nlevel = 'off'\n", {"records.level"}),
        (
            SMALL.replace("lab", "lob"),
            {"cluster.name", "daemon.socket", "records.directory", "store.directory"},
        ),
        (SMALL + "[[retain]]\ngroup = 'kept'\n", {"retain"}),
        (SMALL.replace("4813", "4999"), {"daemon.address"}),
        (SMALL.replace('"one"', '"uno"'), {"daemon"}),
        (SMALL + "[timeouts]\ntoken_loss = 400\n", {"timeouts.token_loss"}),
        (SMALL.replace('"lab"', '"lab"\nkey_file = "k"'), {"cluster.key_file"}),
        (SMALL + "[network]\noffload = 'off'\n", {"network.offload"}),
        (SMALL + "site = 'far'\n", {"daemon.site", "network.packet_bytes"}),
        (
            SMALL.replace('"one"', '"one"\nsite = "far"'),
            {"daemon.site", "network.packet_bytes"},
        ),
        (SMALL + "[spread]\nenabled = false\naddresses = ['::1']\n", set()),
        (SMALL + "[spread]\nunix_socket = ''\n", {"spread.unix_socket"}),
        (
            NETWORK.replace('"lab"', '"lab"\nencryption = "off"'),
            {"daemon.address", "network.packet_bytes"},
        ),
    ],
)
def test_a_reload_names_what_takes_a_restart(text: str, keys: set[str]) -> None:
    assert set(restart_needed(read(SMALL), read(text), "one")) == keys


def test_places_are_those_of_systemd_then_of_the_user() -> None:
    systemd = {"RUNTIME_DIRECTORY": "/run/a:/run/b", "STATE_DIRECTORY": "/var/lib/a"}
    assert usual_places(systemd, 5) == (Path("/run/a"), Path("/var/lib/a"))
    user = {"XDG_RUNTIME_DIR": "/run/user/5", "XDG_STATE_HOME": "/s"}
    assert usual_places(user, 5) == (Path("/run/user/5/antiphon"), Path("/s/antiphon"))
    assert usual_places({"HOME": "/h"}, 5).state == Path("/h/.local/state/antiphon")
    assert usual_places({}, 0) == (Path("/run/antiphon"), Path("/var/lib/antiphon"))


ODD = ["1", "-1", "true", "1.5", "nan", "''", "'auto'", "'\\u0000'", "[]", "[1]", "[[]]", "{}"]
ODD += ["{x = 1}", "1979-05-27", '"a\\u0000b"', "['*', 3]", "0xffffffffffffffffffff", "'1GiB'"]
NAMES = [f"{table}.{key}" for table, kind in TABLES.items() for key in keys_of(kind)]
NAMES += ["daemon", "access", "cluster", "timeouts.token_loss", "tuning.strikes_max", "odd"]
INNER = [*keys_of(DaemonEntry), *keys_of(AccessEntry)]


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(ODD)), max_size=5, unique_by=itemgetter(0)
    ),
    st.lists(
        st.tuples(st.sampled_from(INNER), st.sampled_from(ODD)), max_size=4, unique_by=itemgetter(0)
    ),
)
def test_odd_values_are_findings_and_nothing_worse(
    outer: list[tuple[str, str]], inner: list[tuple[str, str]]
) -> None:
    text = "\n".join(f"{key} = {value}" for key, value in outer) + "\n[[daemon]]\n"
    text += "\n".join(f"{key} = {value}" for key, value in inner) + "\n[[access]]\n"
    text += "\n".join(f"{key} = {value}" for key, value in inner)
    config, found = examine(text, "odd", Path(), PLACES)
    assert config is None and all(finding.line for finding in found)


def test_daemons_that_keep_other_groups_are_another_cluster() -> None:
    kept = read(SMALL + "[[retain]]\ngroup = 'orders.*'\nmax_bytes = '1MiB'\nmax_age = '2h'\n")
    assert kept.cluster_hash() != read(SMALL).cluster_hash()
    larger = read(SMALL + "[[retain]]\ngroup = 'orders.*'\nmax_bytes = '9MiB'\n")
    assert kept.cluster_hash() == larger.cluster_hash(), "how much each keeps is its own business"
    rule = kept.node_settings("one").retain.rule_of("orders.eu")
    assert rule is not None and (rule.max_bytes, rule.max_age_us) == (1 << 20, 7_200_000_000)
    assert kept.node_settings("one").retain.rule_of("others") is None


def test_too_little_to_keep_is_a_finding() -> None:
    found = findings(SMALL + "[[retain]]\ngroup = 'orders.*'\nmax_bytes = '1KiB'\n")
    assert "retain" in found[0] and "8 KiB" in found[0]


def test_of_long_packets_fewer_are_on_their_way() -> None:
    """What a window holds is some megabytes, however long packets are."""
    jumbo = read(SMALL + "[network]\npacket_bytes = 8900\n").node_settings("one").stream
    assert jumbo == replace(LAN.stream, packet_bytes=8900)
    long = read(SMALL).node_settings("one").stream
    assert long.packet_bytes == 65_000
    assert long.buffered_packets_max * long.packet_bytes < 32 << 20
    assert long.member_packets_max <= long.ring_packets_max < jumbo.ring_packets_max
    given = read(SMALL + "[tuning]\nmember_packets_max = 3\n").node_settings("one").stream
    assert given.member_packets_max == 3


def test_a_rotation_fits_the_receive_buffer() -> None:
    settings = read(SMALL).node_settings("one")
    assert settings.within(16 << 20) == settings
    tight = settings.within(416 << 10).stream
    assert (tight.member_packets_max, tight.ring_packets_max) == (2, 4)
