"""What the examples of models share: a training on a folder of photos."""

import sys

import ridgeline as rl


def train_on_folder(make_net, optimizer, size=224, batch=32, epochs=16):
    """Trains the net that `make_net(num_classes)` gives on the folder that the command line names."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER (of photos in class folders)")
    photos = rl.data.ImageFolder(sys.argv[1])
    data = (photos.shuffle()
            .map(rl.data.RandomResizedCrop(size), rl.data.RandomHorizontalFlip(), rl.data.Normalize.imagenet())
            .batch(batch, drop_remainder=True))
    model = rl.train.Model(make_net(photos.num_classes()), loss=rl.nn.SoftmaxCrossEntropy(label_smoothing=0.1),
                           optimizer=optimizer, name=make_net.__name__)
    model.train(epochs, data, callbacks=[rl.train.Progress()])
    model.export(make_net.__name__ + ".rdgm")
