"""Fine-tuning in PyTorch, for comparison with the engine's own.

    python torch_fine_tuning.py INPUT.safetensors OUTPUT.safetensors

A model of torchvision is drawn with 1000 classes, its batch norms get drawn scales and the statistics of the images,
and its state_dict is written to the file that the metadata calls `weights`. The output holds its `logits` of the
images (u8 [N,H,W,3], normalised as ImageNet's) in evaluation mode, and the `losses` of `steps` steps after its head
was replaced by the one of the input, with layers of the pattern `frozen` left as they are and all layers but the
head trained at `body_factor` times the rate. Dropout is off.
"""
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
    for name, parameter in model.named_parameters():
        if fnmatch.fnmatchcase(name, recipe["frozen"]):
            parameter.requires_grad_(False)
            continue
        yield {"params": [parameter], "lr": rate if name.startswith(recipe["head"] + ".") else rate * factor}


def main(input_path, output_path):
    torch.manual_seed(11)
    DTYPES["U8"] = "uint8"
    tensors, recipe = read_safetensors(input_path)
    images = ((tensors.pop("images").float() / 255 - torch.tensor(MEAN)) / torch.tensor(STD)).permute(0, 3, 1, 2)
    images = images.contiguous()
    labels = tensors.pop("labels").long()
    model = build(recipe["model"], 1000)
    prepare_norms(model, images)
    state = {n: t for n, t in model.state_dict().items() if not n.endswith("num_batches_tracked")}
    write_safetensors(recipe["weights"], state)
    with torch.no_grad():
        logits = model(images)

    tuned = build(recipe["model"], tensors[recipe["head"] + ".bias"].shape[0])
    state.update(tensors)
    tuned.load_state_dict(state, strict=False)
    tuned.train()
    optimizer = torch.optim.SGD(list(groups_of(tuned, recipe)), momentum=float(recipe["momentum"]), nesterov=True,
                                weight_decay=float(recipe["weight_decay"]))
    losses = []
    for _ in range(int(recipe["steps"])):
        optimizer.zero_grad()
        loss = F.cross_entropy(tuned(images), labels, label_smoothing=float(recipe["label_smoothing"]))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    write_safetensors(output_path, {"logits": logits, "losses": torch.tensor(losses)})


if __name__ == "__main__":
    main(*sys.argv[1:])
