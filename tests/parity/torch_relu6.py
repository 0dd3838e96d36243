"""Gradients of MobileNetV2 in PyTorch with each relu6 on the side of its bends where the engine has it.

    python torch_relu6.py INPUT.safetensors OUTPUT.safetensors

The gradient of relu6 jumps at 0 and at 6. Of some hundred thousand values a step, a few lie so near to a bend that the
roundings of f32 decide, in PyTorch's f32 as in any other; each moves gradients by far more than roundings. So the input
holds, beside what torch_fine_tuning.py takes, what the engine's batch norms gave (`norm/<number>`, NHWC, in the order
in which they run): relu6 gives 0, its operand or 6 by these. The weights are those that torch_fine_tuning.py wrote.

The output holds, of every parameter, the `gradient/<name>` in f64 and the largest `distance/<name>` of an element of
PyTorch's f32 gradient from it, with the same sides; and in `sides` how many values lie on another side than in f64, and
how far the farthest of them is from its bend in f64, as a multiple of the largest distance of PyTorch's f32 from f64
among the values of that layer.
"""
import copy
import sys

import torch
import torch.nn.functional as F
from torch_fine_tuning import read_batch, with_head
from torch_steps import read_safetensors, write_safetensors


class GivenSides(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        self.values = values

    def forward(self, x):
        inside = torch.where(self.values > 0, x, torch.zeros_like(x))
        return torch.where(self.values >= 6, torch.full_like(x, 6), inside)


def step(model, images, labels, recipe, sides=None):
    """The gradients, and what each batch norm in front of a relu6 gave."""
    model = copy.deepcopy(model)
    values = {}
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Sequential) or not any(isinstance(m, torch.nn.ReLU6) for m in module):
            continue
        module[1].register_forward_hook(lambda _, inputs, y, name=name: values.__setitem__(name, y.detach().clone()))
        if sides:
            module[2] = GivenSides(sides[name])
    F.cross_entropy(model(images), labels, label_smoothing=float(recipe["label_smoothing"])).backward()
    return {n: p.grad for n, p in model.named_parameters()}, values


def side(y):
    return (y > 0).int() + (y >= 6).int()


def main(input_path, output_path):
    images, labels, tensors, recipe = read_batch(input_path)
    state, _ = read_safetensors(recipe["weights"])
    model = with_head(state, {n: t for n, t in tensors.items() if not n.startswith("norm/")}, recipe)
    norms = [n for n, m in model.named_modules() if isinstance(m, torch.nn.BatchNorm2d)]
    given = {n.rpartition(".")[0]: tensors[f"norm/{i}"].permute(0, 3, 1, 2) for i, n in enumerate(norms)}

    exact = copy.deepcopy(model).double()
    _, wide = step(exact, images.double(), labels, recipe)
    _, narrow = step(model, images, labels, recipe)
    count, farthest = 0, 0.0
    for name, y in wide.items():
        other = side(given[name]) != side(y)
        count += int(other.sum())
        if other.any():
            bend = torch.minimum(y[other].abs(), (y[other] - 6).abs()).max()
            farthest = max(farthest, (bend / (narrow[name].double() - y).abs().max()).item())
    gradients, _ = step(exact, images.double(), labels, recipe, given)
    rounded, _ = step(model, images, labels, recipe, given)
    result = {"sides": torch.tensor([float(count), farthest])}
    for name, gradient in gradients.items():
        result[f"gradient/{name}"] = gradient
        result[f"distance/{name}"] = (rounded[name].double() - gradient).abs().max()
    write_safetensors(output_path, result)


if __name__ == "__main__":
    main(*sys.argv[1:])
