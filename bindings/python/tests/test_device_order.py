"""Who waits for whom on the way to a card: by cards that are not there and do everything as late as they are allowed to."""

import contextlib
import gc
import unittest
import warnings
import weakref
from unittest import mock

from ridgeline.data import DataLoader
from ridgeline.data import _ahead, _tail, _values

from loader_support import equal, torch
from support import Folder, threads
from test_device import ENDS, laid_out_alike


class Late:
    """An event, and what the card does before it, which it leaves undone until somebody waits."""

    def __init__(self, card, work=()):
        self.card, self.work, self.over = card, list(work), False

    def query(self):
        return self.over

    def synchronize(self):
        while not self.over:  # in the stream's order
            first = self.card.stream.pop(0)
            for work in first.work:
                work()
            first.over = True


class LateCard:
    """A card whose copies are made when somebody has to wait for them. It has the host's memory only as long as others
    keep it.

    reads_late: whether the consumer's stream, too, leaves its work undone, and with it the wait for copies
    """

    def __init__(self, reads_late=False):
        self.device, self.reads_late = torch.device("cuda:0"), reads_late
        self.stream, self.steps, self.log = [], [], []
        self.copied_batches = self.delivered = self.most_steps = self.most_copies = 0

    def copied(self, value):
        event = Late(self)
        made = _ahead._over(value, lambda leaf: self._later(leaf, event))
        self.stream.append(event)
        self.copied_batches += 1
        self.most_copies = max(self.most_copies, len(self.stream))
        self.log.append(("copy", self.copied_batches - 1))
        return made, event

    def _later(self, leaf, event):
        unfinished = isinstance(leaf, _tail.Unfinished)
        tensors = [t for t in (leaf._tensors if unfinished else [leaf]) if t is not None]
        kept = [weakref.ref(t) for t in tensors]
        target = torch.full_like(leaf.finished(lambda t: t) if unfinished else leaf, 77)
        places = [t.data_ptr() for t in tensors]

        def copy():
            there = [ref() for ref in kept]
            assert all(t is not None for t in there), "memory was given back before its copy was over"
            assert [t.data_ptr() for t in there] == places
            flip = [None] if unfinished and len(there) == 1 and len(leaf_tensors) == 2 else []
            target.copy_(end(*there, *flip) if unfinished else there[0])

        end, leaf_tensors = (leaf._end, [None] * len(leaf._tensors)) if unfinished else (None, None)
        del leaf, tensors
        event.work.append(copy)
        return target

    def handed_over(self, value, done):
        if not self.reads_late:
            done.synchronize()
        self.log.append(("use", self.delivered))
        self.delivered += 1
        return value

    def mark(self):
        self.steps = [event for event in self.steps if not event.over]
        event = Step()
        self.steps.append(event)
        self.most_steps = max(self.most_steps, len(self.steps))
        return event


class Step:
    over = False

    def query(self):
        return self.over

    def synchronize(self):
        self.over = True


@contextlib.contextmanager
def card(made):
    """Loaders find this card, and memory that is pinned for it is written down."""
    held = {}

    def is_pinned(tensor):
        return any(a <= tensor.data_ptr() and tensor.data_ptr() + tensor.nbytes <= a + size for a, size in held.items())

    with mock.patch("ridgeline.data._ahead.lane_of", lambda device: made), \
            mock.patch("ridgeline.data._loader.device_of", lambda device: device and made.device), \
            mock.patch("ridgeline.data._loader.page_lock", lambda device: (held.__setitem__, held.pop)), \
            mock.patch.object(torch.Tensor, "is_pinned", is_pinned), \
            mock.patch.object(torch.Tensor, "pin_memory", lambda t: t.clone()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield held


class Order(Folder):
    def loader(self, **options):
        return DataLoader(self.dir, 2, shuffle=True, seed=4, transform=ENDS["v1"], device="cuda", **options)

    def plain(self, **options):
        return DataLoader(self.dir, 2, shuffle=True, seed=4, transform=ENDS["v1"], **options)

    def test_copies_that_come_as_late_as_they_may_give_the_same_batches(self):
        for normalize in (True, False):
            for memory in (0, 40_000, 1 << 20):  # slots that are used again at once, too
                late = LateCard()
                with self.subTest(normalize=normalize, memory=memory), card(late):
                    ours = self.loader(normalize_on_device=normalize, memory_limit=memory)
                    plain = self.plain()
                    for _ in range(2):
                        for (x, y), (a, b) in zip(ours, plain, strict=True):
                            self.assertTrue(torch.equal(x, a) and torch.equal(y, b) and x.stride() == a.stride())
                            del x

    def test_so_they_do_where_the_consumer_reads_them_when_the_epoch_is_over(self):
        for normalize in (True, False):
            for memory in (0, 40_000, 1 << 20):
                late = LateCard(reads_late=True)
                with self.subTest(normalize=normalize, memory=memory), card(late):
                    made = list(self.loader(normalize_on_device=normalize, memory_limit=memory))
                    self.assertEqual(late.stream, [])
                    self.assertTrue(laid_out_alike(made, list(self.plain())))

    def test_two_batches_are_on_their_way_behind_every_one_that_is_used(self):
        late = LateCard()
        with card(late):
            self.assertEqual(len(list(self.loader())), 15)
        for at, (what, number) in enumerate(late.log):
            if what == "use":
                copied = [n for w, n in late.log[:at] if w == "copy"]
                self.assertEqual(copied, list(range(min(15, number + 1 + _ahead.AHEAD))))
        self.assertEqual(late.most_copies, 1 + _ahead.AHEAD)

    def test_the_host_is_two_steps_ahead_at_most(self):
        late = LateCard()
        with card(late):
            for _ in self.loader():
                pass
        self.assertEqual(late.most_steps, 1 + _ahead.AHEAD)

    def test_what_is_under_way_is_waited_for_wherever_an_epoch_ends(self):
        for end in ("break", "exception", "closed", "dropped", "a bad batch", "every epoch"):
            late = LateCard()
            with self.subTest(end), card(late) as held:
                loader = self.loader(persistent_workers=end != "every epoch")
                before = None
                try:
                    for i, (x, y) in enumerate(loader):
                        self.assertGreater(len(held), 0)
                        if i == 3 and end == "exception":
                            raise LookupError
                        if i == 3 and end == "a bad batch":
                            before = late.copied
                            late.copied = mock.Mock(side_effect=RuntimeError("out of memory"))
                        if i == 3 and end == "closed":
                            loader.close()
                        if i == 3 and end in ("break", "closed", "dropped"):
                            break
                except (LookupError, RuntimeError) as error:
                    self.assertIn(end, ("exception", "a bad batch"))
                    if before is not None:
                        self.assertEqual((i, str(error)), (5, "out of memory"))
                        late.copied = before
                self.assertEqual(late.stream, [], "copies are over")
                if end != "dropped":
                    self.assertEqual(len(list(loader)), 15)
                del loader
                gc.collect()
                self.assertEqual(held, {})
                del x, y

    def test_dropped_loaders_leave_no_thread_and_no_pinned_memory(self):
        late = LateCard()
        before = threads()
        with card(late) as held:
            for i in range(50):
                loader = self.loader(num_workers=2)
                for j, _ in enumerate(loader):
                    if j == i % 3:
                        break
                del loader, _
            gc.collect()
            self.assertEqual((held, late.stream), ({}, []))
        self.assertEqual(threads(), before)

    def test_pictures_travel_as_bytes_where_nothing_was_said_and_that_is_said_once(self):
        late, text = LateCard(), "pictures travel to cuda:0 as bytes.*normalize_on_device=False"
        with card(late), mock.patch("ridgeline.data._tail._said", set()):
            with self.assertWarnsRegex(UserWarning, text):
                ours = self.loader()
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                self.loader()
                self.loader(normalize_on_device=False)
            self.assertEqual(told, [])
            sizes = []
            with mock.patch.object(late, "copied", lambda value, made=late.copied: sizes.append(
                    [t.nbytes for t in value[0]._tensors]) or made(value)):
                self.assertTrue(laid_out_alike(list(ours), list(self.plain())))
        self.assertEqual(sizes, [[2 * 24 * 24 * 3, 2]] * 15)

    def test_pictures_lie_in_pinned_memory_and_are_not_copied_on_the_host(self):
        late, pinned = LateCard(), []
        with card(late), mock.patch.object(torch.Tensor, "pin_memory", lambda t: pinned.append(t.dtype) or t.clone()):
            self.assertTrue(self.loader().pin_memory)
            self.assertEqual(len(list(self.loader())), 15)
        self.assertEqual(set(pinned), {torch.int64})  # labels are converted


class FakeCuda:
    """Stands for torch.cuda and writes down what it is asked. A stream is a list."""

    def __init__(self):
        self.log, self.current = [], "the consumer's"

    def Stream(self, device, priority):
        return "copies"

    def stream(self, stream):
        @contextlib.contextmanager
        def inside():
            before, self.current = self.current, stream
            yield
            self.current = before

        return inside()

    def current_stream(self, device):
        cuda, name = self, self.current

        class Current:
            def wait_event(self, event):
                cuda.log.append((name, "waits for", event.number))

        return Current()

    def Event(self, blocking):
        cuda = self

        class Event:
            number = None

            def record(self, stream):
                self.number = sum(1 for what in cuda.log if what[1] == "event")
                cuda.log.append((stream if isinstance(stream, str) else cuda.current, "event", self.number))

            def query(self):
                return False

            def synchronize(self):
                cuda.log.append(("the host", "waits for", self.number))

        return Event()


class Streams(Folder):
    """The card's own code, with a torch.cuda that writes down."""

    def asked(self, loader):
        """(what torch.cuda was asked, batches)"""
        cuda = FakeCuda()

        def to(tensor, where, real=torch.Tensor.to, **options):
            if cuda.current == "copies" and options == {"non_blocking": True}:
                cuda.log.append((cuda.current, "copies", str(tensor.dtype)))
                return real(tensor, "cpu", copy=True)
            return real(tensor, where, **options)

        real = _ahead.Card

        def lane_of(device):
            with mock.patch.object(torch, "cuda", cuda):
                return real(device)

        with mock.patch("ridgeline.data._ahead.lane_of", lane_of), mock.patch.object(torch.Tensor, "to", to), \
                mock.patch.object(torch.Tensor, "record_stream",
                                  lambda tensor, stream: cuda.log.append(("memory", "used by", str(tensor.dtype)))):
            return cuda.log, list(loader)

    def test_every_copy_has_an_event_that_the_consumers_stream_waits_for(self):
        for normalize in (True, False):
            loader = DataLoader(self.dir, 8, transform=ENDS["v1"], device="cpu", normalize_on_device=normalize)
            log, batches = self.asked(loader)
            self.assertTrue(equal(batches, list(DataLoader(self.dir, 8, transform=ENDS["v1"]))))
            copies = [("copies", "copies", "torch." + t) for t in
                      (["uint8", "uint8", "int64"] if normalize else ["float32", "int64"])]
            used = [("memory", "used by", "torch.float32"), ("memory", "used by", "torch.int64")]
            copied = lambda number: [*copies, ("copies", "event", number)]  # noqa: E731
            waits = lambda number: [("the consumer's", "waits for", number), *used]  # noqa: E731
            self.assertEqual(log, [
                *copied(0), *copied(1), *copied(2), *waits(0),
                ("the consumer's", "event", 3),  # behind the first step
                ("the host", "waits for", 0), *copied(4), *waits(1),  # batch 0 is given back when it was copied
                ("the consumer's", "event", 5), ("the host", "waits for", 1), *waits(2),
                ("the consumer's", "event", 6), ("the host", "waits for", 3), *waits(4),  # two steps ahead, not more
                ("the consumer's", "event", 7), ("the host", "waits for", 5),
                ("the host", "waits for", 2), ("the host", "waits for", 4)])

    def test_what_knows_how_it_is_moved_moves_when_it_is_used(self):
        class Held:
            def to(self, device):
                log.append(("a Held", "moves to", str(device)))
                return self

        held, sparse, log = Held(), torch.eye(3).to_sparse(), []
        cuda_log, batches = self.asked(DataLoader([0], 1, device="cpu", collate_fn=lambda samples: (held, sparse, "text")))
        self.assertEqual(log, [("a Held", "moves to", "cpu")])
        self.assertNotIn(("copies", "copies", "torch.float32"), cuda_log)
        self.assertEqual(batches[0][2], "text")
        self.assertTrue(torch.equal(batches[0][1].to_dense(), torch.eye(3)))
        with mock.patch.object(torch.Tensor, "pin_memory", side_effect=RuntimeError), \
                mock.patch.object(torch.Tensor, "is_pinned", lambda tensor: False):
            self.assertIs(_values.pinned(sparse), sparse)


if __name__ == "__main__":
    unittest.main()
