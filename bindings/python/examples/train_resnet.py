"""Trains a torchvision ResNet on a folder of class folders, and goes on where it stopped.

    python train_resnet.py FOLDER [--epochs 3] [--batch_size 32] [--size 224] [--state run.pt]

Stop it with Ctrl-C and start it again: it goes on in the middle of the epoch.
"""

import argparse
import os
import time

import torch
import torchvision
from torchvision import transforms

from ridgeline.data import DataLoader


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("folder")
    flags.add_argument("--epochs", type=int, default=3)
    flags.add_argument("--batch_size", type=int, default=32)
    flags.add_argument("--size", type=int, default=224)
    flags.add_argument("--state", default="run.pt")
    flags.add_argument("--steps", type=int, default=0, help="stop after so many steps; 0: never")
    given = flags.parse_args()

    train = torchvision.datasets.ImageFolder(given.folder, transforms.Compose([
        transforms.RandomResizedCrop(given.size), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]))
    loader = DataLoader(train, batch_size=given.batch_size, shuffle=True, drop_last=True, bad_samples="skip")

    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=len(train.classes)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    first = 0
    if os.path.exists(given.state):
        saved = torch.load(given.state)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        first = saved["loader"]["epoch"]
        print(f"going on in epoch {first} after {saved['loader']['delivered']} batches")

    def save():
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()},
                   given.state)

    steps = 0
    try:
        for epoch in range(first, given.epochs):
            begin, seen = time.time(), 0
            for images, labels in loader:
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                steps, seen = steps + 1, seen + len(labels)
                if steps == given.steps:
                    raise KeyboardInterrupt
            print(f"epoch {epoch}: loss {loss.item():.3f}, {seen / (time.time() - begin):.0f} images/s")
            save()
    except KeyboardInterrupt:
        save()
        print(f"stopped after {steps} steps, state in {given.state}")


if __name__ == "__main__":
    main()
