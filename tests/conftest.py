"""What holds for every test: nothing but this machine is reached."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

import forbid_network

# A busy machine is no bug: no deadline per example.
settings.register_profile("memreader", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("memreader"), max_examples=2000)
settings.load_profile("memreader")
forbid_network.install()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts this in the background has Ctrl-C ignored, in all child processes, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
