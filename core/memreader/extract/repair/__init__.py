"""JSON that isn't quite: what a model meant, by a linear, non-recursive, string-aware reading. Only `reply` uses it."""
