"""What holds for every test: nothing but this machine is reached."""

from __future__ import annotations

import forbid_network

forbid_network.install()
