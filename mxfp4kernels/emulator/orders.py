"""Which wave runs first between barriers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Order:
    """Which wave runs first between barriers.

    Attributes:
        wave: the wave that is treated apart, or -1 for none.
        ahead: whether it runs before the others or after them.
    """

    wave: int = -1
    ahead: bool = True

    def __str__(self) -> str:
        if self.wave < 0:
            return "lockstep"
        return f"wave {self.wave} {'ahead' if self.ahead else 'behind'}"


LOCKSTEP = Order()


def orders(waves: int) -> tuple[Order, ...]:
    """Lockstep, and every wave ahead of and behind the others."""
    apart = [Order(wave, ahead) for wave in range(waves) for ahead in (True, False)]
    return (LOCKSTEP, *(apart if waves > 1 else ()))
