"""Python imports this at the start of a process that has this folder on its path."""

import forbid_network

forbid_network.install()
