"""Connections for reading, kept for the next to read."""

from __future__ import annotations

import sqlite3
import threading

from memreader.stores.connecting import Connector


class Readers:
    """Lends connections, each to one reader at a time. There are as many as ever read at once."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._guard = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    def lend(self) -> sqlite3.Connection:
        """Return a connection that nobody else has, a new one if need be."""
        with self._guard:
            connection = self._idle.pop() if self._idle else None
        return connection if connection is not None else self._connector.connect()

    def take_back(self, connection: sqlite3.Connection, *, whole: bool) -> None:
        """Keep a connection, or close it.

        Args:
            whole: No error came up. After one a query may be left half read, and would keep the log from being emptied.
        """
        with self._guard:
            keep = whole and not self._closed
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def close_idle(self) -> None:
        """Close those that are not lent."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close those that are not lent, and from now on each that is given back."""
        self._closed = True
        self.close_idle()
