"""U-Net (Ronneberger et al. 2015) as a function of layers, in the names of milesial/Pytorch-UNet: a class for every pixel,
from convolutions that see less and less detail and the way back, which also reads what was made on the way down.

    python unet.py        trains on discs that it draws, and tells which share of the pixels it gets right
"""

import numpy as np

import ridgeline as rl
from ridgeline import nn


def double_conv(x, name, out):
    for i in (0, 3):
        x = nn.Conv(out, kernel=3, pad=1, bias=False, norm=nn.BatchNorm(name=f"{name}.double_conv.{i + 1}"),
                    activation="relu", weight_init="he_normal_fan_in", name=f"{name}.double_conv.{i}")(x)
    return x


def unet(classes=2, channels=64, depth=4):
    def net(x):  # f32 [N,H,W,C]; 2^depth divides H and W
        x = double_conv(x, "inc", channels)
        levels = [x]
        for i in range(1, depth + 1):
            x = double_conv(nn.MaxPool()(x), f"down{i}.maxpool_conv.1", channels << i)
            levels.append(x)
        for i in range(1, depth + 1):
            out = channels << (depth - i)
            x = nn.ConvTranspose(out, kernel=2, stride=2, name=f"up{i}.up")(x)
            x = double_conv(nn.concat([levels[depth - i], x]), f"up{i}.conv", out)
        return nn.Conv(classes, kernel=1, name="outc.conv")(x)

    return net


def discs(count, size=32, seed=1):
    """Noisy pictures of a disc, and the class of each pixel: 1 inside of it."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    centre, radius = rng.uniform(0.3, 0.7, (count, 2)) * size, rng.uniform(0.15, 0.3, count) * size
    inside = (np.hypot(rows - centre[:, :1, None], columns - centre[:, 1:, None]) < radius[:, None, None])
    pictures = inside[..., None] + rng.normal(0, 0.7, (count, size, size, 1))
    return {"image": pictures.astype(np.float32), "label": inside.astype(np.int32)}


if __name__ == "__main__":
    model = rl.train.Model(unet(channels=8, depth=2), loss=nn.SoftmaxCrossEntropy(), optimizer=rl.optim.Adam(lr=3e-3))
    model.train(8, discs(128), batch_size=16, callbacks=[rl.train.Progress()])
    print(f"pixels that are right: {model.eval(discs(64, seed=2), batch_size=16)['top_1']:.3f}")
