"""AlexNet's training step in JAX on a CUDA card, one jit, bf16 over f32 parameters, on random data that lie on the card:
what `ridgeline bench step --device=cuda` is compared with, beside card_step.py.

    XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHON bench/peers/card_step_jax.py [BATCH ...]

The layers are torchvision's AlexNet in NHWC; Nesterov momentum, weight decay and label smoothing as in card_step.py.
One line a batch: milliseconds (median), images a second, seconds to the first step.
"""

import statistics
import sys
import time

import jax
import jax.numpy as jnp

# (kernel, inputs, outputs, stride, padding, pooled after it)
CONVOLUTIONS = [(11, 3, 64, 4, 2, True), (5, 64, 192, 1, 2, True), (3, 192, 384, 1, 1, False),
                (3, 384, 256, 1, 1, False), (3, 256, 256, 1, 1, True)]
DENSE = [(9216, 4096), (4096, 4096), (4096, 1000)]


def parameters(key):
    def drawn(shape, inputs):
        return jax.random.normal(key, shape) * (2 / inputs) ** 0.5, jnp.zeros(shape[-1])

    return ([drawn((k, k, i, o), k * k * i) for k, i, o, *_ in CONVOLUTIONS] + [drawn(d, d[0]) for d in DENSE])


def loss(parameters, images, labels, key):
    h = images.astype(jnp.bfloat16)
    for (w, b), (_, _, _, stride, pad, pooled) in zip(parameters, CONVOLUTIONS):
        h = jax.lax.conv_general_dilated(h, w.astype(h.dtype), (stride, stride), [(pad, pad), (pad, pad)],
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = jax.nn.relu(h + b.astype(h.dtype))
        if pooled:
            h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")
    h = h.reshape(h.shape[0], -1)
    for n, (w, b) in enumerate(parameters[len(CONVOLUTIONS):]):
        if n < 2:
            h = h * jax.random.bernoulli(jax.random.fold_in(key, n), 0.5, h.shape) * h.dtype.type(2)
        h = h @ w.astype(h.dtype) + b.astype(h.dtype)
        h = jax.nn.relu(h) if n < 2 else h
    targets = jax.nn.one_hot(labels, 1000) * 0.9 + 0.0001
    return -(targets * jax.nn.log_softmax(h.astype(jnp.float32))).sum(-1).mean()


def step(parameters, velocities, images, labels, key):
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels, key)
    velocities = jax.tree.map(lambda v, g, p: 0.9 * v + g + 1e-4 * p, velocities, gradients, parameters)
    parameters = jax.tree.map(lambda p, g, v: p - 0.01 * (g + 1e-4 * p + 0.9 * v), parameters, gradients, velocities)
    return parameters, velocities, value


def main():
    key = jax.random.PRNGKey(0)
    for batch in [int(word) for word in sys.argv[1:]] or [128, 256, 1024]:
        images = jax.random.normal(key, (batch, 224, 224, 3))
        labels = jax.random.randint(key, (batch,), 0, 1000)
        weights = parameters(key)
        velocities = jax.tree.map(jnp.zeros_like, weights)
        compiled = jax.jit(step, donate_argnums=(0, 1))
        start = time.monotonic()
        weights, velocities, value = compiled(weights, velocities, images, labels, key)
        value.block_until_ready()
        first = time.monotonic() - start
        times = []
        for _ in range(8):
            start = time.monotonic()
            for _ in range(10):
                weights, velocities, value = compiled(weights, velocities, images, labels, key)
            value.block_until_ready()
            times.append((time.monotonic() - start) * 100)
        took = statistics.median(times)
        print(f"jax alexnet {batch} bf16: {took:.3f} ms, {1e3 * batch / took:.0f} images/s, "
              f"first step after {first:.1f} s", flush=True)


if __name__ == "__main__":
    main()
