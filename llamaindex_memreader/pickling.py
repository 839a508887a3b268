"""Pickling a component and leaving it whole."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from llama_index.core.schema import BaseComponent


def state_of(component: BaseComponent, getstate: Callable[[], dict[str, Any]], *, needed: str) -> dict[str, Any]:
    """Return what `getstate`, LlamaIndex's own, gives; the component keeps what can't be pickled.

    LlamaIndex leaves out what can't be pickled (a callback that holds a lock), and takes it off the object itself.

    Args:
        needed: A field that must not be left out: the copy would do something else without it.

    Raises:
        PicklingError, TypeError, AttributeError: The needed field can't be pickled.
    """
    pickle.dumps(getattr(component, needed))
    kept = dict(component.__dict__)
    state = getstate()
    state["__dict__"] = dict(state["__dict__"])
    component.__dict__.update(kept)
    return state
