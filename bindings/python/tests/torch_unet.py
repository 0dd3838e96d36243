"""U-Net in PyTorch, by which that of the examples is measured."""

import torch


class TorchUnet(torch.nn.Module):
    """As milesial/Pytorch-UNet names it, with transposed convolutions."""

    class Twice(torch.nn.Module):
        def __init__(self, given, out):
            super().__init__()
            layers = []
            for channels in (given, out):
                layers += [torch.nn.Conv2d(channels, out, 3, padding=1, bias=False), torch.nn.BatchNorm2d(out),
                           torch.nn.ReLU()]
            self.double_conv = torch.nn.Sequential(*layers)

        def forward(self, x):
            return self.double_conv(x)

    class Down(torch.nn.Module):
        def __init__(self, given, out):
            super().__init__()
            self.maxpool_conv = torch.nn.Sequential(torch.nn.MaxPool2d(2), TorchUnet.Twice(given, out))

        def forward(self, x):
            return self.maxpool_conv(x)

    class Up(torch.nn.Module):
        def __init__(self, given, out):
            super().__init__()
            self.up = torch.nn.ConvTranspose2d(given, out, 2, stride=2)
            self.conv = TorchUnet.Twice(given, out)

        def forward(self, x, beside):
            return self.conv(torch.cat([beside, self.up(x)], 1))

    class Out(torch.nn.Module):
        def __init__(self, given, out):
            super().__init__()
            self.conv = torch.nn.Conv2d(given, out, 1)

        def forward(self, x):
            return self.conv(x)

    def __init__(self, given, classes, channels, depth):
        super().__init__()
        self.depth = depth
        self.inc = TorchUnet.Twice(given, channels)
        for i in range(1, depth + 1):
            setattr(self, f"down{i}", TorchUnet.Down(channels << (i - 1), channels << i))
            setattr(self, f"up{i}", TorchUnet.Up(channels << (depth - i + 1), channels << (depth - i)))
        self.outc = TorchUnet.Out(channels, classes)

    def forward(self, x):
        levels = [self.inc(x)]
        for i in range(1, self.depth + 1):
            levels.append(getattr(self, f"down{i}")(levels[-1]))
        x = levels.pop()
        for i in range(1, self.depth + 1):
            x = getattr(self, f"up{i}")(x, levels.pop())
        return self.outc(x)
