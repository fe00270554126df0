"""What a leader tells other sites of its party."""

import pytest

from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.machine import Timers
from antiphon.protocol.membership.outlook import Outlook
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.wire.control import Greeting, Hello, SiteReport
from antiphon.wire.packet import Envelope

NOW = 10_000_000
ME, OTHER, FAR = (Member(DaemonId(number), Incarnation(1)) for number in (1, 2, 3))
SITES = ((ME.daemon, OTHER.daemon), (FAR.daemon,))


@pytest.mark.parametrize(("heard", "told"), [(8, 0), (9, 9)])
def test_in_an_attempt_only_a_higher_epoch_is_told(heard: int, told: int) -> None:
    """SP-16. A daemon that was cut off and went on alone has an epoch above the attempt in which
    its leader still waits: the next attempt must be above that."""
    outlook = Outlook(ME, MembershipSettings(), Envelope(1, ME), Timers(), SITES, ())
    config = ConfigId(heard, *OTHER, 1)
    both = (ME.daemon, OTHER.daemon)
    hello = Hello(config, ME.daemon, False, "", DaemonId(0), heard, (ME, OTHER), both)
    assert outlook.site.peers.hear(NOW, OTHER, hello) is True
    installed = Configuration(ConfigId(7, *ME, 1), (ME, OTHER))
    attempt = Configuration(ConfigId(8, *ME, 1), (ME, OTHER))
    outlook.look(NOW, installed, "", 8, attempt)
    (mine,) = outlook.federation.component()
    assert mine.epoch == told


@pytest.mark.parametrize(("life", "told"), [(1, 0), (2, 8)])
def test_whoever_coordinates_next_and_takes_no_part_is_told(life: int, told: int) -> None:
    """A coordinator that has restarted knows nothing of the attempt that waits for its old life,
    and would propose something that is not above it (site seed 739)."""
    outlook = Outlook(FAR, MembershipSettings(), Envelope(1, FAR), Timers(), SITES, ())
    installed = Configuration(ConfigId(7, *ME, 1), (FAR,))
    attempt = Configuration(ConfigId(8, *ME, 1), (ME, FAR))
    lead = Member(ME.daemon, Incarnation(life))
    outlook.look(NOW, installed, "", 8, attempt)
    outlook.hear_leader(NOW, lead, Greeting(lead.daemon, 0, ()))
    outlook.hear_leader(
        NOW, lead, SiteReport(lead, 1, ConfigId(1, *lead, 1), 1, (lead,), (), (FAR,))
    )
    assert outlook.federation.component()[0].leader == lead
    outlook.look(NOW + MembershipSettings().report_gap_us, installed, "", 8, attempt)
    (mine,) = [one for one in outlook.federation.component() if one.leader == FAR]
    assert mine.epoch == told


@pytest.mark.parametrize(("far_epoch", "lost"), [(7, None), (8, "member_lost")])
def test_an_attempt_is_lost_when_a_leader_has_installed_something_above_it(
    far_epoch: int, lost: str | None
) -> None:
    """It refuses the proposal for ever, however often that is repeated (site seed 44029)."""
    outlook = Outlook(ME, MembershipSettings(), Envelope(1, ME), Timers(), SITES, ())
    installed = Configuration(ConfigId(7, *ME, 1), (ME,))
    attempt = Configuration(ConfigId(8, *ME, 1), (ME, FAR), ((ME,), (FAR,)), ((0, 1, 1), (1, 0, 1)))
    config = ConfigId(far_epoch, *FAR, 1)
    outlook.look(NOW, installed, "", 8, attempt)
    outlook.hear_leader(NOW, FAR, Greeting(FAR.daemon, 0, ()))
    outlook.hear_leader(NOW, FAR, SiteReport(FAR, 1, config, far_epoch, (FAR,), (), (ME,)))
    outlook.look(NOW + MembershipSettings().report_gap_us, installed, "", 8, attempt)
    assert outlook.lost_of(attempt) == lost
