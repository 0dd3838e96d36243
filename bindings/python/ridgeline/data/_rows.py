"""Epochs of batches that Python code makes: which indices, by which process, in which order they are delivered."""

from __future__ import annotations

import collections
import json
import os
import time

from .._core import ArgumentError, RunError
from ._made import CollateError, Generators, Maker
from ._run import Opened, following
from ._workers import Pool, raised_by


TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import *  # noqa: F403


class GraphOrder(Opened):
    """Indices in an order of the engine: its shuffles, samplers and ranks, with its states."""

    def __init__(self, graph, alone, seed):
        super().__init__(graph, dict(epochs=-1, pull=True, seed=seed))  # without threads: it only counts
        self._alone = alone

    def batches(self, epoch, delivered):
        """(indices, the state after them) to the end of the epoch."""
        iterator = self.opened()
        while True:
            batch = following(iterator)
            indices = batch["index"].tolist()
            yield (indices[0] if self._alone else indices), batch.state_after()
            if batch.last_of_epoch:
                return


class OwnOrder:
    """Indices that a sampler of the user's own gives, or its batches of them; or a stream, which has none.

    A position is the number of batches that were delivered. Whether the same ones come again is the sampler's, or the
    stream's, own matter.
    """

    def __init__(self, kind, seed, sampler: Any = None, batch_size=None, drop_last=False, length=None, usual_seed=0):
        self._kind, self._sampler, self._batch_size, self._drop_last = kind, sampler, batch_size, drop_last
        self._length, self._seed = length, seed
        self._state = {"schema": "ridgeline.order", "version": 1, "order": kind, "epoch": 0, "delivered": 0,
                       "seed": usual_seed if seed is None else seed, "batch_size": batch_size}

    def __len__(self):
        if self._length is not None:
            return self._length()
        count = len(self._sampler)
        if self._kind != "sampler" or self._batch_size is None:
            return count
        return count // self._batch_size if self._drop_last else -(-count // self._batch_size)

    def go_to(self, state):
        if state is not None:
            for key in ("schema", "version", "order"):
                if state.get(key) != self._state[key]:
                    raise ArgumentError(f"the state belongs to another loader: its {key} is {state.get(key)!r}, this "
                                        f"loader's {self._state[key]!r}")
            saved = state.get("batch_size", self._batch_size)  # one that was saved without it is trusted
            if saved != self._batch_size:
                raise ArgumentError(f"the state counts batches of {saved}, this loader's have {self._batch_size}: give it "
                                    f"batch_size={saved}")
            if self._seed is not None and state["seed"] != self._seed:
                raise ArgumentError(f"the state has the seed {state['seed']}, this loader was given {self._seed}")
            if state["epoch"] != self._state["epoch"] and hasattr(self._sampler, "set_epoch"):
                self._sampler.set_epoch(state["epoch"])
            self._state = {**state, "batch_size": self._batch_size}
        return dict(self._state)

    def forget(self):
        pass

    def batches(self, epoch, delivered):
        given = [] if self._kind == "stream" else iter(self._sampler)
        if self._kind == "sampler" and self._batch_size is not None:
            given = _in_batches(given, self._batch_size, self._drop_last)
        elif self._kind == "batch_sampler":
            given = (list(indices) for indices in given)
        number, before = 0, None
        for indices in given:  # one ahead, so that the last one is known
            if before is not None and number > delivered:
                yield before, self.after(epoch, number - 1)
            before = indices
            number += 1
        if before is not None and number > delivered:
            yield before, self.next_epoch(epoch)

    def after(self, epoch, number):
        return {**self._state, "epoch": epoch, "delivered": number + 1}

    def next_epoch(self, epoch):
        return {**self._state, "epoch": epoch + 1, "delivered": 0}

    def close(self):
        pass


def _in_batches(indices, size, drop_last):
    batch = []
    for index in indices:
        batch.append(index)
        if len(batch) == size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


class Account:
    """The bad samples of a run, counted in the order of delivery."""

    def __init__(self, budget, quarantine):
        self.count, self._budget, self._quarantine = 0, budget, os.fspath(quarantine)

    def add(self, found, epoch, batch):
        for bad in found:
            self.count += 1
            if self._quarantine:
                with open(self._quarantine, "a", encoding="utf-8") as file:
                    line = {"epoch": epoch, "batch": batch, "origin": bad.name, "reason": bad.text}
                    file.write(json.dumps(line) + "\n")
            if self.count > self._budget:
                raise RunError(f"more than {self._budget} bad samples, the last one: {bad.name}: {bad.text}")


class Rows:
    """What a DataLoader runs where Python code makes the batches: by whom, and in which order."""

    def __init__(self, order, by, account):
        self._order, self._by, self._account = order, by, account
        self.graph = getattr(order, "graph", None)

    def __len__(self):
        return len(self._order)

    def go_to(self, state):
        return self._order.go_to(state)

    def forget(self):
        """In a process that was forked: what runs is the other one's."""
        self._order.forget()
        self._by.forget()

    def batches(self, state, timeout):
        """(value, the state after it, whether it is known to be the epoch's last)."""
        epoch, delivered = state["epoch"], state["delivered"]
        for value, bad, after in self._by.epoch(self._order, (state["seed"], epoch), delivered, timeout):
            self._account.add(bad, epoch, after["delivered"])
            yield value, after, after["epoch"] != epoch
            del value

    def stats(self):
        return {}

    def bad_samples(self):
        return self._account.count

    def close(self):
        self._order.close()
        self._by.close()


class Here:
    """Batches made by the thread that asks for them."""

    def __init__(self, recipe, turns):
        self._maker = Maker(recipe, turns)

    def epoch(self, order, epoch, delivered, timeout):
        """(value, bad samples, state after it) of the rest of the epoch, which is (seed, epoch)."""
        self._maker.begin()
        if self._maker.recipe.streams:
            number, ended = 0, False
            while not ended:
                value, bad, ended = self._made(epoch, number, None)
                if value is None:
                    return
                if number >= delivered:
                    yield value, bad, order.after(epoch[1], number)
                number += 1
            return
        for number, (indices, state) in enumerate(order.batches(epoch[1], delivered), delivered):
            value, bad, _ = self._made(epoch, number, indices)
            yield value, bad, state

    def _made(self, epoch, number, indices):
        try:
            with Generators():
                return self._maker.batch(epoch, number, indices)
        except CollateError as error:
            raise error.cause

    def close(self):
        self._maker.begin()

    forget = close


class Processes:
    """Batches made by worker processes, delivered in order."""

    def __init__(self, recipe, turns, count, prefetch, context, init):
        self._recipe, self._turns, self._count, self._prefetch = recipe, turns, count, prefetch
        self._context, self._init = context, init
        self.pool = None

    def close(self):
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    def forget(self):
        self.pool = None

    def epoch(self, order, epoch, delivered, timeout):
        """(value, bad samples, state after it) of the rest of the epoch, which is (seed, epoch)."""
        if self.pool is None:
            self.pool = Pool(self._recipe, self._count, self._context, self._init, self._turns)
        self.pool.begin()
        run = _streams if self._recipe.streams else _by_index
        try:
            yield from run(self.pool, self._prefetch, order, epoch, delivered, timeout)
        except RunError:
            self.close()  # a process may be gone
            raise


def _wait(pool, arrived, until):
    """Takes what comes, at least one batch."""
    while True:
        for worker, number, kind, content in (came := pool.wait(None if until is None else max(0, until - time.monotonic()))):
            arrived[number] = worker, kind, content
        if came:
            return
        if until is not None and time.monotonic() >= until:
            raise TimeoutError


def _arrival(pool, arrived, number, timeout):
    until = time.monotonic() + timeout if timeout else None
    while number not in arrived:
        try:
            _wait(pool, arrived, until)
        except TimeoutError:
            raise RunError(f"no batch came within timeout={timeout} seconds") from None
    worker, kind, content = arrived.pop(number)
    if kind == "failed":
        raise raised_by(content[0])
    return worker, kind, content


def _by_index(pool, prefetch, order, epoch, delivered, timeout):
    tasks = enumerate(order.batches(epoch[1], delivered), delivered)
    states, arrived, given_to = collections.deque(), {}, {}

    def hand_out():
        """Tasks for all who have fewer than `prefetch`, batches that are not delivered among them."""
        while len(states) < prefetch * pool.count:
            task = next(tasks, None)
            if task is None:
                return
            number, (indices, state) = task
            worker = min(range(pool.count), key=pool.outstanding)
            if not states and not pool.schema_known:
                pool.let_find_schema(worker)
            states.append((number, state))
            given_to[number] = worker
            pool.give(worker, epoch, number, indices)

    hand_out()
    while states:
        number, state = states[0]
        _, _, (value, bad, _, _) = _arrival(pool, arrived, number, timeout)
        states.popleft()
        given_to.pop(number)
        if states and not pool.schema_known:  # that batch had no sample to make it
            pool.let_find_schema(given_to[states[0][0]])
        hand_out()
        yield value, bad, state
        del value


def _streams(pool, prefetch, order, epoch, delivered, timeout):
    """Workers take turns, as in PyTorch: one whose stream has ended is skipped from then on."""
    streams = [_Stream(worker) for worker in range(pool.count)]
    arrived = {}
    turns = collections.deque(streams)
    made = handed = 0

    def hand_out(stream):
        nonlocal handed
        stream.numbers.append(handed)
        pool.give(stream.worker, epoch, handed, None)
        handed += 1

    if not pool.schema_known:
        pool.let_find_schema(0)
    for _ in range(prefetch):
        for stream in streams:
            hand_out(stream)
    while turns:
        stream = turns[0]
        _, kind, (value, bad, ended, _) = _arrival(pool, arrived, stream.numbers.popleft(), timeout)
        if ended:
            turns.popleft()
        else:
            turns.rotate(-1)
            hand_out(stream)
        if turns and not pool.schema_known:
            pool.let_find_schema(turns[0].worker)
        if kind == "ended":
            continue
        made += 1
        if made > delivered:
            yield value, bad, order.after(epoch[1], made - 1)
        del value


class _Stream:
    def __init__(self, worker):
        self.worker = worker
        self.numbers = collections.deque()  # those that are on their way
