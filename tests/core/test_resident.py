"""Indexes in memory: one user's at a time to one user, several users' side by side, and no more than fit."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fake_items import FakeItems, Held, unit
from memreader.stores.resident import Resident
from memreader.stores.user_index import UserIndex

DIMENSION = 64


class Makes:
    """Makes indexes of 200 items, and counts them."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.dropped: list[str] = []
        self.items = FakeItems(DIMENSION)
        self.items.fill(200)

    def __call__(self, user_id: str) -> UserIndex:
        self.made.append(user_id)
        return UserIndex(user_id, DIMENSION)

    @property
    def mb(self) -> float:
        """Size of one of these indexes."""
        index = UserIndex("", DIMENSION)
        index.catch_up(self.items.changes)
        return index.nbytes / 2**20

    def drop(self, index: UserIndex) -> None:
        self.dropped.append(index.user_id)

    def use(self, resident: Resident, *users: str) -> None:
        for user_id in users:
            with resident.index(user_id) as index:
                assert index.user_id == user_id
                index.catch_up(self.items.changes)


@pytest.fixture
def makes() -> Makes:
    return Makes()


def test_the_same_index_comes_again(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100)
    with resident.index("ana") as first:
        pass
    with resident.index("ana") as second:
        assert second is first
    with resident.index("ben") as other:
        assert other is not first
    assert makes.made == resident.users == ["ana", "ben"]


def test_what_was_not_used_for_longest_goes_when_all_is_too_large(makes: Makes) -> None:
    resident = Resident(makes, max_mb=3.5 * makes.mb, on_drop=makes.drop)
    makes.use(resident, "a", "b", "c", "a", "d", "e")
    assert makes.dropped == ["b", "c"]
    assert resident.users == ["a", "d", "e"]
    assert resident.nbytes == 3 * makes.mb * 2**20
    makes.use(resident, "a", "d", "e")
    assert makes.made == ["a", "b", "c", "d", "e"]


def test_it_is_let_go_of_as_few_as_are_needed(makes: Makes) -> None:
    resident = Resident(makes, max_mb=1000)
    makes.use(resident, "a", "b", "c", "d")
    each = resident.nbytes / 4
    resident.max_mb = 3 * each / 2**20
    makes.use(resident, "d")
    assert resident.users == ["b", "c", "d"]
    resident.max_mb = 2.99 * each / 2**20
    makes.use(resident, "d")
    assert resident.users == ["c", "d"]


def test_the_last_used_one_stays_however_large(makes: Makes) -> None:
    resident = Resident(makes, max_mb=0)
    makes.use(resident, "ana")
    assert resident.users == ["ana"]
    assert resident.nbytes > 0
    makes.use(resident, "ana", "ben")
    assert resident.users == ["ben"]
    assert makes.made == ["ana", "ben"]


def test_one_in_use_is_not_let_go(makes: Makes) -> None:
    resident = Resident(makes, max_mb=0, on_drop=makes.drop)
    with resident.index("ana") as index:
        makes.use(resident, "ben", "carl")
        assert makes.dropped == ["ben"]
        index.catch_up(makes.items.changes)
    assert makes.dropped == ["ben", "carl"]
    assert resident.users == ["ana"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_after_an_error_it_is_made_anew(makes: Makes, error: type[BaseException]) -> None:
    resident = Resident(makes, max_mb=100, on_drop=makes.drop)
    makes.use(resident, "ana", "ben")
    with pytest.raises(error), resident.index("ana") as broken:
        raise error
    assert resident.users == ["ben"]
    assert resident.nbytes > 0
    with resident.index("ana") as index:
        assert index is not broken
    assert (makes.made, makes.dropped) == (["ana", "ben", "ana"], [])


def test_an_index_that_can_t_be_made_leaves_nothing(makes: Makes) -> None:
    def make(user_id: str) -> UserIndex:
        raise OSError("no disk")

    resident = Resident(make, max_mb=100)
    with pytest.raises(OSError, match="no disk"), resident.index("ana"):
        pass
    assert (resident.users, resident.nbytes) == ([], 0)


def test_who_waited_for_a_broken_one_gets_another(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100)
    inside = threading.Event()
    got: list[UserIndex] = []

    def wait_for_it() -> None:
        inside.wait(5)
        with resident.index("ana") as index:
            got.append(index)

    waiter = threading.Thread(target=wait_for_it)
    waiter.start()

    def break_it() -> None:
        inside.set()
        until(lambda: resident._slots["ana"].holders == 2)
        raise ValueError

    with pytest.raises(ValueError), resident.index("ana") as broken:
        break_it()
    waiter.join(5)
    assert got
    assert got[0] is not broken
    assert resident.users == ["ana"]


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.001)


def test_different_users_are_served_at_the_same_time_one_user_in_turn(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100)
    both = threading.Barrier(2, timeout=10)

    def use(user_id: str) -> None:
        with resident.index(user_id):
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(use, ["ana", "ben"]))

    inside = Counter[str]()

    def alone(user_id: str) -> None:
        with resident.index(user_id):
            inside[user_id] += 1
            assert inside[user_id] == 1
            time.sleep(0.002)
            inside[user_id] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(alone, ["ana"] * 30))
    assert makes.made.count("ana") == 1


def test_letting_go_keeps_nobody_else_waiting_and_who_comes_for_it_keeps_it(makes: Makes) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def on_drop(index: UserIndex) -> None:
        makes.drop(index)
        begun.set()
        assert may_end.wait(10)

    resident = Resident(makes, max_mb=0, on_drop=on_drop)
    makes.use(resident, "ana")
    with ThreadPoolExecutor(2) as pool:
        dropping = pool.submit(makes.use, resident, "ben")
        assert begun.wait(10)
        resident.max_mb = 100
        makes.use(resident, "carl", "dora")
        coming = pool.submit(makes.use, resident, "ana")
        until(lambda: resident._slots["ana"].holders == 2)
        assert not coming.done()
        may_end.set()
        dropping.result(10)
        coming.result(10)
    assert makes.made.count("ana") == 1
    assert makes.dropped == ["ana"]


def test_an_index_goes_even_if_its_farewell_fails(makes: Makes) -> None:
    def on_drop(index: UserIndex) -> None:
        raise OSError("full disk")

    resident = Resident(makes, max_mb=0, on_drop=on_drop)
    makes.use(resident, "ana")
    with pytest.raises(OSError, match="full disk"):
        makes.use(resident, "ben")
    assert resident.users == ["ben"]


def test_drop_throws_away_quietly_and_clear_says_farewell(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100, on_drop=makes.drop)
    makes.use(resident, "ana", "ben", "carl")
    resident.drop("ana")
    resident.drop("nobody")
    assert (resident.users, makes.dropped) == (["ben", "carl"], [])
    resident.clear()
    assert (resident.users, resident.nbytes, makes.dropped) == ([], 0, ["ben", "carl"])
    makes.use(resident, "ana")
    resident.clear(quietly=True)
    assert (resident.users, resident.nbytes, makes.dropped) == ([], 0, ["ben", "carl"])


def test_clear_waits_for_one_in_use(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100, on_drop=makes.drop)
    with ThreadPoolExecutor(1) as pool:
        with resident.index("ana"):
            clearing = pool.submit(resident.clear)
            until(lambda: resident._slots["ana"].holders == 2)
            assert makes.dropped == []
        clearing.result(10)
    assert (makes.dropped, resident.users) == (["ana"], [])


def test_a_size_is_that_after_the_last_use(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100)
    with resident.index("ana") as index:
        pass
    before = resident.nbytes
    makes.use(resident, "ana")
    assert resident.nbytes == index.nbytes > before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_empty_though_a_thread_of_the_parent_was_at_it(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100)
    inside, may_leave = threading.Event(), threading.Event()
    makes.use(resident, "ben")

    def use() -> None:
        with resident.index("ana") as index:
            index.catch_up(makes.items.changes)
            inside.set()
            may_leave.wait(10)

    with ThreadPoolExecutor(1) as pool:
        using = pool.submit(use)
        assert inside.wait(10)
        with resident.index("dora") as index:
            child = os.fork()
            if not child:
                resident.after_fork()
                good = (resident.users, resident.nbytes) == ([], 0)
                makes.use(resident, "ana", "ben", "dora")
                os._exit(0 if good and resident.users == ["ana", "ben", "dora"] else 1)
            assert ended(child) == 0
            assert index.user_id == "dora"
        may_leave.set()
        using.result(10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_forked_while_the_books_were_being_kept_keeps_its_own(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100)
    with resident._lock:
        child = os.fork()
    if not child:
        resident._lock.acquire()  # as it is for a child of another thread
        resident.after_fork()
        makes.use(resident, "ana")
        os._exit(0 if resident.users == ["ana"] else 1)
    assert ended(child) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_within_a_use_breaks_neither_that_use_nor_the_next(makes: Makes) -> None:
    resident = Resident(makes, max_mb=100)
    with resident.index("ana") as index:
        child = os.fork()
        if not child:
            resident.after_fork()
            with resident.index("ana") as other:
                makes_another = other is not index
    if not child:
        os._exit(0 if makes_another and resident.users == ["ana"] and resident.nbytes == other.nbytes else 1)
    assert ended(child) == 0
    assert resident.users == ["ana"]


def ended(child: int) -> int:
    limit = time.monotonic() + 20
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > limit:
            os.kill(child, 9)
            os.waitpid(child, 0)
            raise AssertionError("the child hangs")
        time.sleep(0.005)
    return found[1]


@pytest.mark.parametrize("rounds", [60, pytest.param(1500, marks=pytest.mark.long)])
def test_many_threads_and_users_never_meet_in_one_index(rounds: int) -> None:
    users = [f"user {number}" for number in range(12)]
    sources = {user: FakeItems(DIMENSION) for user in users}
    locks = {user: threading.Lock() for user in users}
    dropped: list[str] = []

    def on_drop(index: UserIndex) -> None:
        assert locks[index.user_id].locked() or len(index) <= len(sources[index.user_id].held)
        dropped.append(index.user_id)

    resident = Resident(lambda user: UserIndex(user, DIMENSION), max_mb=0.02, on_drop=on_drop)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(rounds):
            user = chance.choice(users)
            kind = chance.random()
            if kind < 0.02:
                resident.clear()
            elif kind < 0.05:
                resident.drop(user)
            elif kind < 0.1:
                with pytest.raises(ZeroDivisionError), resident.index(user):
                    raise ZeroDivisionError
            else:
                look(user, chance)

    def look(user: str, chance: random.Random) -> None:
        source = sources[user]
        with locks[user]:
            for _ in range(chance.randint(0, 9)):
                source.put(Held(unit(chance.randint(0, 99), DIMENSION), {hash(user): 1}))
            if source.held and chance.random() < 0.5:
                source.delete(chance.choice(list(source.held)))
            if len(source.held) > 40:
                source.delete(*list(source.held)[:30])
            if len(source.gone) > 200:
                source.erase()
            with resident.index(user) as index:
                assert index.user_id == user
                index.catch_up(source.changes)
                assert len(index) == len(source.held)
                found = index.search(
                    unit(1, DIMENSION), {hash(user): 1.0}, session_id=None, agent_id=None, isolate=False
                )
                assert found.keys.tolist() == [key for _, key in sorted((s, k) for k, (s, _) in source.held.items())]
                assert (found.coverage == 1).all()

    with ThreadPoolExecutor(20) as pool:
        for done in [pool.submit(work, seed) for seed in range(20)]:
            done.result(300)
    assert dropped
    assert all(not slot.holders and slot.whole for slot in resident._slots.values())
    assert resident.nbytes == sum(slot.index.nbytes for slot in resident._slots.values())
    resident.clear(quietly=True)
    assert (resident.nbytes, resident.users) == (0, [])


def test_an_index_in_memory_is_had_in_microseconds(makes: Makes) -> None:
    resident = Resident(makes, max_mb=1000)
    for number in range(2000):
        with resident.index(f"user {number}"):
            pass
    start = time.process_time()
    for number in range(2000):
        with resident.index(f"user {number}"):
            pass
    assert time.process_time() - start < 2000 * 100e-6
    assert np.isfinite(resident.nbytes)
