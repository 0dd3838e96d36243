"""What is said of a name that is not there: what has its place here, for those who come from PyTorch, or the nearest
name that there is."""

import importlib

_LAYERS = "layers are called in a function of values, or stand in a rl.nn.Sequential"
_TRAINS = "rl.train.Model(net, loss, optimizer).train(epochs, data) runs the steps"

# By module, or class: {name elsewhere: what has its place}.
INSTEAD = {
    "ridgeline": {
        "Model": "rl.train.Model", "DataLoader": "rl.data.DataLoader", "models": "rl.nn.models",
        "manual_seed": "seed= of rl.train.Model", "seed": "seed= of rl.train.Model", "device": "device= of rl.train.Model",
        "no_grad": "eval() and predict() of rl.train.Model keep no gradients", "tensor": "arrays are NumPy's",
        "Tensor": "arrays are NumPy's", "save": "rl.train.Checkpoint keeps a training, export() of rl.train.Model a model",
        "load": "load() of rl.train.Model", "compile": "rl.function", "jit": "rl.function", "distributed": "rl.train.ranks",
        "utils": "rl.data.DataLoader", "vmap": "functions take whole arrays",
    },
    "ridgeline.nn": {
        "Linear": "rl.nn.Dense(outputs)", "Conv2d": "rl.nn.Conv(channels, kernel=3, pad=1); inputs are [N,H,W,C]",
        "ConvTranspose2d": "rl.nn.ConvTranspose", "ReLU": "rl.nn.Relu, or activation=\"relu\" of a layer",
        "GELU": "rl.nn.Gelu", "SiLU": "rl.nn.Silu", "BatchNorm1d": "rl.nn.BatchNorm", "BatchNorm2d": "rl.nn.BatchNorm",
        "MaxPool2d": "rl.nn.MaxPool", "AvgPool2d": "rl.nn.AvgPool", "AdaptiveAvgPool2d": "rl.nn.AdaptiveAvgPool, rl.nn.GlobalAvgPool",
        "MultiheadAttention": "rl.nn.Attention", "LocalResponseNorm": "rl.nn.Lrn",
        "CrossEntropyLoss": "rl.nn.SoftmaxCrossEntropy",
        "MSELoss": "a loss is a function of outputs and labels: lambda y, label: rl.nn.mean((y - label) * (y - label), axes=[1])",
        "BCEWithLogitsLoss": "a loss is a function of outputs and labels", "NLLLoss": "rl.nn.SoftmaxCrossEntropy, of what comes before the softmax",
        "Module": _LAYERS, "Parameter": "rl.nn.parameter", "functional": "functions of values are in rl.nn and rl.graph",
        "init": "rl.nn.inits, rl.nn.normal, rl.nn.constant", "Softmax": "rl.nn.softmax", "Identity": "lambda x: x",
        "DataParallel": "rl.train.ranks", "SyncBatchNorm": "sync_batch_norm=True of rl.train.Model",
    },
    "ridgeline.optim": {
        "SGD": "rl.optim.Momentum, which has weight decay and momentum 0.9, or rl.optim.Sgd", "RMSprop": "rl.optim.RmsProp",
        "lr_scheduler": "a schedule is the lr of an optimizer: rl.optim.Momentum(lr=rl.optim.Cosine(0.1, warmup=5))",
        "StepLR": "rl.optim.StepDecay", "MultiStepLR": "rl.optim.MultiStep",
        "ExponentialLR": "rl.optim.Exponential", "CosineAnnealingLR": "rl.optim.Cosine",
        "LambdaLR": "lr= may be a function of the step's index", "OneCycleLR": "lr= may be a function of the step's index",
    },
    "ridgeline.train": {
        "fit": _TRAINS, "train": _TRAINS, "Trainer": "rl.train.Model", "models": "rl.nn.models",
        "EarlyStopping": "patience= of train() of a rl.train.Model, with validation=", "ModelCheckpoint": "rl.train.Checkpoint",
        "DistributedDataParallel": "rl.train.ranks", "world_size": "rl.train.ranks", "get_rank": "rl.train.rank",
    },
    "ridgeline.data": {
        "ToTensor": "pictures stay u8 [H,W,C] until rl.data.Normalize makes f32 of them, or the model does",
        "PILToTensor": "pictures stay u8 [H,W,C] until rl.data.Normalize makes f32 of them, or the model does",
        "WebDataset": "rl.data.Tar", "webdataset": "rl.data.Tar", "FakeData": "torchvision's, which rl.data.DataLoader takes",
        "Lambda": "rl.data.Function", "Subset": "torch's, which rl.data.DataLoader takes; rl.data.Dataset.sample",
        "Dataloader": "rl.data.DataLoader", "default_collate": "rl.data.DataLoader makes such batches by itself",
        "TensorDataset": "rl.data.InMemory", "random_split": "rl.data.Dataset.take, rl.data.Dataset.skip",
    },
    "Model": {
        "fit": "train(epochs, data)", "evaluate": "eval(data)", "forward": "predict(arrays)", "to": "device= of rl.train.Model",
        "cuda": "device=\"cuda\" of rl.train.Model", "cpu": "device= of rl.train.Model", "state_dict": "parameters()",
        "named_parameters": "parameters()", "load_state_dict": "load()", "save": "export(path); rl.train.Checkpoint keeps a training",
        "compile": "rl.train.Model(net, loss, optimizer) is compiled for its data", "summary": "parameters(), graph",
        "zero_grad": _TRAINS, "backward": _TRAINS,
    },
}


def not_there(of, name, known=(), title=None):
    """The AttributeError for a name.

    of: the module or class in whose table it may stand; known: names that there are; title: what it is called, a module
        without one
    """
    told = INSTEAD.get(of, {}).get(name)
    if told is None and not name.startswith("_"):
        lower = {k.lower(): k for k in known}
        near = [lower[name.lower()]] if name.lower() in lower else \
            importlib.import_module("difflib").get_close_matches(name, known, 1)
        told = f"did you mean {near[0]}?" if near else None
    return AttributeError(f"{title or f'module {of!r}'} has no attribute {name!r}" + (f" ({told})" if told else ""))
