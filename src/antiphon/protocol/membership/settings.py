"""What membership may be told to do differently."""

from dataclasses import dataclass

from antiphon.core.errors import ConfigError
from antiphon.core.machine import MILLISECOND, SECOND


@dataclass(frozen=True, slots=True)
class MembershipSettings:
    hello_us: int = 40 * MILLISECOND
    """Between Hellos while something is going on."""

    hello_slow_us: int = 200 * MILLISECOND
    """Between Hellos of the leader of a quiet configuration: finds strangers."""

    hello_gap_us: int = 5 * MILLISECOND
    """A change is told at once, but never faster than this."""

    look_gap_us: int = 2 * MILLISECOND
    """All of a site say Hello at the same time, and each Hello may change who goes with whom:
    it is worked out at once, but never faster than this."""

    hear_us: int = 650 * MILLISECOND
    """A stranger not heard for so long is gone. Three slow Hellos."""

    hear_alert_us: int = 200 * MILLISECOND
    """The same while I am in trouble or in an attempt, when all greet quickly: five Hellos."""

    settle_us: int = 90 * MILLISECOND
    """A wish must stand so long before it is proposed: two Hellos."""

    calm_us: int = 1 * SECOND
    """Nothing new for so long: strangers I cannot join are greeted slowly again."""

    repeat_us: int = 30 * MILLISECOND
    """Each side of an attempt repeats its last message."""

    attempt_us: int = 500 * MILLISECOND
    """An attempt without any progress for so long has failed."""

    greet_us: int = 150 * MILLISECOND
    """Between Greetings of leaders that know of each other."""

    greet_slow_us: int = 1 * SECOND
    """Between Greetings to daemons of sites from which nobody is heard, some at a time."""

    hear_far_us: int = 1 * SECOND
    """A leader not heard for so long is out of reach. Six Greetings and the way."""

    report_gap_us: int = 20 * MILLISECOND
    """What is new in a party is told at once, but never faster than this."""

    report_life_us: int = 2_500 * MILLISECOND
    """So long the report of a leader that nobody reaches any more is kept."""

    settle_far_us: int = 400 * MILLISECOND
    """As settle_us, when segments or their edges change: two round trips."""

    repeat_far_us: int = 250 * MILLISECOND
    """As repeat_us, between leaders: a round trip and a little more."""

    attempt_far_us: int = 2_500 * MILLISECOND
    """As attempt_us, in an attempt of several segments."""

    penalty_us: int = 500 * MILLISECOND
    """First exclusion of a member that cannot take part; doubles."""

    penalty_us_max: int = 30 * SECOND
    peace_us: int = 60 * SECOND
    """A penalty is halved for each such time without another."""

    strikes_max: int = 2
    """So many failed attempts because of one member bring a penalty."""

    measured_weights: bool = False
    """Where no weight is set by hand, ways between sites cost what leaders measure (SP-44)."""

    def __post_init__(self) -> None:
        if self.hear_us < 3 * self.hello_slow_us:
            raise ConfigError("hear_us", "is less than three slow Hellos", "raise it")
        if not 4 * self.hello_us <= self.hear_alert_us <= self.hear_us:
            raise ConfigError("hear_alert_us", "is not four Hellos to hear_us", "change it")
        if self.settle_us < 2 * self.hello_us:
            raise ConfigError("settle_us", "is less than two Hellos", "raise it")
        if self.attempt_us < 4 * self.repeat_us:
            raise ConfigError("attempt_us", "leaves no time for four repeats", "raise it")
        if self.hear_far_us < 5 * self.greet_us:
            raise ConfigError("hear_far_us", "is less than five Greetings", "raise it")
        if self.report_life_us < 2 * self.hear_far_us:
            raise ConfigError("report_life_us", "is less than twice hear_far_us", "raise it")
        if not self.settle_us <= self.settle_far_us < self.attempt_far_us:
            raise ConfigError(
                "settle_far_us", "is not between settle_us and attempt_far_us", "change it"
            )
        if self.attempt_far_us < max(4 * self.repeat_far_us, self.attempt_us):
            raise ConfigError(
                "attempt_far_us", "is less than four repeats, or than attempt_us", "raise it"
            )
