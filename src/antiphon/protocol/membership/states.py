"""What membership is doing, and why it left what it was doing before."""

from enum import StrEnum

from antiphon.core.effects import Trouble
from antiphon.core.ids import NOBODY


class State(StrEnum):
    OPERATIONAL = "operational"
    GATHER = "gather"
    COLLECT = "collect"
    RECOVER = "recover"
    READY = "ready"


class GatherReason(StrEnum):
    """Why a daemon leaves its configuration or an attempt. The first four come from the
    stream (watch.py, lookout.py)."""

    TOKEN_LOSS = "token_loss"
    RECEIVE_FAILURE = "receive_failure"
    BLOCKED_WINDOW = "blocked_window"
    SLOW_SITE = "slow_site"
    LINK_DEAD = "link_dead"
    LEFT_BEHIND = "left_behind"
    ATTEMPT_TIMEOUT = "attempt_timeout"
    MEMBER_LOST = "member_lost"
    EDGE_LOST = "edge_lost"
    NOT_LEADER = "not_leader"


NO_TROUBLE = Trouble("", NOBODY)
