"""Other people's trainers with this package's loader: each runs where it is installed, and is left out elsewhere."""

import contextlib
import importlib.util
import io
import os
import tempfile
import unittest

from loader_support import torch, torchvision, v1

import ridgeline
from ridgeline.data import DataLoader, adapters

from support import Folder

TRAIN = v1.Compose([v1.RandomResizedCrop(16), v1.RandomHorizontalFlip(), v1.ToTensor()])
EVALUATE = v1.Compose([v1.Resize(20), v1.CenterCrop(16), v1.ToTensor()])


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is not installed")


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 3))


class Adapters(Folder):
    def setUp(self):
        self.folder = torchvision.datasets.ImageFolder(self.dir, TRAIN)

    def loader(self, **options):
        return DataLoader(self.folder, 8, shuffle=True, **options)

    def test_a_loader_of_pytorchs_is_replaced(self):
        def pairs(batches):
            return sorted(labels.tolist() for _, labels in batches)

        theirs = torch.utils.data.DataLoader
        for loader in (theirs(self.folder, 8), theirs(self.folder, 8, drop_last=True, num_workers=2),
                       theirs(self.folder, 8, sampler=torch.utils.data.SubsetRandomSampler([4, 5])),
                       theirs(self.folder, batch_sampler=[[3, 1], [2, 29, 4]]),
                       theirs([1.5, 2.5, 3.5], 2), theirs([{"a": 1}, {"a": 2}], None)):
            mine = adapters.replaced(loader)
            self.assertEqual(len(mine), len(loader))
            if loader.dataset is self.folder:
                self.assertEqual(pairs(mine), pairs(loader))
                self.assertEqual(bool(mine.stats()), mine.batch_sampler is None)  # the engine's: one at work has some
            else:
                self.assertEqual(str(list(mine)), str(list(loader)))
        shuffled = adapters.replaced(theirs(self.folder, 8, shuffle=True), seed=4)
        self.assertEqual(sorted(x for _, labels in shuffled for x in labels.tolist()), sorted(self.folder.targets))
        chosen = torch.utils.data.BatchSampler([29, 3, 17, 4, 8], 2, drop_last=True)  # as accelerate gives it
        given = adapters.replaced(theirs(self.folder, batch_sampler=chosen))
        self.assertEqual([labels.tolist() for _, labels in given],
                         [[self.folder.targets[i] for i in batch] for batch in ([29, 3], [17, 4])])
        with self.assertRaisesRegex(ridgeline.ArgumentError, "replaced takes a DataLoader of torch.utils.data, not list"):
            adapters.replaced([1])

    @needs("lightning")
    def test_lightning(self):
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.net, self.seen = model(), 0

            def training_step(self, batch, number):
                images, labels = batch
                self.seen += len(labels)
                return torch.nn.functional.cross_entropy(self.net(images), labels)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.01)

        module = Module()
        trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=1)
        trainer.fit(module, self.loader())
        self.assertEqual(module.seen, 60)

    @needs("accelerate")
    def test_accelerate(self):
        import accelerate

        accelerator = accelerate.Accelerator(cpu=True)
        loader = adapters.accelerate(accelerator, self.loader())
        net, optimizer = accelerator.prepare(model(), torch.optim.SGD(model().parameters(), 0.01))
        seen = 0
        for images, labels in loader:
            accelerator.backward(torch.nn.functional.cross_entropy(net(images), labels))
            optimizer.step()
            self.assertEqual(images.device.type, accelerator.device.type)
            seen += len(labels)
        self.assertEqual((seen, len(loader)), (30, 4))

    @needs("transformers")
    @needs("accelerate")
    def test_hugging_faces_trainer(self):
        import transformers

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = model()

            def forward(self, pixel_values, labels=None):
                logits = self.net(pixel_values)
                loss = torch.nn.functional.cross_entropy(logits, labels)
                return {"loss": loss, "logits": logits}

        folder = self.folder

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return len(folder)

            def __getitem__(self, index):
                path, label = folder.samples[index]
                return {"pixel_values": path, "labels": label}

        with tempfile.TemporaryDirectory() as out:
            args = transformers.TrainingArguments(out, num_train_epochs=2, per_device_train_batch_size=8, report_to=[],
                                                  use_cpu=True, save_strategy="no", remove_unused_columns=False,
                                                  disable_tqdm=True)
            Trainer = adapters.hugging_face(transformers.Trainer, transform=TRAIN, image="pixel_values",
                                            collate_fn=None, evaluation={"transform": EVALUATE})
            trainer = Trainer(Net(), args, train_dataset=Rows(), eval_dataset=Rows())
            seen = [label for batch in trainer.get_train_dataloader() for label in batch["labels"].tolist()]
            self.assertEqual(sorted(seen), sorted(folder.targets))
            self.assertNotEqual(seen, sorted(seen))  # in a random order
            fixed = torch.cat([images for images, _ in DataLoader(self.dir, 8, transform=EVALUATE)])
            for loader, theirs in ((trainer.get_train_dataloader(), False), (trainer.get_eval_dataloader(), True),
                                   (trainer.get_test_dataloader(Rows()), True)):
                for image in next(iter(loader))["pixel_values"]:
                    self.assertEqual(any(torch.equal(image, one) for one in fixed), theirs)
            result = trainer.train()
            self.assertEqual(result.global_step, 8)
            self.assertIn("eval_loss", trainer.evaluate())

    @needs("fastai")
    def test_fastai(self):
        from fastai.learner import Learner

        learner = Learner(adapters.fastai(self.loader(), self.loader()), model(), lr=0.01,
                          loss_func=torch.nn.functional.cross_entropy)
        before = [p.clone() for p in learner.model.parameters()]
        with contextlib.redirect_stdout(io.StringIO()):
            learner.fit(1)
        self.assertEqual(learner.train_iter, 4)
        self.assertFalse(any(torch.equal(a, b) for a, b in zip(before, learner.model.parameters())))

    @needs("keras")
    def test_keras_on_pytorch(self):
        os.environ.setdefault("KERAS_BACKEND", "torch")
        import keras

        if keras.config.backend() != "torch":
            self.skipTest("Keras runs on another backend")
        net = keras.Sequential([keras.layers.Input((16, 16, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
        net.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        loader = self.loader(drop_last=True)
        history = net.fit(adapters.keras(loader), steps_per_epoch=len(loader), epochs=2, verbose=0)
        self.assertEqual(len(history.history["loss"]), 2)


if __name__ == "__main__":
    unittest.main()
