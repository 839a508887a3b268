"""What holds for every test: nothing but this machine is reached."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

import forbid_network

# A busy machine is no bug: no deadline per example.
settings.register_profile("memreader", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("memreader"), max_examples=2000)
settings.load_profile("memreader")
forbid_network.install()
