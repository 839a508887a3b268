"""Forbids every socket operation that would leave this machine: connections, datagrams and name look-ups.

pytest-socket guards `socket.connect` within the tests' own process. An audit hook also sees `connect_ex`, datagrams and
look-ups, and works in a child process, which gets it through `sitecustomize.py` (see `offline_run.py`).
"""

from __future__ import annotations

import ipaddress
import sys

EVENTS_WITH_ADDRESS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
EVENTS_WITH_HOST = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})


class NetworkUseError(RuntimeError):
    """The code under test tried to leave this machine. Not an OSError: a handler for "offline" must not swallow it."""

    def __init__(self, event: str, host: str) -> None:
        super().__init__(f"{event} of {host!r}: tests and examples run without a network")


def is_local(host: object) -> bool:
    """Tell whether `host` is a loopback name or address, or names no host at all.

    >>> [is_local(host) for host in ("127.0.0.1", "::1", "localhost", b"localhost", None, "")]
    [True, True, True, True, True, True]
    >>> [is_local(host) for host in ("example.org", "8.8.8.8", "0.0.0.0", "127.0.0.1.example.org")]
    [False, False, False, False]
    """
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str):
        return True
    if host in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def watch(event: str, args: tuple[object, ...]) -> None:
    """Raise `NetworkUseError` when an audited operation names a host elsewhere. A Unix socket's path is no host."""
    if event in EVENTS_WITH_ADDRESS:
        address = args[1]
        host = address[0] if isinstance(address, tuple) and address else None
    elif event in EVENTS_WITH_HOST:
        host = args[0]
    else:
        return
    if not is_local(host):
        raise NetworkUseError(event, str(host))


def install() -> None:
    """Watch this process from now on; an audit hook can't be taken off again."""
    sys.addaudithook(watch)
