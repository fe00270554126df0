"""Rows of a message together, whoever wrote them.

It is judged what needs no order of deliveries, and each event gets the place that its message
should have in the order.
"""

import numpy as np

from antiphon.pipeline.verify.batches import TAG_BITS, Sink, Tag
from antiphon.pipeline.verify.histories import TIME_BITS
from antiphon.pipeline.verify.holding import judge_holding
from antiphon.pipeline.verify.integrity import again, judge_integrity
from antiphon.pipeline.verify.lookup import Lookup, contains
from antiphon.pipeline.verify.mail import LEAD, OWN, PAIR, TRANSITIONAL, Mail, Rows
from antiphon.pipeline.verify.names import Flags, Longs, distinct
from antiphon.pipeline.verify.synchrony import judge_synchrony

SERVICE = TAG_BITS
"""Where in the tag of an event its message's service stands, four bits, 15 for unknown."""

ROW_SERVICE = TAG_BITS + 4
IS_SEND = 1 << (TAG_BITS + 8)
"""It sends, or else it receives."""

IS_TRANSITIONAL = 1 << (TAG_BITS + 9)
"""Delivered in the transitional part at this daemon, or at the daemon of this session."""

IS_HAND = 1 << (TAG_BITS + 11)
"""At a session; its stay is one in a view."""

IS_OPEN = 1 << (TAG_BITS + 12)
"""Its message went to a group of which its sender is no member."""

IS_EXTRA = 1 << (TAG_BITS + 10)
"""Another group of a hand that has a row of its own; or a second time."""


def judge_messages(rows: dict[str, Longs], look: Lookup) -> Sink:
    """What is wrong with these messages, and their events."""
    mail, sink = Mail(rows, look), Sink()
    judge_integrity(mail, sink)
    judge_synchrony(mail, sink)
    judge_holding(mail, sink)
    _send_on(mail, sink)
    unknown = (mail.origin == 0).any() or any(
        (each.process == 0).any() for each in (mail.submits, mail.sends, mail.delivers, mail.hands)
    )
    if unknown:
        sink.add(Tag.UNKNOWN)
    return sink


def _send_on(mail: Mail, sink: Sink) -> None:
    everything = np.ones(len(mail.delivers.at), np.bool_)
    twice = again(mail.delivers, everything)
    flags = np.where(twice, IS_EXTRA, 0)
    flags |= np.where(mail.delivers.has(TRANSITIONAL), IS_TRANSITIONAL, 0)
    _add(mail, mail.delivers, everything, mail.deliver_stay, flags, sink)
    lead = mail.hands.has(LEAD)
    flags = np.where(~lead | again(mail.hands, lead), IS_EXTRA, 0)
    flags |= np.where(_late_at_home(mail), IS_TRANSITIONAL, 0) | IS_HAND
    stay = np.where(mail.is_home, mail.hand_stay, -1)
    _add(mail, mail.hands, lead | mail.is_home, stay, flags, sink)
    for rows, chosen in (
        (mail.submits, np.ones(len(mail.submits.at), np.bool_)),
        (mail.sends, mail.sends.has(OWN)),
    ):
        nowhere = np.full(len(rows.at), -1)
        _add(mail, rows, chosen, nowhere, np.full(len(rows.at), IS_SEND), sink)


def _add(mail: Mail, rows: Rows, chosen: Flags, stay: Longs, flags: Longs, sink: Sink) -> None:
    at = rows.at[chosen]
    service = (mail.service[at] & 15) << SERVICE
    open_sent = np.where(mail.is_open[at], IS_OPEN, 0)
    tag = Tag.EVENT | flags[chosen] | service | open_sent | (rows.service[chosen] << ROW_SERVICE)
    sink.add(
        tag,
        lane=rows.process[chosen] << TIME_BITS | rows.t[chosen],
        tie=rows.tie[chosen],
        key=mail.key[at],
        k1=mail.k1[at],
        k2=mail.k2[at],
        stay=stay[chosen],
        config=mail.send_config[at],
    )


def _late_at_home(mail: Mail) -> Flags:
    """Whether the daemon of a session delivered the message in a transitional part."""
    rows = mail.delivers
    late = distinct(rows.pairs[rows.has(TRANSITIONAL)])
    hands = mail.hands
    return contains(late, hands.at << PAIR | mail.look.home[hands.process])
