"""What the tests of the DataLoader share. They are left out where PyTorch and torchvision are not installed."""

import unittest

try:
    import torch
    import torchvision
    from torchvision import transforms as v1
    from torchvision.transforms import v2
except ImportError:
    raise unittest.SkipTest("PyTorch and torchvision are not installed")

EXACT = v1.Compose([v1.Resize(40), v1.CenterCrop(32), v1.ToTensor()])
RANDOM = v1.Compose([v1.RandomResizedCrop(24), v1.RandomHorizontalFlip(), v1.ToTensor()])


def equal(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) and torch.equal(s, t) for (x, s), (y, t) in zip(a, b))
