"""What a leader tells other sites of its party."""

import pytest

from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.machine import Timers
from antiphon.protocol.membership.outlook import Outlook
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.wire.control import Hello
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
    outlook.look(NOW, installed, "", 8, busy=True)
    (mine,) = outlook.federation.component()
    assert mine.epoch == told
