"""ConvNeXt-Tiny (Liu et al. 2022) as a function of layers, in torchvision's names: a block is a 7x7 convolution of every
channel by itself, a layer norm, and two dense layers over the channels of each pixel.

    python convnext.py FOLDER        a folder of photos in class folders: trains on it
"""

import ridgeline as rl
from ridgeline import nn

STAGES = ((96, 3), (192, 3), (384, 9), (768, 3))
DROPPED = 0.1  # share of samples that the last block drops in training; earlier blocks drop fewer


def conv(x, name, out, kernel, **rest):
    return nn.Conv(out, kernel=kernel, weight_init=nn.normal(0.02), bias_init="zeros", name=name, **rest)(x)


def dense(x, name, out, activation="none"):
    return nn.Dense(out, activation=activation, weight_init=nn.normal(0.02), bias_init="zeros", name=name)(x)


def norm(x, name):
    return nn.LayerNorm(epsilon=1e-6, name=name)(x)


def block(x, name, keep):
    channels = x.shape[-1]
    y = conv(x, name + ".block.0", channels, kernel=7, pad=3, groups=channels)
    y = dense(norm(y, name + ".block.2"), name + ".block.3", 4 * channels, activation="gelu")
    y = dense(y, name + ".block.5", channels)
    scale = nn.parameter(name + ".layer_scale", [channels, 1, 1], constant=1e-6)
    y = y * nn.reshape(scale, [channels])
    return nn.DropSamples(keep_prob=keep, name=name + ".stochastic_depth")(y) + x


def convnext_tiny(num_classes=1000, dropped=DROPPED):
    def net(x):  # f32 [N,H,W,3]
        x = norm(conv(x, "features.0.0", STAGES[0][0], kernel=4, stride=4), "features.0.1")
        number, last = 0, sum(blocks for _, blocks in STAGES) - 1
        for i, (channels, blocks) in enumerate(STAGES):
            if i > 0:
                x = norm(x, f"features.{2 * i}.0")
                x = conv(x, f"features.{2 * i}.1", channels, kernel=2, stride=2)
            for j in range(blocks):
                x = block(x, f"features.{2 * i + 1}.{j}", keep=1 - dropped * number / last)
                number += 1
        return dense(norm(nn.GlobalAvgPool()(x), "classifier.0"), "classifier.2", num_classes)

    return net


if __name__ == "__main__":
    from training import train_on_folder

    train_on_folder(convnext_tiny, rl.optim.AdamW(lr=rl.optim.Cosine(4e-3, warmup=2), weight_decay=0.05))
