"""ViT-Tiny (Dosovitskiy et al. 2021) as a function of layers, in the names of torchvision's VisionTransformer: patches of
the image, a token for the class in front, blocks of attention and two dense layers, each behind its layer norm.

    python vit.py FOLDER        a folder of photos in class folders: trains on it
"""

import ridgeline as rl
from ridgeline import graph, nn


def block(x, name, heads):
    y = nn.LayerNorm(epsilon=1e-6, name=name + ".ln_1")(x)
    x = nn.Attention(heads, name=name + ".self_attention")(y) + x
    y = nn.LayerNorm(epsilon=1e-6, name=name + ".ln_2")(x)
    width = x.shape[-1]
    y = nn.Dense(4 * width, activation="gelu", weight_init="glorot_uniform", bias_init=nn.normal(1e-6),
                 name=name + ".mlp.0")(y)
    y = nn.Dense(width, weight_init="glorot_uniform", bias_init=nn.normal(1e-6), name=name + ".mlp.3")(y)
    return x + y


def vit_tiny(num_classes=1000, patch=16, width=192, layers=12, heads=3):
    def net(x):  # f32 [N,H,W,3]; the patch divides H and W
        x = nn.Conv(width, kernel=patch, stride=patch, bias_init="zeros", name="conv_proj")(x)
        rows, height, columns, _ = x.shape
        x = nn.reshape(x, [rows, height * columns, width])
        # The class token is a row of zeros before the patches; the learned token is added to it, like the positions.
        token = nn.parameter("class_token", [1, 1, width], constant=0)
        positions = nn.parameter("encoder.pos_embedding", [1, height * columns + 1, width], init=nn.normal(0.02))
        x = graph.pad(x, low=[0, 1, 0], high=[0, 0, 0])
        x = x + (positions + graph.pad(token, low=[0, 0, 0], high=[0, height * columns, 0]))
        for i in range(layers):
            x = block(x, f"encoder.layers.encoder_layer_{i}", heads)
        x = nn.split(nn.LayerNorm(epsilon=1e-6, name="encoder.ln")(x), [1, height * columns], axis=1)[0]
        x = nn.reshape(x, [rows, width])
        return nn.Dense(num_classes, weight_init="zeros", bias_init="zeros", name="heads.head")(x)

    return net


if __name__ == "__main__":
    from training import train_on_folder

    train_on_folder(vit_tiny, rl.optim.AdamW(lr=rl.optim.Cosine(5e-4, warmup=2), weight_decay=0.05))
