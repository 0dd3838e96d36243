"""One AlexNet training step in TensorFlow on the CPU: the same work as `ridgeline bench step --model
alexnet_torchvision`.

    PYTHON bench/peers/tensorflow_step.py [--batch_size 128] [--precision f32|bf16] [--steps 7] [--threads N]

One tf.function over raw ops in NHWC, the layout of TensorFlow's CPU kernels; bf16 casts f32 variables in every step, as
Keras' mixed_bfloat16 does. Prints one JSON object. Needs tensorflow-cpu; bench/peers/step.sh runs it.
"""

import argparse
import json
import os
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy
import tensorflow as tf

# kernel size, input channels, filters, stride, whether a pool follows
CONVOLUTIONS = [(11, 3, 64, 4, True), (5, 64, 192, 1, True), (3, 192, 384, 1, False), (3, 384, 256, 1, False),
                (3, 256, 256, 1, True)]
DENSE = [(9216, 4096), (4096, 4096), (4096, 1000)]
CLASSES, SMOOTHING, DECAY = 1000, 0.1, 1e-4


def layers():
    """(weights, bias) of each layer, as variables."""
    random = numpy.random.default_rng(1)
    shapes = [(k, k, c, f) for k, c, f, _, _ in CONVOLUTIONS] + DENSE

    def variable(shape, fan_in):
        return tf.Variable((random.uniform(-1, 1, shape) / numpy.sqrt(fan_in)).astype("float32"))

    return [(variable(s, numpy.prod(s[:-1])), variable(s[-1:], numpy.prod(s[:-1]))) for s in shapes]


def logits(parameters, images, dtype):
    x = tf.cast(images, dtype)
    cast = [(tf.cast(w, dtype), tf.cast(b, dtype)) for w, b in parameters]
    for (weights, bias), (kernel, _, _, stride, pooled) in zip(cast, CONVOLUTIONS):
        pad = 2 if kernel == 11 else kernel // 2
        x = tf.pad(x, [[0, 0], [pad, pad], [pad, pad], [0, 0]]) if stride > 1 else x
        x = tf.nn.conv2d(x, weights, stride, "VALID" if stride > 1 else "SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, bias))
        x = tf.nn.max_pool2d(x, 3, 2, "VALID") if pooled else x
    x = tf.reshape(x, [x.shape[0], -1])
    for n, (weights, bias) in enumerate(cast[len(CONVOLUTIONS):]):
        last = n + 1 == len(DENSE)
        x = x if last else tf.nn.dropout(x, 0.5)
        x = tf.nn.bias_add(tf.linalg.matmul(x, weights), bias)
        x = x if last else tf.nn.relu(x)
    return tf.cast(x, tf.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["alexnet_torchvision"], default="alexnet_torchvision")
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    tf.random.set_seed(1)
    parameters = layers()
    variables = [v for layer in parameters for v in layer]
    slots = [tf.Variable(tf.zeros_like(v)) for v in variables]
    random = numpy.random.default_rng(2)
    images = tf.constant(random.standard_normal((args.batch_size, 224, 224, 3), "float32"))
    labels = tf.constant(random.integers(0, CLASSES, args.batch_size).astype("int32"))
    dtype = tf.bfloat16 if args.precision == "bf16" else tf.float32

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            targets = tf.one_hot(labels, CLASSES) * (1 - SMOOTHING) + SMOOTHING / CLASSES
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(targets, logits(parameters, images, dtype)))
        for v, slot, g in zip(variables, slots, tape.gradient(loss, variables)):
            tf.raw_ops.ResourceApplyMomentum(var=v.handle, accum=slot.handle, lr=0.01, grad=g + DECAY * v,
                                             momentum=0.9, use_nesterov=True)
        return loss

    for _ in range(2):
        step().numpy()
    times = []
    for _ in range(args.steps):
        begin = time.perf_counter()
        step().numpy()
        times.append(1e3 * (time.perf_counter() - begin))
    ms = statistics.median(times)
    print(json.dumps({"system": f"tensorflow {tf.__version__}", "ms_per_step": ms, "ms_fastest": min(times),
                      "ms_slowest": max(times), "images_per_second": 1e3 * args.batch_size / ms}))


main()
