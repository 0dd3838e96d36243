"""Training in PyTorch on a CUDA card from JPEGs, with its own loader and with this package's, beside the step alone on
random data that lie on the card: images a second.

    PYTHON bench/peers/card_training.py DIR [--models resnet50 alexnet] [--batch_size 256] [--workers 8 16]
        [--seconds 100] [--copies 128]

DIR holds class folders of JPEGs; each is listed COPIES times through links, so that an epoch is long. PYTHON has torch
for CUDA, torchvision and this package (scripts/wheel.sh). Random resized crop to 224, flip, normalise, f32; the step in
channels_last, bf16 by autocast, momentum. Both loaders pin memory, and both have one batch copied while the step before
it runs; a third row is ours with device="cuda", which does that itself and sends bytes, flipped and normalised on the
card. What the seconds do not allow is left out. One JSON object a run, as it ends, then a table.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import torch
import torchvision
from torchvision import transforms as t

from linked_photos import linked
from torch_work import training_model

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CARD = torch.device("cuda")


def step_of(name, classes):
    model = training_model(name, classes).to(CARD, memory_format=torch.channels_last).train()
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True)

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def on_card(batches):
    """Each batch on the card, copied by a stream of its own while the step before it runs. What is copied stays
    referenced until its copy is over: memory that a loader lends may be written again as soon as it is let go."""
    copies, waiting, before = torch.cuda.Stream(), [], None
    for images, labels in batches:
        with torch.cuda.stream(copies):
            pair = [images.to(CARD, non_blocking=True, memory_format=torch.channels_last),
                    labels.to(CARD, non_blocking=True)]
            done = torch.cuda.Event()
            done.record()
        waiting.append((pair, done, (images, labels)))
        if len(waiting) == 2:
            pair, done, _ = waiting[0]
            torch.cuda.current_stream().wait_event(done)
            for tensor in pair:
                tensor.record_stream(torch.cuda.current_stream())
            yield pair
            stepped = torch.cuda.Event()
            stepped.record()
            if before is not None:
                before.synchronize()  # the host is at most one step ahead of the card
            before = stepped
            waiting.pop(0)


def rate(step, batches, seconds, warm):
    """Images a second behind `warm` batches, for so many seconds."""
    count = 0
    for i, (images, labels) in enumerate(batches):
        if i == warm:
            torch.cuda.synchronize()
            begin = time.perf_counter()
        if i >= warm:
            if time.perf_counter() - begin > seconds:
                break
            count += len(labels)
        step(images, labels)
    torch.cuda.synchronize()
    return count / (time.perf_counter() - begin)


def endless(loader):
    while True:
        yield from loader


def random_batches(size, classes):
    images = torch.randn(size, 3, 224, 224, device=CARD).to(memory_format=torch.channels_last)
    labels = torch.randint(0, classes, (size,), device=CARD)
    while True:
        yield images, labels


def torch_loader(data, size, workers):
    draws = torch.utils.data.RandomSampler(data, replacement=True, num_samples=10**7)
    return torch.utils.data.DataLoader(data, size, sampler=draws, num_workers=workers, drop_last=True, pin_memory=True,
                                       worker_init_fn=lambda _: torch.set_num_threads(1))


def our_loader(data, size, workers):
    from ridgeline.data import DataLoader

    # Batches are lent: memory for those being copied and used, and as many again for those being made.
    return DataLoader(data, size, shuffle=True, num_workers=workers, drop_last=True, pin_memory=True,
                      memory_limit=8 * size * 224 * 224 * 3 * 4)


def our_loader_to_the_card(data, size, workers):
    from ridgeline.data import DataLoader

    return DataLoader(data, size, shuffle=True, num_workers=workers, drop_last=True, device=CARD)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=["resnet50", "alexnet"])
    parser.add_argument("--batch_size", type=int, default=256)
    parser.add_argument("--workers", type=int, nargs="+", default=[16, 8])
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--copies", type=int, default=128)
    given = parser.parse_args()
    end, rows = time.perf_counter() + given.seconds, []
    torch.backends.cudnn.benchmark = True
    folder = tempfile.TemporaryDirectory()
    linked(given.directory, given.copies, pathlib.Path(folder.name))
    data = torchvision.datasets.ImageFolder(folder.name, t.Compose([
        t.RandomResizedCrop(224), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD)]))
    classes, size = len(data.classes), given.batch_size

    def run(model, loader, workers, batches, step, seconds, warm):
        if time.perf_counter() + seconds > end:
            print(f"{model} {loader} {workers}: left out, no time", flush=True)
            return
        row = {"model": model, "loader": loader, "workers": workers,
               "images_per_second": round(rate(step, batches(), seconds, warm), 1)}
        rows.append(row)
        print(json.dumps(row), flush=True)

    for model in given.models:
        step = step_of(model, classes)
        run(model, "none", 0, lambda: random_batches(size, classes), step, 3, 10)
        for workers in given.workers:
            ours = lambda: on_card(endless(our_loader(data, size, workers)))
            run(model, "ridgeline", workers, ours, step, 5, 5)
            to_card = lambda: endless(our_loader_to_the_card(data, size, workers))
            run(model, "ridgeline_device", workers, to_card, step, 5, 5)
            theirs = lambda: on_card(torch_loader(data, size, workers))
            run(model, "torch", workers, theirs, step, 5, workers)
    heads = ["model", "step alone", "ours", "of it", "PyTorch's loader", "ours over it", "ours, device=cuda",
             "of the step", "over PyTorch's"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for model in given.models:
        best = {}
        for row in rows:
            if row["model"] == model:
                best[row["loader"]] = max(best.get(row["loader"], 0), row["images_per_second"])
        alone, ours, theirs, to_card = map(best.get, ("none", "ridgeline", "torch", "ridgeline_device"))
        cells = [rounded(alone), rounded(ours), ratio(ours, alone), rounded(theirs), ratio(ours, theirs), rounded(to_card),
                 ratio(to_card, alone), ratio(to_card, theirs)]
        print(f"| {model} | {' | '.join(cells)} |")
    sys.stdout.flush()


main()
