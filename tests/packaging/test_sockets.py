"""The guard of the tests themselves: loopback works, everything else is refused, here and in child processes."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
import pytest_socket

from forbid_network import NetworkUseError
from offline_run import run_offline

ELSEWHERE = ("192.0.2.1", 9)  # an address reserved for documentation: nobody answers there


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_loopback_connections_work(family: socket.AddressFamily, host: str) -> None:
    try:
        server = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with server:
        echo = threading.Thread(target=lambda: server.accept()[0].close())
        echo.start()
        with socket.create_connection(server.getsockname()[:2], timeout=5) as client:
            assert client.recv(1) == b""
        echo.join(5)


@pytest.mark.filterwarnings("ignore:A test tried to use")
def test_a_connection_elsewhere_is_refused() -> None:
    with socket.socket() as client, pytest.raises((NetworkUseError, pytest_socket.SocketConnectBlockedError)):
        client.connect(ELSEWHERE)


def test_a_connection_elsewhere_that_asks_for_an_error_number_is_refused() -> None:
    with socket.socket() as client, pytest.raises(NetworkUseError):
        client.connect_ex(ELSEWHERE)


def test_a_datagram_elsewhere_is_refused() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender, pytest.raises(NetworkUseError):
        sender.sendto(b"x", ELSEWHERE)


def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(NetworkUseError):
        socket.getaddrinfo("example.org", 443)
    assert socket.getaddrinfo("127.0.0.1", 443)


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)",
        "import urllib.request; urllib.request.urlopen('https://example.org', timeout=1)",
    ],
)
def test_a_child_process_is_guarded_too(code: str, tmp_path: Path) -> None:
    done = run_offline("-c", code, cwd=tmp_path)
    assert done.returncode != 0
    assert "NetworkUseError" in done.stderr
