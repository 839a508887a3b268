"""From windows and chunks to candidates."""
