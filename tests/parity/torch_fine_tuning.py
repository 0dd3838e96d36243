"""Fine-tuning in PyTorch, for comparison with the engine's own.

    python torch_fine_tuning.py INPUT.safetensors OUTPUT.safetensors

A model of torchvision is drawn with 1000 classes, its batch norms get drawn scales and the statistics of the images,
and its state_dict is written to the file that the metadata calls `weights`. The output holds its `logits` of the
images (u8 [N,H,W,3], normalised as ImageNet's) in evaluation mode, and the `losses` of `steps` steps after its head
was replaced by the one of the input, with layers of the patterns `frozen` (by commas) left as they are and all layers
but the head trained at `body_factor` times the rate. Dropout is off. Where `drifts` is "true", the output also holds how far
roundings alone move these losses: the largest distance from those in f64, and that of losses in f64 with weights that
are disturbed by half a unit of f32's last place.
"""
import copy
import fnmatch
import sys

import torch
import torch.nn.functional as F
import torchvision
from torch_steps import DTYPES, read_safetensors, write_safetensors

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def build(name, classes):
    name = {"alexnet_torchvision": "alexnet"}.get(name, name)
    options = {} if name.startswith("resnet") else {"dropout": 0.0}
    return getattr(torchvision.models, name)(num_classes=classes, **options)


def prepare_norms(model, images):
    """Drawn scales and the statistics of the images, without which the signal dies on its way."""
    model.eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
            module.training = True
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, 0, 0.1)
    with torch.no_grad():
        model(images)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 0.1
    model.eval()


def groups_of(model, recipe):
    rate, factor = float(recipe["rate"]), float(recipe["body_factor"])
    frozen = recipe["frozen"].split(",")
    for name, parameter in model.named_parameters():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in frozen):
            parameter.requires_grad_(False)
            continue
        yield {"params": [parameter], "lr": rate if name.startswith(recipe["head"] + ".") else rate * factor}


def read_batch(input_path):
    """The images as the model takes them, the labels, what else the file holds, and its metadata."""
    DTYPES["U8"] = "uint8"
    tensors, recipe = read_safetensors(input_path)
    images = ((tensors.pop("images").float() / 255 - torch.tensor(MEAN)) / torch.tensor(STD)).permute(0, 3, 1, 2)
    return images.contiguous(), tensors.pop("labels").long(), tensors, recipe


def with_head(state, head, recipe):
    """The model with the drawn weights and the head of the input, in training mode."""
    tuned = build(recipe["model"], head[recipe["head"] + ".bias"].shape[0])
    tuned.load_state_dict({**state, **head}, strict=False)
    return tuned.train()


def train(model, images, labels, recipe):
    """The losses of all steps; the model stays as it is."""
    model = copy.deepcopy(model)
    optimizer = torch.optim.SGD(list(groups_of(model, recipe)), momentum=float(recipe["momentum"]), nesterov=True,
                                weight_decay=float(recipe["weight_decay"]))
    losses = []
    for _ in range(int(recipe["steps"])):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels, label_smoothing=float(recipe["label_smoothing"]))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return torch.tensor(losses, dtype=torch.float64)


def disturbed(model):
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.rand(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.mul_(1 + 2.0**-24 * (2 * noise - 1))
    return model


def main(input_path, output_path):
    torch.manual_seed(11)
    images, labels, tensors, recipe = read_batch(input_path)
    model = build(recipe["model"], 1000)
    prepare_norms(model, images)
    state = {n: t for n, t in model.state_dict().items() if not n.endswith("num_batches_tracked")}
    write_safetensors(recipe["weights"], state)
    with torch.no_grad():
        logits = model(images)

    tuned = with_head(state, tensors, recipe)
    result = {"logits": logits, "losses": train(tuned, images, labels, recipe)}
    if recipe["drifts"] == "true":
        exact = train(tuned.double(), images.double(), labels, recipe)
        moved = train(disturbed(tuned), images.double(), labels, recipe)
        result["drifts"] = torch.stack([(other - exact).abs().max() for other in (result["losses"], moved)])
    write_safetensors(output_path, result)


if __name__ == "__main__":
    main(*sys.argv[1:])
