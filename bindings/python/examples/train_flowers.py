"""Fine-tunes ResNet-18 on a folder of class folders; started again, it goes on where it was stopped.

    python train_flowers.py flowers/train flowers/val [resnet18.safetensors]
"""

import sys

import ridgeline as rl

folder, validation, *weights = sys.argv[1:]
train = (rl.data.ImageFolder(folder).shuffle()
         .map(rl.data.RandomResizedCrop(224), rl.data.RandomHorizontalFlip()).batch(64))
val = rl.data.ImageFolder(validation).map(rl.data.Resize(256), rl.data.CenterCrop(224)).batch(64)

net = rl.nn.models.resnet18(num_classes=train.num_classes())
model = rl.train.Model(net, loss=rl.nn.SoftmaxCrossEntropy(label_smoothing=0.1),
                       optimizer=rl.optim.Momentum(lr=rl.optim.Cosine(0.02, warmup=1)))
if weights:
    model.load(weights[0], exclude=["fc"])
model.train(16, train, callbacks=[rl.train.Checkpoint("runs/flowers"), rl.train.Progress()], validation=val)
print(f"top-1 {model.eval(val)['top_1']:.4f}")
model.export("flowers.rdgm")
model.export("flowers.onnx")
