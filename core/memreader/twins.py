"""Async twins of blocking methods, in one line each."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def off_loop(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the async twin of a blocking method: same arguments, same result, run in a thread.

    >>> class Clock:
    ...     def tell(self, hour: int) -> str:
    ...         return f"{hour} o'clock"
    ...     atell = off_loop(tell)
    >>> asyncio.run(Clock().atell(3))
    "3 o'clock"
    """

    @functools.wraps(method)
    async def twin(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    twin.__name__ = f"a{method.__name__}"
    twin.__qualname__ = method.__qualname__.replace(method.__name__, twin.__name__)
    twin.__doc__ = f"Async twin of `{method.__name__}`, off the event loop.\n\n    {method.__doc__ or ''}"
    return cast(Callable[Concatenate[S, P], Coroutine[Any, Any, T]], twin)
