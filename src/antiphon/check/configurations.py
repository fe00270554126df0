"""Who is in it, and who came along: configurations and views (D5, D6)."""

from antiphon.check.findings import Findings
from antiphon.check.history import ConfigStay, ViewStay, config_name, view_name
from antiphon.check.reading import Reading
from antiphon.core.ids import NO_CONFIG, ConfigId, Member, SessionId, ViewId
from antiphon.core.trace import Cause


def judge_configurations(reading: Reading, findings: Findings) -> None:
    _agreement_on_configurations(reading, findings)
    _agreement_on_views(reading, findings)
    for process, position, told in reading.loose_ends:
        # D6: "directly from the same old view" means nothing if the old view is not the truth.
        findings.add("D6", process, position, told)
    _steps_of_daemons(reading, findings)
    for config, stays in reading.installs.items():
        _comrades(config, stays, reading, findings)
    for view_stays in reading.views.values():
        _together(view_stays, findings)
        for view_stay in view_stays:
            _transitional_told(view_stay, findings)


def _agreement_on_configurations(reading: Reading, findings: Findings) -> None:
    """D5: one id, one member list; who installs it is in it, and installs it once."""
    for config, stays in reading.installs.items():
        first, name = stays[0], config_name(config)
        agreed = frozenset(first.members)
        for stay in stays:
            daemon = stay.daemon
            if stay.members != first.members:
                told = (
                    f"{daemon} installs {name} as {_listed(stay.members)}, but {first.daemon} at "
                    f"{reading.time(first.position)} as {_listed(first.members)}"
                )
                findings.add("D5", daemon, stay.position, told)
            inside = agreed if stay.members == first.members else stay.members
            if daemon.member not in inside:
                members = _listed(stay.members)
                told = f"{daemon} installs {name} of {members}, where it is no member"
                findings.add("D5", daemon, stay.position, told)
            if daemon.within[config] is not stay:
                told = f"{daemon} installs {name} a second time"
                findings.add("D5", daemon, stay.position, told)


def _agreement_on_views(reading: Reading, findings: Findings) -> None:
    """D5 for views of groups. The order of a member list counts: it is told to clients, who
    may choose a leader by it."""
    for (group, view), stays in reading.views.items():
        first = stays[0]
        for stay in stays:
            session = stay.session
            name = f"{view_name(view)} of {group!r}"
            if stay.members != first.members:
                told = (
                    f"{session} installs {name} as {_listed(stay.members)}, but {first.session} at "
                    f"{reading.time(first.position)} as {_listed(first.members)}"
                )
                findings.add("D5", session, stay.position, told)
            if session.id not in stay.members:
                members = _listed(stay.members)
                told = f"{session} installs {name} of {members}, where it is no member"
                findings.add("D5", session, stay.position, told)
            if session.within[group, view] is not stay:
                told = f"{session} installs {name} a second time"
                findings.add("D5", session, stay.position, told)


def _steps_of_daemons(reading: Reading, findings: Findings) -> None:
    """D6: each install says truly what it follows, after the transitional set was told once,
    and deliveries say truly on which side of that they are."""
    for daemon in reading.daemons.values():
        for stay, following in zip(daemon.stays, daemon.stays[1:], strict=False):
            name = config_name(following.config)
            if following.base != stay.config:
                told = (
                    f"{daemon} installs {name} after {config_name(following.base)}, "
                    f"but was in {config_name(stay.config)}"
                )
                findings.add("D6", daemon, following.position, told)
            if stay.config != NO_CONFIG and len(stay.transitional) != 1:
                times = f"was told a transitional set {len(stay.transitional)} times"
                told = f"{daemon} leaves {config_name(stay.config)} for {name} and {times}"
                findings.add("D6", daemon, following.position, told)
        for stay in daemon.stays:
            _sides(stay, findings)


def _sides(stay: ConfigStay, findings: Findings) -> None:
    turn = stay.transitional[0][0] if stay.transitional else None
    for position, record, run in stay.events:
        after = turn is not None and position > turn
        if record.transitional is not after:
            says = "transitional" if record.transitional else "regular"
            told = (
                f"{stay.daemon} delivers {run.pieces[0]} in the {says} part of "
                f"{config_name(stay.config)}, but stands in the other"
            )
            findings.add("D6", stay.daemon, position, told)


def _comrades(
    config: ConfigId, stays: list[ConfigStay], reading: Reading, findings: Findings
) -> None:
    """D6: of those that install the configuration, the transitional set told to p names
    exactly those that come from where p comes from.

    Somebody named that never installs the configuration is no matter: it may have failed.
    """
    by_base: dict[ConfigId, set[Member]] = {}
    for stay in stays:
        by_base.setdefault(stay.base, set()).add(stay.daemon.member)
    installers = {stay.daemon.member for stay in stays}
    wrong: set[Member] = set()
    asked: tuple[object, ...] = ()
    for stay in stays:
        old = stay.previous
        if stay.base == NO_CONFIG or old is None or old.comrades is None:
            continue
        if asked != (stay.base, old.comrades):  # mostly all come together
            asked = (stay.base, old.comrades)
            wrong = (installers & set(old.comrades)) ^ by_base[stay.base]
        for other in stays if wrong else ():
            if other.daemon.member in wrong:
                named = "was" if other.daemon.member in old.comrades else "was not"
                told = (
                    f"{stay.daemon} installs {config_name(config)} after "
                    f"{config_name(stay.base)} with {_listed(old.comrades)}; {other.daemon} "
                    f"{named} named and came from {config_name(other.base)} at "
                    f"{reading.time(other.position)}"
                )
                findings.add("D6", stay.daemon, stay.position, told)


def _together(stays: list[ViewStay], findings: Findings) -> None:
    """D6 for views of groups. A session that enters comes from nowhere and is alone."""
    by_old: dict[ViewId | None, set[SessionId]] = {}
    for stay in stays:
        by_old.setdefault(stay.old, set()).add(stay.session.id)
    installers = {stay.session.id for stay in stays}
    for stay in stays:
        session, named = stay.session, stay.record.together
        name = f"{view_name(stay.view)} of {stay.group!r}"
        if stay.old is None:
            if named != (session.id,):
                told = f"{session} enters with {name} together with {_listed(named)}"
                findings.add("D6", session, stay.position, told)
            continue
        wrong = (installers & set(named)) ^ by_old[stay.old]
        for other in stays if wrong else ():
            if other.session.id in wrong:
                how = "was" if other.session.id in named else "was not"
                told = (
                    f"{session} installs {name} after {view_name(stay.old)} together with "
                    f"{_listed(named)}; {other.session} {how} named and came from "
                    f"{view_name(other.old)}"
                )
                findings.add("D6", session, stay.position, told)


def _transitional_told(stay: ViewStay, findings: Findings) -> None:
    """D6: a session that goes on without some member of its old view was told that the old
    view became transitional, else it takes what it got there for delivered to all of it.

    Only a network change parts members; who joins, leaves or closes parts nobody.
    """
    old = stay.previous
    if old is None or stay.record.reason != Cause.NETWORK or old.signalled < stay.position:
        return
    parted = set(old.members) - set(stay.record.together)
    if parted:
        told = (
            f"{stay.session} goes from {view_name(old.view)} to {view_name(stay.view)} of "
            f"{stay.group!r} without {_listed(tuple(sorted(parted)))} and without a signal"
        )
        findings.add("D6", stay.session, stay.position, told)


def _listed(members: tuple[Member, ...] | tuple[SessionId, ...]) -> str:
    return "{" + " ".join("/".join(map(str, member)) for member in members) + "}"
