"""100 updates by PyTorch's optimizers, and 100 rates by its schedulers, for comparison with the engine's own.

    python torch_optimizers.py INPUT.safetensors OUTPUT.safetensors

The input holds `w` f32 [N] and `gradients` f32 [100,N]. The output holds, under the names used in
optimizer_parity_test.cpp, the parameter after the last step and the rates of all steps. Needs torch and numpy.
"""
import sys

import torch

from torch_steps import read_safetensors, write_safetensors

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.02, weight_decay=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.02, alpha=0.9, eps=1e-4, weight_decay=0.01),
    "rmsprop_momentum": lambda p: torch.optim.RMSprop(p, lr=0.02, alpha=0.9, eps=1e-4, momentum=0.7),
}
schedulers = torch.optim.lr_scheduler
SCHEDULES = {
    "step": lambda o: schedulers.StepLR(o, 30, 0.3),
    "multi_step": lambda o: schedulers.MultiStepLR(o, [20, 50], 0.1),
    "exponential": lambda o: schedulers.ExponentialLR(o, 0.97),
    "cosine": lambda o: schedulers.CosineAnnealingLR(o, 100, 0.01),
    "polynomial": lambda o: schedulers.PolynomialLR(o, 80, 1.7),
    "one_cycle": lambda o: schedulers.OneCycleLR(o, 0.5, total_steps=100),
    "warmup": lambda o: schedulers.SequentialLR(
        o, [schedulers.LinearLR(o, 0.1, 1.0, 9), schedulers.CosineAnnealingLR(o, 90)], [10]),
}


def main():
    given, _ = read_safetensors(sys.argv[1])
    results = {}
    for name, make in OPTIMIZERS.items():
        w = given["w"].clone().requires_grad_()
        optimizer = make([w])
        for gradient in given["gradients"]:
            w.grad = gradient.clone()
            optimizer.step()
        results["optimizer/" + name] = w
    for name, make in SCHEDULES.items():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
        schedule = make(optimizer)
        rates = []
        for _ in range(100):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        results["schedule/" + name] = torch.tensor(rates)
    write_safetensors(sys.argv[2], results)


main()
