"""Training steps in PyTorch, for comparison with the engine's own.

    python torch_steps.py INPUT.safetensors OUTPUT.safetensors

The input holds parameters and statistics under the engine's names and in file form (convolutions OIHW, dense
weights [out,in]), several batches `images` f32 [B,N,H,W,3] already normalised, and `labels` i32 [N]. Its
metadata says which model and recipe. The output holds the number of the `batch` that was taken, `losses` of
all steps on it, and of the first step every gradient (`gradient/<name>`, of the loss without the L2 penalty)
and every parameter and statistic after the update (`updated/<name>`).

Gradients of relu and max pooling jump where a value is zero or two are equal. Where that is so to within
the roundings of f32, the gradients of any two programs may differ by far more than roundings, and their
losses some steps later. So the first batch is taken that is smooth by PyTorch's own account: gradients and
losses in f64 agree with those in f32 and with those under a little noise. That does not depend on the engine.

Needs torch, torchvision and numpy; see the driver, parity_test.cpp.
"""
import copy
import json
import struct
import sys

import numpy
import torch
import torch.nn.functional as F
import torchvision

DTYPES = {"F32": numpy.float32, "I32": numpy.int32, "I64": numpy.int64}
DISTURBANCES = 3
JUMP_LIMIT = 1e-4
DRIFT_LIMIT = 5e-4


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy())
    return tensors, metadata


def write_safetensors(path, tensors):
    header, blobs, offset = {}, [], 0
    for name, tensor in tensors.items():
        blob = tensor.detach().contiguous().to(torch.float32).numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for blob in blobs:
            file.write(blob)


class AlexNet(torch.nn.Module):
    """The ModelZoo form: 96 channels in front, features flattened row by row, a relu on the logits."""

    CONVOLUTIONS = [(3, 96, 11, 4, 2, True), (96, 192, 5, 1, 2, True), (192, 384, 3, 1, 1, False),
                    (384, 256, 3, 1, 1, False), (256, 256, 3, 1, 1, True)]

    def __init__(self, features, classes):
        super().__init__()
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv2d(i, o, k, s, p) for i, o, k, s, p, _ in self.CONVOLUTIONS)
        self.dense = torch.nn.ModuleList(
            torch.nn.Linear(i, o) for i, o in [(features, 4096), (4096, 4096), (4096, classes)])

    def forward(self, x):
        for convolution, (*_, pool) in zip(self.convolutions, self.CONVOLUTIONS):
            x = F.relu(convolution(x))
            if pool:
                x = F.max_pool2d(x, 3, 2)
        x = x.permute(0, 2, 3, 1).flatten(1)
        for dense in self.dense:
            x = F.relu(dense(x))
        return x

    @staticmethod
    def name_of(engine_name):
        """conv2d_1/kernel -> convolutions.1.weight"""
        scope, kind = engine_name.split("/")
        layer, _, number = scope.partition("_")
        group = {"conv2d": "convolutions", "dense": "dense"}[layer]
        return f"{group}.{number or 0}.{'weight' if kind == 'kernel' else 'bias'}"


def same_name(engine_name):
    return engine_name


def build(name, tensors, classes):
    """The module, in training mode and without dropout, and the rule of names."""
    if name == "alexnet":
        return AlexNet(tensors["dense/kernel"].shape[1], classes).train(), AlexNet.name_of
    if name == "alexnet_torchvision":
        return torchvision.models.alexnet(num_classes=classes, dropout=0.0).train(), same_name
    return getattr(torchvision.models, name)(num_classes=classes).train(), same_name


def gradients_of(model, images, labels, recipe):
    model.zero_grad()
    F.cross_entropy(model(images), labels, label_smoothing=float(recipe["label_smoothing"])).backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def disturbed(model, seed, recipe):
    """In f64, with noise on every element that a layer puts out: more than what f32 rounds away there.

    The elements are disturbed one by one, since a change of the parameters would move neighbours in a pool's window
    together and leave their order alone.
    """
    model = copy.deepcopy(model).double()
    generator = torch.Generator().manual_seed(seed)

    def add_noise(module, inputs, output):
        size = float(recipe["noise"]) * output.detach().square().mean().sqrt()
        return output + size * torch.randn(output.shape, generator=generator, dtype=output.dtype)

    for module in model.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear, torch.nn.BatchNorm2d)):
            module.register_forward_hook(add_noise)
    return model


def variants(model, images, recipe):
    """The same model and batch to within roundings: in f32, and in f64 with noise."""
    yield copy.deepcopy(model), images
    for seed in range(DISTURBANCES):
        yield disturbed(model, seed, recipe), images.double()


def jumps_of(model, images, labels, recipe):
    """How far the variants' gradients are from those in f64, each as a share of its largest element."""
    exact = gradients_of(copy.deepcopy(model).double(), images.double(), labels, recipe)
    for variant, batch in variants(model, images, recipe):
        for name, gradient in gradients_of(variant, batch, labels, recipe).items():
            yield ((gradient - exact[name]).abs().max() / exact[name].abs().max()).item()


def train(model, images, labels, recipe, after_first=None):
    """The loss of every step; `after_first(model)` is called behind the first backward pass and its update."""
    rates = json.loads(recipe["learning_rates"])
    optimizer = torch.optim.SGD(model.parameters(), lr=rates[0], momentum=float(recipe["momentum"]),
                                nesterov=recipe["nesterov"] == "true", weight_decay=float(recipe["weight_decay"]))
    losses = []
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels, label_smoothing=float(recipe["label_smoothing"]))
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        if step == 0 and after_first:
            after_first(model)
    return losses


def drifts_of(model, images, labels, recipe):
    """How far the variants' losses are from those in f64."""
    exact = train(copy.deepcopy(model).double(), images.double(), labels, recipe)
    for variant, batch in variants(model, images, recipe):
        for step, loss in enumerate(train(variant, batch, labels, recipe)):
            yield abs(loss - exact[step])


def smooth_batch(model, batches, labels, recipe):
    for number, images in enumerate(batches):
        if (all(jump <= JUMP_LIMIT for jump in jumps_of(model, images, labels, recipe))
                and all(drift <= DRIFT_LIMIT for drift in drifts_of(model, images, labels, recipe))):
            return number
    raise SystemExit(f"none of {len(batches)} batches is smooth: all have a relu or a pool on the edge")


def main(input_path, output_path):
    tensors, recipe = read_safetensors(input_path)
    batches = tensors.pop("images").permute(0, 1, 4, 2, 3).contiguous()
    labels = tensors.pop("labels").long()
    model, name_of = build(recipe["model"], tensors, int(recipe["classes"]))
    missing, unexpected = model.load_state_dict({name_of(n): t for n, t in tensors.items()}, strict=False)
    if unexpected or any(not name.endswith("num_batches_tracked") for name in missing):
        raise SystemExit(f"names do not agree: missing {missing}, unexpected {unexpected}")

    number = smooth_batch(model, batches, labels, recipe)
    result = {}

    def keep_first(stepped):
        gradients = {n: p.grad.clone() for n, p in stepped.named_parameters()}
        state = stepped.state_dict()
        result.update({f"gradient/{n}": gradients[name_of(n)] for n in tensors if name_of(n) in gradients})
        result.update({f"updated/{n}": state[name_of(n)].clone() for n in tensors})

    result["losses"] = torch.tensor(train(model, batches[number], labels, recipe, keep_first))
    result["batch"] = torch.tensor([number])
    write_safetensors(output_path, result)


if __name__ == "__main__":
    main(*sys.argv[1:])
