"""Logits, loss and gradients in PyTorch of models that torchvision has, or that are written here, beside the engine's.

    python torch_models.py INPUT.safetensors OUTPUT.safetensors

The input's metadata names the `model` and the number of `classes`; it holds `images` f32 [N,H,W,3] and `labels` i32 [N]
([N,H,W] where every pixel has a class). The weights are drawn here. The output holds them under the names of the
state_dict, `logits` in evaluation mode, and of a training step without dropout the `loss` (mean cross-entropy) and
every gradient as `gradient/<name>`.

relu and max pooling jump where a value is zero or two are equal: where gradients in f64 differ from those in f32, or
under a little noise (`noise`, a share of a layer's results), by more than roundings, images are drawn anew (`images` of
the output are those that were taken). Differences are shares of a gradient's largest element, or of the share `least` of
the largest of all.
"""
import copy
import sys

import torch
import torch.nn.functional as F
import torchvision
from torch_steps import disturbed, read_safetensors, write_safetensors

JUMP_LIMIT = 5e-5
TRIES = 8


class DoubleConv(torch.nn.Module):

    def __init__(self, inputs, outputs):
        super().__init__()
        layers = []
        for channels in (inputs, outputs):
            layers += [
                torch.nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
                torch.nn.BatchNorm2d(outputs),
                torch.nn.ReLU()
            ]
        self.double_conv = torch.nn.Sequential(*layers)

    def forward(self, x):
        return self.double_conv(x)


class Down(torch.nn.Module):

    def __init__(self, inputs, outputs):
        super().__init__()
        self.maxpool_conv = torch.nn.Sequential(torch.nn.MaxPool2d(2), DoubleConv(inputs, outputs))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(torch.nn.Module):

    def __init__(self, inputs, outputs):
        super().__init__()
        self.up = torch.nn.ConvTranspose2d(inputs, outputs, 2, stride=2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x, skip):
        return self.conv(torch.cat([skip, self.up(x)], dim=1))


class OutConv(torch.nn.Module):

    def __init__(self, inputs, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(inputs, classes, 1)

    def forward(self, x):
        return self.conv(x)


class UNet(torch.nn.Module):

    def __init__(self, classes, channels, depth):
        super().__init__()
        self.depth = depth
        self.inc = DoubleConv(3, channels)
        for i in range(depth):
            setattr(self, f"down{i + 1}", Down(channels << i, channels << (i + 1)))
        for i in range(depth):
            setattr(self, f"up{i + 1}", Up(channels << (depth - i), channels << (depth - i - 1)))
        self.outc = OutConv(channels, classes)

    def forward(self, x):
        levels = [self.inc(x)]
        for i in range(self.depth):
            levels.append(getattr(self, f"down{i + 1}")(levels[-1]))
        x = levels.pop()
        for i in range(self.depth):
            x = getattr(self, f"up{i + 1}")(x, levels.pop())
        return self.outc(x)


class Sequences(torch.nn.Module):
    """Layers that no model of the table has: rows of a table, attention over a memory, group norm, silu, a transposed
    convolution with every option."""

    def __init__(self, classes):
        super().__init__()
        self.table = torch.nn.Embedding(11, 24)
        self.attention = torch.nn.MultiheadAttention(24, 4, batch_first=True)
        self.norm = torch.nn.GroupNorm(4, 24)
        self.up = torch.nn.ConvTranspose2d(24, 12, (3, 2), stride=(2, 3), padding=(1, 0), output_padding=(1, 2),
                                           dilation=(2, 1), groups=2)
        self.inside = torch.nn.LayerNorm([4, 24])
        self.head = torch.nn.Linear(12, classes)
        self.patches = torch.nn.Conv2d(3, 24, 4, stride=4)

    def forward(self, images):
        patches = self.patches(images)
        n, c, h, w = patches.shape
        memory = patches.flatten(2).transpose(1, 2)
        numbers = (torch.arange(n * 4).reshape(n, 4) * 7 + 3) % 11
        words = self.table(numbers)
        x = self.attention(words, memory, memory, need_weights=False)[0] + words
        x = F.gelu(self.inside(x), approximate="tanh").mean(1)
        y = F.silu(self.norm(patches)) * x[:, :, None, None]
        return self.head(self.up(y).amax(dim=(2, 3)))


def build(recipe, size):
    name, classes = recipe["model"], int(recipe["classes"])
    if name == "unet":
        return UNet(classes, int(recipe["channels"]), int(recipe["depth"]))
    if name == "sequences":
        return Sequences(classes)
    if name == "vit_tiny":
        return torchvision.models.VisionTransformer(image_size=size, patch_size=16, num_layers=12, num_heads=3,
                                                    hidden_dim=192, mlp_dim=768, num_classes=classes)
    if name == "convnext_tiny":
        return torchvision.models.convnext_tiny(num_classes=classes, stochastic_depth_prob=0.0)
    return getattr(torchvision.models, name)(num_classes=classes)


def draw(model, away_from_zero):
    """Weights with which the image and every layer make a difference, unlike some of a new model.

    Where many batch norms of few values stand in front of relus, no batch is smooth: one that crosses zero moves the
    statistics of all. `away_from_zero` draws their scales and shifts so that none does: a channel is open or closed.
    """
    for name, parameter in model.named_parameters():
        with torch.no_grad():
            if name.endswith("layer_scale"):
                parameter.uniform_(0.3, 0.7)
            elif name.startswith("heads.") or name.endswith("class_token"):
                parameter.normal_(0, 0.05)
    for module in model.modules():
        if isinstance(module, (torch.nn.BatchNorm2d, torch.nn.LayerNorm, torch.nn.GroupNorm)):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0, 0.1)
        if isinstance(module, torch.nn.BatchNorm2d) and away_from_zero:
            torch.nn.init.uniform_(module.weight, 0.1, 0.2)
            torch.nn.init.uniform_(module.bias, 1, 1.5)
            with torch.no_grad():
                module.bias[::4] *= -1
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(module.running_mean, 0, 0.1)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)


def gradients_of(model, images, labels):
    model = copy.deepcopy(model).train()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    return loss.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}


def jump_of(model, images, labels, recipe):
    _, exact = gradients_of(copy.deepcopy(model).double(), images.double(), labels)
    least = float(recipe["least"]) * max(gradient.abs().max() for gradient in exact.values())
    jump = 0
    for seed in (None, 0, 1):
        if seed is None:
            _, other = gradients_of(model, images, labels)
        else:
            _, other = gradients_of(disturbed(model, seed, recipe), images.double(), labels)
        for name, gradient in exact.items():
            size = max(gradient.abs().max(), least)
            jump = max(jump, ((other[name] - gradient).abs().max() / size).item())
    return jump


def main(input_path, output_path):
    torch.manual_seed(13)
    tensors, recipe = read_safetensors(input_path)
    images, labels = tensors["images"].permute(0, 3, 1, 2).contiguous(), tensors["labels"].long()
    model = build(recipe, images.shape[-1])
    draw(model, recipe.get("away_from_zero") == "true")
    for _ in range(TRIES):
        jump = jump_of(model, images, labels, recipe)
        if jump <= JUMP_LIMIT:
            break
        images = torch.randn(images.shape)
    else:
        raise SystemExit(f"no batch is smooth: the last one's gradients jump by {jump:.1e}")
    with torch.no_grad():
        logits = model.eval()(images)
    loss, gradients = gradients_of(model, images, labels)
    if logits.dim() == 4:
        logits = logits.permute(0, 2, 3, 1)
    state = {n: t for n, t in model.state_dict().items() if not n.endswith("num_batches_tracked")}
    write_safetensors(
        output_path, {
            **state, "logits": logits,
            "loss": loss.reshape(1),
            "images": images.permute(0, 2, 3, 1),
            **{f"gradient/{n}": g
               for n, g in gradients.items()}
        })


if __name__ == "__main__":
    main(*sys.argv[1:])
