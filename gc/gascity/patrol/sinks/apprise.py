"""What apprise knows: mail, chats, telephones, a hundred services, each with an address.

An optional extra, imported when the first notice is sent. The addresses are asked side by side, so
that one that hangs does not keep a notice from the others; a failure names them by their schemes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from gascity.core.alerts import Severity
from gascity.patrol.notice import Notice, NoticeKind, SinkFailed
from gascity.patrol.sinks.bounded import Bounded

INSTALL = "`pip install '.[alerts]'` in the folder of gc's source brings it"
_TYPES = {Severity.INFO: "info", Severity.WARNING: "warning", Severity.CRITICAL: "failure"}


@dataclass(frozen=True)
class Apprise:
    """The way through apprise. `variable` names one with more addresses, with blanks between."""

    addresses: tuple[str, ...] = field(repr=False)
    variable: str
    environ: Mapping[str, str] = field(repr=False)
    timeout: float
    bounded: Bounded = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounded", Bounded(self.timeout))

    @property
    def name(self) -> str:
        """What it is called."""
        return "apprise"

    def send(self, notice: Notice) -> None:
        """Hand the notice to every address. Raises SinkFailed when one did not take it."""
        addresses = self._addresses()
        _need_it()
        calls = {
            f"{number} ({address.partition('://')[0]})": partial(_hand_over, address, notice)
            for number, address in enumerate(addresses, 1)
        }
        failed = self.bounded.run(calls)
        if failed:
            why = "; ".join(f"address {name} {one.message}" for name, one in failed.items())
            raise SinkFailed(why)

    def close(self) -> None:
        """Let it be: what is under way ends with the process."""

    def _addresses(self) -> list[str]:
        if not self.variable:
            return list(self.addresses)
        found = self.environ.get(self.variable, "").split()
        if not found:
            raise SinkFailed(f"the variable {self.variable} is not set where the controller runs")
        return [*self.addresses, *found]


def _need_it() -> None:
    """Import the library, an optional extra that takes a fifth of a second."""
    try:
        import apprise  # noqa: F401, PLC0415
    except ImportError as problem:
        raise SinkFailed(f"it is not installed; {INSTALL}", hint=INSTALL) from problem
    logging.getLogger("apprise").disabled = True  # it tells addresses


def _hand_over(address: str, notice: Notice) -> None:
    """Hand one notice to one address, in this thread. Raises SinkFailed."""
    import apprise  # noqa: PLC0415  see above

    asset = apprise.AppriseAsset(app_id="gc", app_desc="Gas City", async_mode=False)
    sender = apprise.Apprise(asset=asset)
    if not sender.add(address):
        raise SinkFailed("is none that apprise knows")
    over = notice.kind is NoticeKind.RESOLVED
    taken = sender.notify(
        body=_text(notice),
        title=_clean(notice.title),
        notify_type="success" if over else _TYPES[notice.severity],
        body_format="text",  # else a service would take marks on a screen for its own
    )
    if not taken:
        raise SinkFailed("did not take it")


def _text(notice: Notice) -> str:
    return _clean(f"{notice.text}\n\n{notice.screen}" if notice.screen else notice.text)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
