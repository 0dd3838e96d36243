"""The training step that PyTorch does in torch_step.py, torch_ddp.py and torch_training.py: that of
`ridgeline bench step --model M`.

channels_last, which is PyTorch's fastest form on the processors that were tried; bf16 by autocast, with f32 parameters.
Needs torch and torchvision.
"""

import time

import torch
import torchvision

# Our model names -> torchvision's.
MODELS = {"alexnet_torchvision": "alexnet", "vgg11": "vgg11", "resnet18": "resnet18", "resnet50": "resnet50",
          "mobilenet_v2": "mobilenet_v2"}


def training_model(name, classes=1000):
    """A model of torchvision by our name or by its own, with the same first weights in every process."""
    torch.manual_seed(1)
    return getattr(torchvision.models, MODELS.get(name, name))(num_classes=classes)


def step_on_batches(model, precision="f32", around=lambda model: model):
    """The function step(images, labels) -> loss. `around` puts the model into what runs it; the optimizer has the
    model's own."""
    model = model.to(memory_format=torch.channels_last).train()
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True)
    forward = around(model)

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            logits = forward(images.contiguous(memory_format=torch.channels_last))
        loss = criterion(logits.float(), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training_step(name, batch_size, data_seed, precision="f32", around=lambda model: model):
    """The function of one step on a batch of random data."""
    step = step_on_batches(training_model(name), precision, around)
    torch.manual_seed(data_seed)
    images = torch.randn(batch_size, 3, 224, 224).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch_size,))
    return lambda: step(images, labels)


def seconds_of(step, steps):
    """Of each of `steps` steps behind two that warm up."""
    for _ in range(2):
        step()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return times
