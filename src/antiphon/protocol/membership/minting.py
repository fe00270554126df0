"""Ids of configurations at one daemon: each is minted once, and they only rise."""

from antiphon.core.ids import NO_CONFIG, ConfigId, Member

EPOCH_LEAP_MAX = 1 << 32
"""No true epoch is so far ahead of mine, and ids that rise must never come to their end."""


class Minting:
    """Invariant: accepted.epoch <= epoch."""

    def __init__(self, me: Member) -> None:
        self._me = me
        self.accepted: ConfigId = NO_CONFIG
        self.epoch = 0
        """The highest that I know of."""

        self._counter = 0

    def mint(self, heard: int) -> ConfigId:
        """Above all that I know of and have heard of."""
        self.epoch = max(self.epoch, heard) + 1
        self._counter += 1
        return ConfigId(self.epoch, *self._me, self._counter)

    def accept(self, config: ConfigId) -> None:
        assert config > self.accepted, "accepted ids rise"
        self.accepted = config
        self.epoch = max(self.epoch, config.epoch)

    def possible(self, epoch: int) -> bool:
        return epoch <= self.epoch + EPOCH_LEAP_MAX
