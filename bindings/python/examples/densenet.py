"""DenseNet-121 (Huang et al. 2017) as a function of layers, in torchvision's names: every layer of a block reads all that
was made before it in the block.

    python densenet.py FOLDER        a folder of photos in class folders: trains on it
"""

import ridgeline as rl
from ridgeline import nn

BLOCKS = (6, 12, 24, 16)
GROWTH, FIRST = 32, 64


def norm_relu_conv(x, norm, conv, out, kernel):
    x = nn.relu(nn.BatchNorm(name=norm)(x))
    return nn.Conv(out, kernel=kernel, pad=kernel // 2, bias=False, weight_init="he_normal_fan_in", name=conv)(x)


def densenet121(num_classes=1000):
    def net(x):  # f32 [N,H,W,3]
        x = nn.Conv(FIRST, kernel=7, stride=2, pad=3, bias=False, weight_init="he_normal_fan_in",
                    name="features.conv0")(x)
        x = nn.relu(nn.BatchNorm(name="features.norm0")(x))
        x = nn.MaxPool(kernel=3, stride=2, pad=1)(x)
        for number, layers in enumerate(BLOCKS, 1):
            for i in range(1, layers + 1):
                name = f"features.denseblock{number}.denselayer{i}."
                y = norm_relu_conv(x, name + "norm1", name + "conv1", 4 * GROWTH, kernel=1)
                y = norm_relu_conv(y, name + "norm2", name + "conv2", GROWTH, kernel=3)
                x = nn.concat([x, y])
            if number < len(BLOCKS):
                name = f"features.transition{number}."
                x = norm_relu_conv(x, name + "norm", name + "conv", x.shape[-1] // 2, kernel=1)
                x = nn.AvgPool(kernel=2, stride=2)(x)
        x = nn.relu(nn.BatchNorm(name="features.norm5")(x))
        return nn.Dense(num_classes, bias_init="zeros", name="classifier")(nn.GlobalAvgPool()(x))

    return net


if __name__ == "__main__":
    from training import train_on_folder

    train_on_folder(densenet121, rl.optim.Momentum(lr=rl.optim.Cosine(0.05, warmup=1), weight_decay=1e-4))
