"""A run of two ranks stops in the middle of an epoch and goes on with four, or one: the same remaining samples.

    python resume_ranks.py FOLDER

Each rank would be a process of its own (`distributed=True` takes rank and number from torch.distributed); here they
take turns in one, so that the program shows everything.
"""

import sys

from torchvision import transforms

from ridgeline.data import DataLoader

GLOBAL_BATCH = 16


def ranks(folder, count):
    """One loader a rank: together they take GLOBAL_BATCH samples a step."""
    crop = transforms.Compose([transforms.RandomResizedCrop(64), transforms.RandomHorizontalFlip(),
                               transforms.ToTensor()])
    return [DataLoader(folder, GLOBAL_BATCH // count, shuffle=True, drop_last=True, transform=crop, seed=1, rank=rank,
                       world_size=count) for rank in range(count)]


def sums(loaders):
    """What stands for the pixels of every step, whatever rank has them."""
    return [sum(float(images.double().sum()) for images, _ in step) for step in zip(*loaders)]


def main(folder):
    loaders = ranks(folder, 2)
    two = [iter(loader) for loader in loaders]
    for _ in range(2):
        for one in two:
            next(one)
    state = loaders[0].state_dict()  # the same on every rank
    print("stopped after", state["delivered"], "steps of epoch", state["epoch"])
    expected = sums(two)
    for count in (1, 2, 4):
        others = ranks(folder, count)
        for loader in others:
            loader.load_state_dict(state)
        rest = sums(others)
        same = len(rest) == len(expected) and all(abs(a - b) < 1e-6 * abs(a) for a, b in zip(rest, expected))
        print(f"{count} rank(s): {len(rest)} steps,", "the same samples" if same else "OTHER SAMPLES")
        if not same:
            return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
