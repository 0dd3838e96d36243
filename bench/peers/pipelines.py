"""The same input pipeline in another system: one line of JSON on standard output.

    python bench/peers/pipelines.py PEER DIR [--threads N] [--images N]

PEER: torchvision-pil, torchvision-tensor, dali, dali-antialias, tf.data, mindspore. DIR holds class folders of JPEGs.
Random resized crop to 224 (area 0.08 to 1, ratio 3/4 to 4/3, bilinear), flip, normalise, batches of 128, f32. The data
set is gone through without end, so that no epoch's start is in the time; after two batches, `images` are timed three
times and the median counts.

Filters: torchvision-pil, torchvision-tensor and dali-antialias widen the filter when they shrink, as Ridgeline does.
dali, tf.data (with libjpeg's fast transform) and mindspore (OpenCV) do not: other pixels, less work.
"""
import argparse
import json
import os
import statistics
import time

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BATCH = 128


def torchvision(directory, threads, tensors):
    import torch
    from torchvision import datasets, io, transforms

    torch.set_num_threads(1)
    steps = [transforms.RandomResizedCrop(224, antialias=True), transforms.RandomHorizontalFlip()]
    if tensors:
        load = lambda path: io.decode_image(path, io.ImageReadMode.RGB)
        steps += [transforms.ConvertImageDtype(torch.float32)]
    else:
        load = datasets.folder.pil_loader
        steps += [transforms.ToTensor()]
    data = datasets.ImageFolder(directory, transforms.Compose(steps + [transforms.Normalize(MEAN, STD)]), loader=load)
    # One long epoch, so that workers are started only once.
    endless = torch.utils.data.RandomSampler(data, replacement=True, num_samples=10**7)
    loader = torch.utils.data.DataLoader(data, BATCH, sampler=endless, num_workers=threads, drop_last=True,
                                         prefetch_factor=2)
    for images, _ in loader:
        yield len(images)


def dali(directory, threads, antialias):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None, prefetch_queue_depth=2, seed=1)
    def pipeline():
        encoded, label = fn.readers.file(file_root=directory, random_shuffle=True)
        image = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0],
                                              random_aspect_ratio=[3 / 4, 4 / 3])
        image = fn.resize(image, device="cpu", resize_x=224, resize_y=224, interp_type=types.INTERP_LINEAR,
                          antialias=antialias)
        image = fn.crop_mirror_normalize(image, device="cpu", dtype=types.FLOAT, output_layout="CHW",
                                         mirror=fn.random.coin_flip(probability=0.5),
                                         mean=[255 * m for m in MEAN], std=[255 * s for s in STD])
        return image, label

    pipe = pipeline()
    pipe.build()
    while True:
        images, _ = pipe.run()
        yield len(images)


def tf_data(directory, threads):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    classes = sorted(os.listdir(directory))
    files = [(os.path.join(directory, c, f), i) for i, c in enumerate(classes)
             for f in sorted(os.listdir(os.path.join(directory, c)))]

    def load(path, label):
        encoded = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(encoded), tf.zeros([0, 0, 4]), min_object_covered=0.0,
            aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.08, 1.0), max_attempts=10,
            use_image_if_no_bounding_boxes=True)
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.resize(tf.image.decode_and_crop_jpeg(encoded, window, channels=3), [224, 224])
        image = tf.image.random_flip_left_right(image)
        return (image - tf.constant(MEAN) * 255) / (tf.constant(STD) * 255), label

    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.deterministic = False
    data = tf.data.Dataset.from_tensor_slices(([f for f, _ in files], [l for _, l in files]))
    data = data.shuffle(len(files)).repeat().map(load, num_parallel_calls=threads)
    for images, _ in data.batch(BATCH, drop_remainder=True).prefetch(2).with_options(options):
        yield int(images.shape[0])


def mindspore(directory, threads):
    import mindspore.dataset as ds
    from mindspore.dataset import vision

    data = ds.ImageFolderDataset(directory, num_parallel_workers=1, shuffle=True).repeat(1000000)
    steps = [vision.RandomCropDecodeResize(224, (0.08, 1.0), (3 / 4, 4 / 3)), vision.RandomHorizontalFlip(),
             vision.Normalize([255 * m for m in MEAN], [255 * s for s in STD]), vision.HWC2CHW()]
    data = data.map(steps, "image", num_parallel_workers=threads).batch(BATCH, drop_remainder=True)
    for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        yield len(row["label"])


PEERS = {
    "torchvision-pil": lambda d, n: torchvision(d, n, False),
    "torchvision-tensor": lambda d, n: torchvision(d, n, True),
    "dali": lambda d, n: dali(d, n, False),
    "dali-antialias": lambda d, n: dali(d, n, True),
    "tf.data": tf_data,
    "mindspore": mindspore,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("directory")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--images", type=int, default=1536)
    options = parser.parse_args()
    batches = PEERS[options.peer](options.directory, options.threads)
    for _ in range(2):
        next(batches)
    rates = []
    for _ in range(3):
        begin, count = time.perf_counter(), 0
        while count < options.images:
            count += next(batches)
        rates.append(count / (time.perf_counter() - begin))
    print(json.dumps({"peer": options.peer, "threads": options.threads,
                      "images_per_second": round(statistics.median(rates), 1),
                      "least": round(min(rates), 1), "most": round(max(rates), 1)}), flush=True)
    os._exit(0)  # ends loaders whose workers never end


if __name__ == "__main__":
    main()
