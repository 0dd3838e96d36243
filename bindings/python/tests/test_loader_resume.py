"""A DataLoader goes on where another stopped: other ranks and workers, killed processes, the examples."""

import json
import pathlib
import tempfile
import threading
import unittest

from ridgeline.data import DataLoader

from loader_support import RANDOM, equal, torch, torchvision
from support import PACK, Folder, run_python


class Resuming(Folder):
    def loader(self, ranks=1, rank=0, **options):
        return DataLoader(self.dir, 8 // ranks, shuffle=True, transform=RANDOM, rank=rank, world_size=ranks, **options)

    def test_a_state_goes_on_under_other_ranks_and_workers(self):
        whole = self.loader()
        it = iter(whole)
        next(it)
        state = json.loads(json.dumps(whole.state_dict()))
        rest = list(it) + list(whole)
        self.assertEqual(len(rest), 7)
        for ranks in (1, 2, 4):
            parts = []
            for rank in range(ranks):
                loader = self.loader(ranks, rank, num_workers=rank + 1)
                loader.load_state_dict(state)
                self.assertEqual(loader.state_dict(), state)
                parts.append(list(loader) + list(loader))
            for step, (x, y) in enumerate(rest):
                mine = [(float(a.sum()), int(b)) for p in parts for a, b in zip(*p[step])]
                self.assertEqual(sorted(mine), sorted((float(a.sum()), int(b)) for a, b in zip(x, y)))

    def test_a_state_goes_on_beside_other_loaders_of_such_data(self):
        class Files:
            """Samples with their pictures encoded."""

            def __init__(self, samples):
                self.samples = samples

            def __len__(self):
                return len(self.samples)

            def __getitem__(self, index):
                path, label = self.samples[index]
                return pathlib.Path(path).read_bytes(), label

        folder = torchvision.datasets.ImageFolder(self.dir, RANDOM)
        for made in (lambda: DataLoader(torch.utils.data.Subset(folder, range(20)), 4, shuffle=True, seed=1),
                     lambda: DataLoader(Files(folder.samples[:20]), 4, shuffle=True, seed=1, transform=RANDOM)):
            before, first = made(), made()
            it = iter(first)
            next(it)
            state = json.loads(json.dumps(first.state_dict()))
            for loader in (before, made()):
                loader.load_state_dict(state)
                self.assertEqual(loader.state_dict(), state)
            self.assertTrue(equal(list(before), list(it)))

    def test_a_killed_process_goes_on(self):
        code = ("import sys, os, json, signal\nfrom torchvision import transforms as t\n"
                "from ridgeline.data import DataLoader\n"
                "loader = DataLoader(sys.argv[1], 4, shuffle=True, rank=1, world_size=2, transform=t.Compose("
                "[t.RandomResizedCrop(24), t.RandomHorizontalFlip(), t.ToTensor()]))\n"
                "for i, _ in enumerate(loader):\n"
                "    if i == 2:\n        print(json.dumps(loader.state_dict()), flush=True)\n"
                "        os.kill(os.getpid(), signal.SIGKILL)")
        done = run_python(code, self.dir, timeout=120)
        state = json.loads(done.stdout)
        loader = self.loader()
        expected = list(loader)[3:]
        again = self.loader()
        again.load_state_dict(state)
        self.assertTrue(equal(list(again), expected))

    def test_set_epoch_of_a_distributed_sampler_is_followed(self):
        from torch.utils.data.distributed import DistributedSampler

        folder = torchvision.datasets.ImageFolder(self.dir, RANDOM)
        samplers = [DistributedSampler(folder, num_replicas=2, rank=r, shuffle=True, seed=3) for r in range(2)]
        loaders = [DataLoader(folder, 5, sampler=s) for s in samplers]
        labels = {}
        for epoch in (0, 1, 5):
            for s in samplers:
                s.set_epoch(epoch)
            parts = [list(loader) for loader in loaders]
            labels[epoch] = [y for part in parts for _, ys in part for y in ys.tolist()]
            self.assertEqual(sorted(labels[epoch]), folder.targets)
            self.assertEqual([len(p) for p in parts], [3, 3])
        self.assertNotEqual(labels[0], labels[1])
        # A restored position in the middle of an epoch survives set_epoch of that epoch.
        it = iter(loaders[0])
        next(it)
        state = loaders[0].state_dict()
        rest = list(it)
        other = DataLoader(folder, 5, sampler=samplers[0])
        other.load_state_dict(state)
        other.set_epoch(state["epoch"])
        self.assertTrue(equal(list(other), rest))

    def test_ranks_of_torch_distributed(self):
        code = ("import sys, torch.distributed as dist\nfrom torchvision import transforms as t\n"
                "from ridgeline.data import DataLoader\n"
                "dist.init_process_group('gloo', init_method='file://' + sys.argv[2], rank=int(sys.argv[3]), "
                "world_size=2)\n"
                "loader = DataLoader(sys.argv[1], 5, transform=t.CenterCrop(9), distributed=True)\n"
                "print(sum((y.tolist() for _, y in loader), []))")
        with tempfile.TemporaryDirectory() as work:
            results = [None, None]

            def run(rank):
                results[rank] = run_python(code, self.dir, f"{work}/rendezvous", rank, timeout=120)

            both = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
            [t.start() for t in both]
            [t.join() for t in both]
        labels = sum((json.loads(r.stdout.strip().split("\n")[-1]) for r in results), [])
        self.assertEqual(sorted(labels), [0] * 9 + [1] * 10 + [2] * 11)


class Examples(Folder):
    def run_example(self, name, *args):
        path = pathlib.Path(__file__).resolve().parents[1] / "examples" / name
        done = run_python("import sys, runpy\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')",
                          path, *args, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_resuming_under_other_ranks(self):
        out = self.run_example("resume_ranks.py", PACK / "imagenet-fullsize") if PACK.is_dir() else self.skipTest("packA")
        self.assertEqual(out.count("the same samples"), 3, out)

    def test_training_goes_on_where_it_stopped(self):
        with tempfile.TemporaryDirectory() as work:
            args = (self.dir, "--size", "32", "--batch_size", "6", "--epochs", "1", "--state", f"{work}/run.pt")
            self.assertIn("stopped after 2 steps", self.run_example("train_resnet.py", *args, "--steps", "2"))
            out = self.run_example("train_resnet.py", *args)
            self.assertIn("going on in epoch 0 after 2 batches", out)
            self.assertIn("epoch 0: loss", out)


if __name__ == "__main__":
    unittest.main()
