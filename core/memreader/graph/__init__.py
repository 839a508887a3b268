"""People, places and things that memories mention: found by rules, told apart, drawn. No store, no clock, no disk."""
