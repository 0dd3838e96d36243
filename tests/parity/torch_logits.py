"""Logits of torchvision's models, for comparison with the engine's own.

    python torch_logits.py INPUT.safetensors OUTPUT.safetensors

The input's metadata names the `model` and the number of `classes`; it holds `images` f32 [N,H,W,3]. The weights are
drawn here, as torchvision draws them; batch norms get drawn scales and the statistics of these images, without which
the signal dies on its way. The output holds them under the names of the state_dict, and `logits` in evaluation mode.
"""
import sys

import torch
import torchvision
from torch_steps import read_safetensors, write_safetensors


def main(input_path, output_path):
    torch.manual_seed(11)
    tensors, recipe = read_safetensors(input_path)
    name = {"alexnet_torchvision": "alexnet"}.get(recipe["model"], recipe["model"])
    model = getattr(torchvision.models, name)(num_classes=int(recipe["classes"])).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0, 0.1)
    images = tensors["images"].permute(0, 3, 1, 2)
    with torch.no_grad():
        for module in model.modules():
            module.training = isinstance(module, torch.nn.BatchNorm2d)
        model(images)
        logits = model.eval()(images)
    state = {n: t for n, t in model.state_dict().items() if not n.endswith("num_batches_tracked")}
    write_safetensors(output_path, {**state, "logits": logits})


if __name__ == "__main__":
    main(*sys.argv[1:])
