"""Every code that a user can meet: in an error, a closed session, a drop or refusal record.

`antiphon explain CODE` and docs/guide/troubleshooting.md show this table. A code is never given
another meaning; a test fails when the source uses one that is not here.
"""

from typing import NamedTuple


class Code(NamedTuple):
    summary: str
    """What happened, as the end of a sentence."""

    cause: str
    remedy: str


LIBRARY = "use the client library, and the same version on both sides"
SPREAD_LIBRARY = "use a library of Spread 3.1 to 5, or antiphon.spread"
HARMLESS = "nothing: it is harmless unless it goes on for long"

REFUSALS: dict[str, Code] = {
    "too_many_sessions": Code(
        "the daemon has as many clients as it may",
        "The daemon's limits.sessions is reached.",
        "connect to another daemon, or raise limits.sessions",
    ),
    "bad_name": Code(
        "the session's name cannot be used",
        "A name has 1 to 64 printable bytes and no '#', which marks private groups.",
        "choose another name, or none to get one",
    ),
    "name_in_use": Code(
        "a session of this name is connected to the daemon",
        "Names are unique at one daemon. The old session of a client that was cut off may linger.",
        "choose another name, or wait until the old session is noticed to be gone",
    ),
    "bad_token": Code(
        "the daemon does not know the token",
        "The daemon asks clients for a token, and this one was missing or wrong.",
        "pass token=, as in the daemon's token file",
    ),
    "not_authenticated": Code(
        "the daemon wants to know who the client is",
        "It lets in only clients with a token or a certificate.",
        "pass token= or tls=",
    ),
    "client_version": Code(
        "client and daemon have no protocol version in common",
        "A daemon speaks its own version and the one before it.",
        "upgrade the older side",
    ),
    "bad_group": Code(
        "a group name is not valid",
        "A group name has 1 to 255 printable bytes and no '#'. All groups of a message must be "
        "of one profile, and at most 100.",
        "use another group name",
    ),
    "not_allowed": Code(
        "an access rule forbids it",
        "The daemon's configuration says who may join and send to which groups.",
        "ask the operator for an access rule",
    ),
    "already_joined": Code(
        "the session is in the group already",
        "A session joins a group once.",
        "join each group once",
    ),
    "not_joined": Code(
        "the session is not in the group",
        "It never joined, or left before.",
        "leave what was joined",
    ),
    "too_many_groups": Code(
        "the daemon's limit of memberships is reached",
        "All memberships of a daemon must fit one bundle when groups are exchanged.",
        "leave some groups, or raise limits.groups",
    ),
    "queue_full": Code(
        "too much waits to be sent",
        "The client went on sending after the daemon had closed the flow.",
        "wait for the flow to open; the client library does so by itself",
    ),
    "bad_key": Code(
        "keyed messages that cannot be",
        "They are neither agreed nor safe, so nobody could filter repeats alike; or the producer's "
        "name is empty or too long.",
        "use key= with agreed or safe messages to one group",
    ),
    "bad_table": Code(
        "messages refer to a table that cannot",
        "They are neither agreed nor safe, so they may come where the table is not known yet.",
        LIBRARY,
    ),
    "bad_sender": Code(
        "messages name another sender than the session",
        "The sender's name in a bundle is not the session's.",
        LIBRARY,
    ),
    "too_long": Code(
        "a message, bundle or frame is too long",
        "A message has at most 16 MiB.",
        "send less at a time",
    ),
    "bad_size": Code(
        "a request has a size that cannot be", "The client packed it wrongly.", LIBRARY
    ),
}

CLOSINGS: dict[str, Code] = {
    "client": Code(
        "the client closed it", "close() was called, or its process ended.", "connect again"
    ),
    "slow": Code(
        "the client did not take its messages",
        "More waited for it than limits.backlog or limits.backlog_bytes allow, though others "
        "waited for it for a moment.",
        "receive faster, or in a task or thread of its own; or raise the limits",
    ),
    "daemon_stopping": Code(
        "the daemon was stopped",
        "An operator stopped it; what was sent before was still sent.",
        "connect to another daemon, or use failover=True",
    ),
    "no_hello": Code(
        "the client said nothing after connecting",
        "A connection must begin with a hello within a few seconds.",
        LIBRARY,
    ),
    "connection_lost": Code(
        "the connection to the daemon broke",
        "The daemon or its machine died, or the network between failed.",
        "connect again, or use failover=True with several addresses",
    ),
    "bad_frame": Code(
        "the other side sent something that is no frame",
        "The port belongs to another program, or the versions do not fit.",
        "check address and versions",
    ),
    "unknown_protocol": Code(
        "a stream begins with something that is no protocol of ours",
        "Another program connects to the client port.",
        "check who connects there",
    ),
    "too_many_strangers": Code(
        "too many connections have not said who they are",
        "Somebody opens connections and says nothing.",
        "check who connects to the ports of the daemon",
    ),
    "unexpected": Code(
        "a frame came that does not belong there", "The other side is not what it says.", LIBRARY
    ),
    "no_service": Code(
        "a Spread client sent something that is neither a message nor a request",
        "The type of a message has exactly one bit of a service, or of join, leave and kill.",
        SPREAD_LIBRARY,
    ),
    "two_services": Code(
        "a Spread client asked for two things at once",
        "The type of a message has exactly one bit of a service, or of join, leave and kill.",
        SPREAD_LIBRARY,
    ),
    "foreign_sender": Code(
        "a Spread client sent in the name of another",
        "A message names the private group of its own session as its sender.",
        SPREAD_LIBRARY,
    ),
    "groups_count": Code(
        "a Spread client sent to more than 100 groups at once",
        "Spread's protocol allows 100 groups for a message.",
        "send twice",
    ),
    "bad_hint": Code(
        "a Spread client's message has a type that is no 16-bit number",
        "The field holds the application's number and the byte order, and nothing else.",
        SPREAD_LIBRARY,
    ),
}

CLIENT: dict[str, Code] = {
    "no_daemon": Code(
        "no daemon answered",
        "Nothing listens at the addresses, or a firewall is between, or it took too long.",
        "check the address, and that the daemon runs: antiphon status",
    ),
    "bad_address": Code(
        "the address cannot be understood",
        "An address is 4803@host, host:4803, 4803, /path/to.sock or unix:/path.",
        "write it like one of these",
    ),
    "bad_choice": Code(
        "an option has a value that it cannot have",
        "choose is order or nearest; priority is 0 to 255; membership is needed for records.",
        "use one of the allowed values",
    ),
    "not_in_profile": Code(
        "guarantee and role are for profiles to come",
        "The strong profile gives every member all guarantees, and everybody may send.",
        "leave guarantee and role at their defaults",
    ),
    "bad_kind": Code(
        "the kind of a message is no small number",
        "A kind is a whole number from -32768 to 32767.",
        "use a number in this range",
    ),
    "bad_payload": Code(
        "the payload is not made of bytes",
        "A payload is bytes, bytearray, memoryview, or a list of these.",
        "encode it first",
    ),
    "change_under_way": Code(
        "a join or leave of this group is under way",
        "At most one for each group at a time.",
        "await it first",
    ),
    "unread_events": Code(
        "the application waits for something else while too many events wait for it",
        "What it waits for comes behind those events, or nobody receives at all.",
        "receive in a task or thread of its own",
    ),
    "buffers_too_small": Code(
        "the message does not fit the caller's buffers",
        "receive_into fills the buffers it is given; the message is kept.",
        "bring as many bytes as the error names",
    ),
    "query_failed": Code(
        "the daemon has no answer",
        "It does not know the question, or an argument is wrong.",
        "see what can be asked: antiphon status --help",
    ),
    "unsent": Code(
        "the session was closed with messages unsent",
        "The daemon did not take them in time: its flow was closed, or it is gone.",
        "wait longer, with a larger timeout",
    ),
    "timed_out": Code(
        "it took longer than the caller allowed",
        "The cluster is changing its configuration, or the daemon is busy.",
        "try again, or allow more time",
    ),
    "bad_record_name": Code(
        "a record file cannot have this name", "Names become file names.", "use letters and digits"
    ),
    "bad_run_name": Code(
        "a run cannot have this name", "Names become file names.", "use letters and digits"
    ),
    "bad_record_source": Code(
        "nobody of this kind writes records",
        "Records come from a daemon, a client or a simulator.",
        "use one of these",
    ),
}

OPERATION: dict[str, Code] = {
    "file_exists": Code(
        "a file is there already", "Nothing is overwritten unasked.", "name another file"
    ),
    "no_such_key": Code(
        "the key file has no key of this name", "It was never there, or removed.", "see keys show"
    ),
    "bad_key_name": Code(
        "a key cannot have this name",
        "A name has 1 to 32 letters, digits, dots, dashes and underscores.",
        "use another name",
    ),
    "key_in_use": Code(
        "the key is the current one", "Daemons seal with it.", "promote another key first"
    ),
    "which_key": Code(
        "it is not clear which key is meant", "There is more than one.", "name the key"
    ),
    "no_records": Code(
        "there are no records here",
        "The directory is another one, or nothing was recorded.",
        "name the directory of the records",
    ),
    "no_tables": Code(
        "there are no tables here",
        "The directory is another one, or nothing was taken into it yet.",
        "run antiphon pipeline ingest first",
    ),
    "too_many_runs": Code(
        "there are too many runs for one page",
        "The figures are of many simulated runs.",
        "measure one of them, with --run",
    ),
    "no_bench": Code(
        "a file does not hold what a bench has printed",
        "It is another file, or the bench was called without --json.",
        "give what antiphon bench wan --json printed",
    ),
    "no_rows": Code(
        "there are no rows to verify",
        "The tables are empty, or have no such run.",
        "see what runs there are in the table segments",
    ),
    "history_too_large": Code(
        "a history is larger than can be verified at once",
        "It has too many processes, writers, rows or years.",
        "choose less of it with --run",
    ),
    "bad_log": Code(
        "an answer of a daemon about a log is not whole",
        "Its file was damaged, or it is of another version.",
        "ask another daemon",
    ),
    "bad_offset": Code(
        "a text is no offset of a log",
        "Offsets are BRANCH:SEQUENCE.",
        "use one that a log has given",
    ),
    "wrong_columns": Code(
        "a table lacks columns that the job needs",
        "It is another table, or its columns have other names.",
        "name them as the error says",
    ),
    "nothing_measured": Code(
        "there is no way between sites in these tables",
        "They are of a cluster with one site, or records were off.",
        "record a cluster of several sites at work",
    ),
    "no_mutant": Code(
        "there is no such mutant", "Its name is another one.", "see antiphon sim mutants --help"
    ),
    "bad_count": Code(
        "so many daemons cannot be started", "A local cluster has 1 to 64.", "use 1 to 64"
    ),
    "daemon_failed": Code(
        "a daemon did not start", "Its log says why.", "see the log that the error names"
    ),
    "not_merged": Code(
        "the daemons of a local cluster did not find each other",
        "One of them failed, or the machine is very busy.",
        "see the daemons' logs",
    ),
    "not_root": Code(
        "only root may do this", "Namespaces and packet filters need root.", "run it as root"
    ),
    "no_programs": Code(
        "programs are missing and cannot be installed",
        "Network namespaces need ip and nft, and a bench beside other systems needs these.",
        "install them by hand",
    ),
    "no_library": Code(
        "a library of another system is missing",
        "A bench measures that system with its own client.",
        "run scripts/bootstrap bench",
    ),
    "no_commit": Code(
        "there is no tree of this commit",
        "It is no commit, or this is no clone of the repository.",
        "name a commit, and call it in a clone",
    ),
    "no_namespaces": Code(
        "the kernel gives no network namespaces",
        "A container or its configuration forbids them.",
        "run it on another machine, or in a container with more rights",
    ),
    "already_running": Code(
        "an emulation runs in this process",
        "Its namespaces are named by the process.",
        "leave it first, or use another process",
    ),
    "not_running": Code(
        "the emulation does not run",
        "It runs while it is entered by `with`.",
        "enter it, and stay inside",
    ),
    "unknown_host": Code(
        "the topology has no host of this name",
        "A site of one host gives it its own name; several are numbered.",
        "see `antiphon wan show TOPOLOGY`",
    ),
    "unknown_link": Code(
        "the topology has no link between these two",
        "Each direction is a link of its own; access links are SITE up and SITE down.",
        "see `antiphon wan show TOPOLOGY`",
    ),
    "relay_ended": Code(
        "the process that carries the packets has ended",
        "It says why on its last line.",
        "see what it said; no other may use its namespaces",
    ),
    "no_topology": Code(
        "there is no topology of this name",
        "A name is that of a preset or of a file.",
        "use six-sites, three-sites, two-sites, or the path of a file",
    ),
    "bad_option": Code(
        "an option of the preset cannot be read",
        "Options are KEY=VALUE, with commas between them.",
        "see `antiphon wan show --help`",
    ),
    "disk_full": Code(
        "records were dropped because the disk is full",
        "Service goes on without them.",
        "make room, or lower the limits in [records]",
    ),
    "records_io": Code(
        "records were dropped because they could not be written",
        "The disk or directory has failed.",
        "check the directory of the records",
    ),
    "records_overflow": Code(
        "records were dropped because too many waited",
        "They came faster than the disk takes them.",
        "record at a lower level",
    ),
}

DROPS: dict[str, Code] = {
    "bad_seal": Code(
        "a packet's seal is wrong",
        "It was changed on its way, or forged, or sealed with another key.",
        "give all daemons the same key file",
    ),
    "not_sealed": Code(
        "a packet is not encrypted",
        "Its sender runs without keys, or is none of ours.",
        "give all daemons the same key file",
    ),
    "sealed": Code(
        "a packet is encrypted, and this daemon has no key",
        "Its sender runs with keys.",
        "give all daemons the same key file",
    ),
    "unproven": Code(
        "a daemon has not proved yet that it lives now",
        "It has just started, or old packets of it are sent again.",
        HARMLESS,
    ),
    "misdirected": Code(
        "a packet is meant for another daemon, or an earlier life of this one",
        "A daemon restarted while it was under way.",
        HARMLESS,
    ),
    "unknown_key": Code(
        "a packet is sealed with a key that is not known here",
        "A key was promoted before all daemons had it.",
        "add a key everywhere before it is promoted",
    ),
    "forged_sender": Code(
        "a packet is sealed by another than it says",
        "One daemon speaks in the name of another.",
        "look for the intruder, and change the keys",
    ),
    "replayed": Code("a packet came again", "The network repeated it, or somebody did.", HARMLESS),
    "too_short": Code(
        "a packet is shorter than its header",
        "Something else sends to this port, or a packet was cut.",
        HARMLESS,
    ),
    "wire_version": Code(
        "a packet has another wire version",
        "A daemon speaks its own version and the one before it.",
        "upgrade one version at a time",
    ),
    "other_cluster": Code(
        "a packet is of another cluster",
        "Two clusters use the same address and port.",
        "give each its own port or multicast address",
    ),
    "unknown_daemon": Code(
        "a packet is from a daemon that the configuration does not name",
        "Configurations differ, or somebody is where it should not be.",
        "give all daemons the same configuration",
    ),
    "own": Code("a packet came back to its sender", "Multicast loops back.", HARMLESS),
    "twin": Code(
        "another daemon runs under my id",
        "Two daemons were started with the same name.",
        "stop one of them, or give it its own name",
    ),
    "unknown_tag": Code(
        "a packet or frame is of an unknown kind",
        "It is from a newer version, or from something else.",
        "bring all daemons to one version",
    ),
    "malformed": Code(
        "a packet or frame cannot be read", "It was damaged, or is from something else.", LIBRARY
    ),
    "not_canonical": Code(
        "a packet is not written in the one way there is", "It was not made by us.", LIBRARY
    ),
    "bad_field": Code("a field has a value that it cannot have", "It was not made by us.", LIBRARY),
    "cut_short": Code("a packet ends too early", "It was cut on its way.", HARMLESS),
    "wrong_size": Code("lengths do not add up", "It was damaged, or not made by us.", LIBRARY),
    "old_incarnation": Code(
        "a packet is from an earlier life of a daemon",
        "It was under way while the daemon restarted.",
        HARMLESS,
    ),
    "other_attempt": Code(
        "a packet belongs to another attempt at a configuration",
        "Membership changed while it was under way.",
        HARMLESS,
    ),
    "false_coordinator": Code(
        "somebody proposes who may not", "Views of the network differ for a while.", HARMLESS
    ),
    "old_proposal": Code("a proposal is out of date", "A newer one was accepted.", HARMLESS),
    "not_proposed": Code("an answer to no proposal", "The attempt it answers has ended.", HARMLESS),
    "not_my_leader": Code(
        "a packet follows another leader", "Views of the network differ for a while.", HARMLESS
    ),
    "bad_digest": Code(
        "what a daemon says it holds cannot be", "It was damaged, or not made by us.", LIBRARY
    ),
    "log_write": Code(
        "the log of a kept group could not be written",
        "The disk is full, or not ours to write to. Until the next part begins, nothing is kept; "
        "readers are told which range is missing.",
        "make room in store.directory; other daemons have what is missing here",
    ),
    "bad_state": Code(
        "a leader speaks for others than its party", "It was damaged, or not made by us.", LIBRARY
    ),
    "bad_route": Code(
        "a relayed packet names a way on which this daemon is not the next",
        "It was damaged, or not made by us.",
        LIBRARY,
    ),
    "bad_chunk": Code(
        "a part of a large packet does not fit the others",
        "It was damaged, or not made by us.",
        LIBRARY,
    ),
    "not_relayed": Code(
        "a packet came over others that is only said directly",
        "It was not made by us.",
        LIBRARY,
    ),
    "other_site": Code(
        "a greeting for a site came from another one",
        "A network joins sites that the configuration keeps apart.",
        "separate their broadcasts, or configure them as one site",
    ),
    "one_site": Code(
        "a leader of another site spoke to a cluster of one site",
        "The daemons have different configurations.",
        "give all of them the same configuration",
    ),
    "impossible_epoch": Code(
        "a configuration's number is far beyond what can be", "It was not made by us.", LIBRARY
    ),
    "other_configuration": Code(
        "a packet is of another configuration", "Membership is changing.", HARMLESS
    ),
    "other_link": Code(
        "a packet is of a link that is no more, or not yet",
        "A configuration has ended or begins.",
        HARMLESS,
    ),
    "no_pipe": Code(
        "a packet of a TCP link came by another way than its connection",
        "It was sent over a connection that has ended, or not made by us.",
        HARMLESS,
    ),
    "frame_too_long": Code(
        "a frame on a connection between daemons is longer than any can be",
        "It was damaged, or is from something else.",
        "see who connects to the port of this daemon",
    ),
    "frozen": Code(
        "a packet came after its configuration was closed", "Membership is changing.", HARMLESS
    ),
    "old_token": Code("a token came a second time", "It was sent again to be sure.", HARMLESS),
    "impossible_token": Code(
        "a token says what cannot be", "It was damaged, or not made by us.", LIBRARY
    ),
    "not_a_member": Code(
        "a packet is from a daemon outside the configuration", "Membership is changing.", HARMLESS
    ),
    "beyond_window": Code(
        "a packet is further ahead than flow control allows",
        "Its sender is not as configured, or very late packets came.",
        "give all daemons the same configuration",
    ),
    "duplicate": Code("a packet came twice", "It was repeated to be sure.", HARMLESS),
    "too_late": Code("a packet came when nobody needed it", "It was repeated already.", HARMLESS),
    "bad_stamp": Code(
        "a bundle's stamp breaks the order", "It was damaged, or not made by us.", LIBRARY
    ),
    "unknown_segment": Code(
        "something is said of a segment that the configuration does not have, or not to others",
        "It was damaged, or not made by us.",
        LIBRARY,
    ),
    "old_report": Code(
        "a report of a stream came after a newer one", "It was repeated to be sure.", HARMLESS
    ),
}

CODES: dict[str, Code] = {**REFUSALS, **CLOSINGS, **CLIENT, **OPERATION, **DROPS}
"""Each code has one meaning, wherever it is met."""

TABLES = (REFUSALS, CLOSINGS, CLIENT, OPERATION, DROPS)
assert len(CODES) == sum(map(len, TABLES)), "a code is in two tables"
