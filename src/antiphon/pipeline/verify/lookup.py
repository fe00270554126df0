"""The facts of all histories as arrays, for passes that ask them for many rows at once.

It is sent to every executor. Processes have numbers from 1 on; 0 is a process that no control
row tells of. Configurations, views and groups are known by the hashes that rows carry, and have
numbers here.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from antiphon.core.errors import UsageError
from antiphon.core.ids import NO_CONFIG, ConfigId, GroupName, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import DAEMON
from antiphon.pipeline.verify.control import DaemonStay, Facts, Place, ProcessId, SessionStay
from antiphon.pipeline.verify.histories import PROCESS_BITS, TIME_BITS
from antiphon.pipeline.verify.names import Flags, Longs, distinct, group_numbers, hashed, mixed

NONE = -1
MASK = (1 << PROCESS_BITS) - 1
LOOSE = {int(Service.RELIABLE), int(Service.FIFO), int(Service.CAUSAL)}


class Lookup:
    """Arrays by number; `find_*` turn what rows carry into numbers."""

    def __init__(
        self,
        facts: Sequence[Facts],
        wanted: Sequence["Wanted"],
        services: Sequence[frozenset[int]],
    ) -> None:
        self.ended = [one.ended for one in facts]
        self.services = services
        """Of each history: those that its messages have."""
        self.loose = [at for at, one in enumerate(services) if one & LOOSE]
        """Histories with messages that need not follow the one order."""
        self._offsets = []
        processes: list[tuple[int, ProcessId]] = [(0, (0, 0, 0))]
        homes, up, stopped, left = [0], [False], [-1], [frozenset[GroupName]()]
        rests: list[tuple[int, ConfigId]] = [(0, NO_CONFIG)]
        for one in facts:
            offset = len(processes)
            self._offsets.append(offset)
            processes += [(one.history, process) for process in one.processes]
            homes += [offset + home for home in one.homes]
            up += one.up
            stopped += one.stopped
            left += one.left
            rests += [(one.history, config) for config in one.rests_in]
        if len(processes) > MASK:
            what = f"there are {len(processes):,} processes; at most {MASK:,} can be verified"
            raise UsageError("history_too_large", what, "choose less with --run")
        self.processes = processes
        self.home = np.array(homes, np.int64)
        self.history = np.array([history for history, _ in processes], np.int64)
        self.up = np.array(up, np.bool_)
        self.stopped = np.array(stopped, np.int64)
        self.left = left
        self._process_hash = _number(processes)
        self._by_process = np.argsort(self._process_hash)
        self._configs(facts)
        self.rests_in = np.array([self.config_of.get(one, NONE) for one in rests], np.int64)
        self._daemon_stays(facts)
        self._views(facts)
        self._session_stays(facts)
        self._wanted(wanted)

    def find_process(self, hashes: Longs) -> Longs:
        """0 for who is not known."""
        return np.maximum(_find(self._process_hash, self._by_process, hashes), 0)

    # Configurations.

    def _configs(self, facts: Sequence[Facts]) -> None:
        self.configs = sorted(
            (one.history, config) for one in facts for config in {*one.configs, NO_CONFIG}
        )
        self.config_of = {config: number for number, config in enumerate(self.configs)}
        self.config_hash = _number(self.configs)
        self._by_config = np.argsort(self.config_hash)
        self.config_members: list[tuple[int, ...]] = [() for _ in self.configs]
        self.stable: dict[int, tuple[int, ...]] = {}
        for one, offset in zip(facts, self._offsets, strict=True):
            for config, members in one.configs.items():
                number = self.config_of[one.history, config]
                self.config_members[number] = tuple(offset + member for member in members)
            for config, inside in one.stable.items():
                number = self.config_of[one.history, config]
                self.stable[number] = tuple(offset + member for member in inside)

        known = {one: number for number, one in enumerate(self.processes)}
        leaders = [
            known.get((history, (one.coordinator, one.incarnation, DAEMON)), 0)
            for history, one in self.configs
        ]
        self.config_leader = np.array(leaders, np.int64)
        """The daemon whose order is taken for the usual one."""
        pairs = [
            number << PROCESS_BITS | member
            for number, members in enumerate(self.config_members)
            for member in members
        ]
        self._config_pairs = np.sort(np.array(pairs, np.int64))

    def in_config(self, config: Longs, process: Longs) -> Flags:
        pairs = (config << PROCESS_BITS) | process
        return (config >= 0) & contains(self._config_pairs, pairs)

    def find_config(self, hashes: Longs) -> Longs:
        return _find(self.config_hash, self._by_config, hashes)

    # A daemon in a configuration.

    def _daemon_stays(self, facts: Sequence[Facts]) -> None:
        stays: list[tuple[int, int, DaemonStay]] = []
        for one, offset in zip(facts, self._offsets, strict=True):
            stays += [(one.history, offset, stay) for stay in one.daemon_stays]
        stays.sort(key=lambda each: (each[1] + each[2].daemon, each[2].begins))
        self.daemon_stay_process = np.array([o + s.daemon for _, o, s in stays], np.int64)
        self._stay_lane, self._stay_tie = _lanes(
            self.daemon_stay_process, [stay.begins for _, _, stay in stays]
        )
        self.stay_config = np.array([self.config_of[h, s.config] for h, _, s in stays], np.int64)
        self.stay_turn = np.array([stay.turns for _, _, stay in stays], np.int64).reshape(-1, 2)
        self.stay_owes = np.array([stay.owes for _, _, stay in stays], np.bool_)
        self.stay_goes_on = np.array([s.following is not None for _, _, s in stays], np.bool_)
        self.comrades = [frozenset(o + one for one in s.comrades) for _, o, s in stays]
        self.stays_of_config: list[list[int]] = [[] for _ in self.configs]
        self.first_stay: dict[tuple[int, int], int] = {}
        for number, config in enumerate(self.stay_config.tolist()):
            self.stays_of_config[config].append(number)
            self.first_stay.setdefault((int(self.daemon_stay_process[number]), config), number)
        keys = [None if s.following is None else (h, s.config, s.following) for h, _, s in stays]
        self.daemon_companies = Companies(keys, self.daemon_stay_process)

    def find_daemon_stay(self, process: Longs, t: Longs, tie: Longs) -> Longs:
        """The stay of each process at a place; NONE for who is no daemon."""
        found = _as_of(self._stay_lane, self._stay_tie, _lane(process, t), tie)
        return np.where(self.daemon_stay_process[found] == process, found, NONE)

    # Views.

    def _views(self, facts: Sequence[Facts]) -> None:
        self.groups = sorted({(h.history, s.group) for h in facts for s in h.session_stays})
        self._group_of = {group: number for number, group in enumerate(self.groups)}
        histories = np.array([history for history, _ in self.groups], np.int64)
        self.group_hash = group_numbers(histories, (name for _, name in self.groups))
        self._by_group = np.argsort(self.group_hash)
        self.views = [(one.history, *place) for one in facts for place in one.views]
        self.view_of = {view: number for number, view in enumerate(self.views)}
        self.view_hash = self._view_hashes()
        self._by_view = np.argsort(self.view_hash)
        self.view_members: list[tuple[int, ...]] = []
        for one, offset in zip(facts, self._offsets, strict=True):
            for members in one.views.values():
                self.view_members.append(tuple(offset + member for member in members))
        pairs = [
            number << PROCESS_BITS | member
            for number, members in enumerate(self.view_members)
            for member in members
        ]
        self._memberships = np.sort(np.array(pairs, np.int64))
        self.view_size = np.array([len(set(one)) for one in self.view_members], np.int64)

    def _view_hashes(self) -> Longs:
        if not self.views:
            return np.empty(0, np.int64)
        history = np.array([one for one, _, _ in self.views])
        group = group_numbers(history, (name for _, name, _ in self.views))
        found = mixed(history, group, hashed([flat(view) for _, _, view in self.views]))
        assert len(distinct(found)) == len(found), "two names have one hash; nobody has seen that"
        return found

    def find_view(self, hashes: Longs) -> Longs:
        return _find(self.view_hash, self._by_view, hashes)

    def find_group(self, hashes: Longs) -> Longs:
        return _find(self.group_hash, self._by_group, hashes)

    def are_members(self, view: Longs, process: Longs) -> Flags:
        """Nobody is a member of an unknown view."""
        pairs = (view << PROCESS_BITS) | process
        return (view >= 0) & contains(self._memberships, pairs)

    # A session in a view.

    def _session_stays(self, facts: Sequence[Facts]) -> None:
        stays: list[tuple[int, int, SessionStay]] = []
        for one, offset in zip(facts, self._offsets, strict=True):
            stays += [(one.history, offset, stay) for stay in one.session_stays]
        group = [self._group_of[history, stay.group] for history, _, stay in stays]
        process = [offset + stay.session for _, offset, stay in stays]
        keys = sorted(
            {(who << PROCESS_BITS) | what for who, what in zip(process, group, strict=True)}
        )
        self._slots = np.array(keys, np.int64)
        slot_of = {key: number for number, key in enumerate(keys)}
        slots = [
            slot_of[who << PROCESS_BITS | what] for who, what in zip(process, group, strict=True)
        ]
        order = sorted(range(len(stays)), key=lambda at: (slots[at], stays[at][2].begins))
        stays = [stays[at] for at in order]
        self.session_stay_process = np.array([process[at] for at in order], np.int64)
        self.session_stay_group = np.array([group[at] for at in order], np.int64)
        slot = np.array([slots[at] for at in order], np.int64)
        self._view_lane, self._view_tie = _lanes(slot, [stay.begins for _, _, stay in stays])
        self._view_slot = slot
        self.session_stay_end = np.array([s.ends for _, _, s in stays], np.int64).reshape(-1, 2)
        self.session_stay_view = np.array(
            [self.view_of[h, s.group, s.view] for h, _, s in stays], np.int64
        )
        self.signalled = np.array([s.signalled for _, _, s in stays], np.int64).reshape(-1, 2)
        self.along = [frozenset(o + one for one in s.along) for _, o, s in stays]
        self.view_stay_owes = np.array([s.owes for _, _, s in stays], np.bool_)
        self.view_stay_goes_on = np.array([s.following is not None for _, _, s in stays], np.bool_)
        self.membership = [(o, s.membership) for _, o, s in stays]
        self.is_last = np.array([s.is_last for _, _, s in stays], np.bool_)
        self.stays_of_view: list[list[int]] = [[] for _ in self.views]
        self.first_view_stay: dict[tuple[int, int], int] = {}
        self.last_view_stay: dict[tuple[int, int], int] = {}
        self.stays_of_slot: dict[tuple[int, int], list[int]] = {}
        for number, view in enumerate(self.session_stay_view.tolist()):
            who = int(self.session_stay_process[number])
            place = (who, int(self.session_stay_group[number]))
            self.stays_of_view[view].append(number)
            self.first_view_stay.setdefault((who, view), number)
            self.stays_of_slot.setdefault(place, []).append(number)
            if self.is_last[number]:
                self.last_view_stay[place] = number
        company_keys = [
            None if s.following is None else (h, s.group, s.view, s.following) for h, _, s in stays
        ]
        self.view_companies = Companies(company_keys, self.session_stay_process)
        self.turned_views = self._turned_views()

    def find_view_stay(self, process: Longs, group: Longs, t: Longs, tie: Longs) -> Longs:
        """The stay of each session in a group at a place; NONE where it is in no view."""
        if not len(self._slots):
            return np.full(len(process), NONE, np.int64)
        keys = (process << PROCESS_BITS) | np.maximum(group, 0)
        slot = np.minimum(np.searchsorted(self._slots, keys), len(self._slots) - 1)
        known = (group >= 0) & (self._slots[slot] == keys)
        found = _as_of(self._view_lane, self._view_tie, _lane(slot, t), tie)
        known &= (found >= 0) & (self._view_slot[found] == slot)
        ends = self.session_stay_end[found]
        known &= (t < ends[:, 0]) | ((t == ends[:, 0]) & (tie <= ends[:, 1]))
        return np.where(known, found, NONE)

    def session_stay_view_or_none(self, stay: Longs) -> Longs:
        """The view of each stay; NONE for no stay."""
        return np.append(self.session_stay_view, NONE)[stay]

    def group_of_view(self, view: int) -> int:
        history, group, _ = self.views[view]
        return self._group_of[history, group]

    # For whom a message is, where it is not for all.

    def _wanted(self, wanted: Sequence["Wanted"]) -> None:
        self._wanted_hash = np.array([one.hash for one in wanted], np.int64)
        self._by_wanted = np.argsort(self._wanted_hash)
        self._wants = np.ones((len(wanted) + 1, len(self.processes)), np.bool_)
        known = {one: number for number, one in enumerate(self.processes)}
        for number, one in enumerate(wanted, 1):
            self._wants[number] = False
            for member in one.members:
                process = known.get((one.history, (*member, DAEMON)))
                if process is not None:
                    self._wants[number, process] = True
        self._counts: dict[tuple[str, int], Longs] = {}

    def find_wanted(self, hashes: Longs) -> Longs:
        """0 is everybody."""
        return _find(self._wanted_hash, self._by_wanted, hashes) + 1

    def wants(self, wanted: int, process: int) -> bool:
        return bool(self._wants[wanted, process])

    def is_wanted(self, wanted: Longs, process: Longs) -> Flags:
        return self._wants[wanted, process]

    def wanted_in_company(self, wanted: Longs, company: Longs) -> Longs:
        """How many stays of each company count for a message."""
        companies = self.daemon_companies
        inside = companies.of >= 0
        pairs = (companies.of[inside], self.daemon_stay_process[inside])
        return self._count("company", *pairs, len(companies.size), wanted, company)

    def wanted_in_config(self, wanted: Longs, config: Longs) -> Longs:
        """How many members of each configuration count; 0 for none."""
        pairs = (self._config_pairs >> PROCESS_BITS, self._config_pairs & MASK)
        return self._count("config", *pairs, len(self.configs) + 1, wanted, config)

    def _count(
        self, name: str, place: Longs, process: Longs, size: int, wanted: Longs, which: Longs
    ) -> Longs:
        """Of places with processes: how many of each place are wanted."""
        found = np.zeros(len(wanted), np.int64)
        for number in distinct(wanted).tolist():
            counts = self._counts.get((name, number))
            if counts is None:
                counts = np.bincount(place[self._wants[number][process]], minlength=size)
                self._counts[name, number] = counts
            chosen = wanted == number
            found[chosen] = counts[which[chosen]]
        return found

    def _turned_views(self) -> frozenset[int]:
        """Views that some sessions install before, some after another view.

        Where all sessions of a group install views in the order of their ids there are none.
        """
        order = sorted(range(len(self.views)), key=lambda view: self.views[view])
        rank = {view: place for place, view in enumerate(order)}
        by_group: dict[int, list[list[int]]] = {}
        for (_, group), stays in self.stays_of_slot.items():
            by_group.setdefault(group, []).append(self.session_stay_view[stays].tolist())
        turned: set[int] = set()
        for sequences in by_group.values():
            ranks = [[rank[view] for view in views] for views in sequences]
            if all(one < other for each in ranks for one, other in pairwise(each)):
                continue
            before = {pair for views in sequences for pair in combinations(views, 2)}
            turned |= {one for one, other in before if (other, one) in before}
        return frozenset(turned)


class Wanted(NamedTuple):
    """A set of daemons that messages were for."""

    hash: int
    history: int
    members: tuple[tuple[int, int], ...]


class Companies:
    """Stays that go from one view directly to the same next one."""

    def __init__(self, keys: Sequence[Any], process: Longs) -> None:
        numbers: dict[Any, int] = {}
        of = [NONE if key is None else numbers.setdefault(key, len(numbers)) for key in keys]
        self.of = np.array(of, np.int64)
        self.stays: list[list[int]] = [[] for _ in numbers]
        for stay, company in enumerate(of):
            if company != NONE:
                self.stays[company].append(stay)
        self.process = process
        self.size = np.array([len(stays) for stays in self.stays], np.int64)
        inside = self.of >= 0
        self._pairs = np.sort(self.of[inside] << PROCESS_BITS | process[inside])

    def has(self, company: Longs, process: Longs) -> Flags:
        return contains(self._pairs, (company << PROCESS_BITS) | process)


def flat(view: ViewId) -> tuple[int, ...]:
    return (*view.config, view.position, view.lineage)


def _number(values: Sequence[tuple[int, tuple[int, ...]]]) -> Longs:
    """Hashes of names with their histories, as rows give them."""
    if not values:
        return np.empty(0, np.int64)
    found = mixed(np.array([one[0] for one in values]), hashed([one[1] for one in values]))
    assert len(distinct(found)) == len(found), "two names have one hash; nobody has seen that"
    return found


def _lane(which: Longs, t: Longs) -> Longs:
    return (which << TIME_BITS) | t


def _lanes(which: Longs, places: Sequence[Place]) -> tuple[Longs, Longs]:
    found = np.array(places, np.int64).reshape(-1, 2)
    return _lane(which, found[:, 0]), found[:, 1]


def _as_of(lanes: Longs, ties: Longs, lane: Longs, tie: Longs) -> Longs:
    """The last of the sorted places that is before each place; −1 if none is."""
    found = np.searchsorted(lanes, lane, side="left")
    while True:
        inside = np.minimum(found, len(lanes) - 1)
        later = (found < len(lanes)) & (lanes[inside] == lane) & (ties[inside] < tie)
        if not later.any():
            return found - 1
        found = found + later


def _find(values: Longs, order: Longs, wanted: Longs) -> Longs:
    """The number of each value; NONE for what is not there."""
    if not len(values):
        return np.full(len(wanted), NONE, np.int64)
    place = np.minimum(np.searchsorted(values, wanted, sorter=order), len(values) - 1)
    found = order[place]
    return np.where(values[found] == wanted, found, NONE)


def contains(values: Longs, wanted: Longs) -> Flags:
    """Which of the wanted are among the sorted values."""
    if not len(values):
        return np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    found: Flags = values[place] == wanted
    return found
