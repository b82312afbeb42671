"""Which function decodes which opcode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxfp4kernels.emulator.site import Site
from mxfp4kernels.emulator.waves import Waves

if TYPE_CHECKING:
    from mxfp4kernels.emulator.flow import Flow
    from mxfp4kernels.emulator.transfers import Transfer

Execute = Callable[[Waves], None]
Handler = Callable[[Site, str, str], "Execute | Transfer | Flow"]


@dataclass
class Registry:
    """Handlers by opcode without encoding suffix."""

    handlers: dict[str, Handler] = field(default_factory=dict)

    def add(self, *opcodes: str) -> Callable[[Handler], Handler]:
        """Decorator: this handler decodes these opcodes. It gets site, opcode and encoding."""

        def register(handler: Handler) -> Handler:
            for opcode in opcodes:
                if opcode in self.handlers:
                    raise ValueError(f"opcode {opcode} has two handlers")
                self.handlers[opcode] = handler
            return handler

        return register


REGISTRY = Registry()
