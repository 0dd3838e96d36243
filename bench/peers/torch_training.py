"""Training in PyTorch with either data loader, side by side: images a second, and the loss of every step.

    PYTHON bench/peers/torch_training.py DIR [--models alexnet resnet18] [--batch_size 32] [--steps 12] [--workers 0 1 2]
        [--precision f32|bf16] [--speed_only]

DIR holds class folders of JPEGs. PYTHON has torch, torchvision and this package (scripts/wheel.sh); without the package
--speed_only leaves its column out. The step is that of torch_work.py. For each model:

- speed: random resized crop, flip, normalise; the step and the loader share the cores.
  PyTorch's loader runs with each of --workers, the best one counts; this package's with 1 thread.
- curve: the same crops in the same order (resize, centre crop, a fixed order) as bytes, normalised by PyTorch, the same
  first weights: the losses must be equal to the bit.

Every run is a process of its own. One JSON object a run, then a table. Exits with 1 where the curves differ.
"""

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import time

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def data_of(directory, curve):
    import torch
    import torchvision
    from torchvision import transforms as t

    steps = [t.RandomResizedCrop(224), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize(MEAN, STD)]
    if curve:
        steps = [t.Resize(256), t.CenterCrop(224), t.PILToTensor()]
    folder = torchvision.datasets.ImageFolder(directory, t.Compose(steps))
    classes = len(folder.classes)
    if not curve:
        return folder, classes
    order = list(range(len(folder)))
    random.Random(1).shuffle(order)
    return torch.utils.data.Subset(folder, order), classes


def run(given):
    import torch
    import torchvision

    from torch_work import step_on_batches, training_model

    if given.loader == "ridgeline":
        from ridgeline.data import DataLoader
    else:
        from torch.utils.data import DataLoader
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    train, classes = data_of(given.directory, given.curve)
    loader = DataLoader(train, given.batch_size, shuffle=not given.curve, drop_last=True, num_workers=given.workers,
                        persistent_workers=given.workers > 0)
    model = training_model(given.model, classes)
    if given.curve:  # dropout uses the same random generator as PyTorch's loader
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    step = step_on_batches(model, given.precision)

    def batches():
        while True:
            yield from loader

    losses, seen, begin = [], 0, None
    for images, labels in batches():
        if given.curve:
            images = torchvision.transforms.functional.normalize(images.float() / 255, MEAN, STD)
        losses.append(step(images, labels).item())
        seen += len(labels)
        if len(losses) == 2:  # without start-up and first allocations
            begin, seen = time.perf_counter(), 0
        if len(losses) == given.steps:
            break
    speed = seen / (time.perf_counter() - begin)
    print(json.dumps({"model": given.model, "loader": given.loader, "workers": given.workers, "curve": given.curve,
                      "images_per_second": round(speed, 1), "losses": losses}), flush=True)
    os._exit(0)  # ends workers of a loader that was not read to its end


def child(given, **options):
    command = [sys.executable, __file__, given.directory, "--run", json.dumps({**vars(given), **options})]
    out = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in out.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{options}: {out.stderr.strip().splitlines()[-1:] or 'no result'}")
    row = json.loads(lines[-1])
    print(json.dumps({**row, "losses": [round(x, 4) for x in row["losses"]]}), flush=True)
    return row


def has_package():
    try:
        return importlib.util.find_spec("ridgeline.data") is not None
    except ModuleNotFoundError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--models", nargs="+", default=["alexnet", "resnet18"])
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--speed_only", action="store_true", help="no curves")
    parser.add_argument("--run", help="one run, of this program's own making")
    given = parser.parse_args()
    if given.run:
        return run(argparse.Namespace(**json.loads(given.run)))
    if given.steps < 3:
        parser.error("--steps must be at least 3: the first two are not timed")
    with_package = has_package()
    if not with_package:
        if not given.speed_only:
            parser.error("this interpreter lacks the package ridgeline (scripts/wheel.sh), which the curves need")
        print("without the package ridgeline: PyTorch's own loader alone", file=sys.stderr)
    table, same = [], True
    for model in given.models:
        if with_package:
            ours = child(given, model=model, loader="ridgeline", workers=1, curve=False)["images_per_second"]
        theirs = max(child(given, model=model, loader="torch", workers=n, curve=False)["images_per_second"]
                     for n in given.workers)
        if not with_package:
            table.append(f"{model:<10}{'-':>12}{theirs:>12.1f}{'-':>9}")
            continue
        if given.speed_only:
            table.append(f"{model:<10}{ours:>12.1f}{theirs:>12.1f}{ours / theirs:>8.2f}x")
            continue
        curves = [child(given, model=model, loader=loader, workers=1, curve=True)["losses"]
                  for loader in ("ridgeline", "torch")]
        apart = max(abs(a - b) for a, b in zip(*curves))
        same &= apart == 0
        table.append(f"{model:<10}{ours:>12.1f}{theirs:>12.1f}{ours / theirs:>8.2f}x{apart:>14.2g}")
    print(f"{'model':<10}{'ridgeline':>12}{'PyTorch':>12}{'ratio':>9}{'losses apart':>14}")
    print("\n".join(table))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
