"""Random Python functions that arrays of NumPy and values of a graph take alike, as source text with lines of its own."""

import random

import numpy as np

import ridgeline as rl

SMOOTH = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / ({b} * {b} + 1.5)", "{a} * 0.75", "0.5 - {a}", "-{a}", "{a} ** 2",
          "np.tanh({a})", "np.exp(np.tanh({a}))", "np.log({a} * {a} + 1)", "np.sqrt({a} * {a} + 0.5)", "np.sin({a})",
          "np.cos({a}) * {b}", "({a} * {a} + 1) ** -1", "({a} * {a} + 1) ** 1.5")
KINKED = ("abs({a})", "np.maximum({a}, {b})", "np.minimum({a}, 0.25)", "np.where({a} > {b}, {a}, {b})",
          "np.where(({a} <= 0.5) | ~({a} < 0.25), 0.5 * {a}, {a} - 0.25)")
SHAPES = ("{a}.sum(axis={axis})", "{a}.mean(axis={axis}, keepdims=True)", "{a}.sum()", "{a}.T", "{a}.reshape(-1)",
          "{a}[{row}]", "{a}[..., ::2]", "{a}[:, None]", "{a} @ {b}", "{a} @ {a}.T", "{a} + {constant}",
          "{a}[{rows}]", "np.concatenate([{a}, {b}], axis=0)", "{a}.transpose({order})", "np.mean({a}, axis={axis})")
EXTREMES = ("{a}.max(axis={axis})", "{a}.min(axis={axis}, keepdims=True)", "np.max({a})")


class RandomFunction:
    """`source` defines f(x, y) over `arguments`, f32; it may call the functions `called`, and reads `constants`."""

    def __init__(self, seed, earlier=(), smooth=False):
        self.draw, self.smooth = random.Random(seed), smooth
        rng = np.random.default_rng(seed)
        shape = self.draw.choice([(3,), (4, 5), (2, 3), (2, 3, 4), (6, 1), (1, 7), (33,)])
        self.arguments = [rng.normal(0, 1, shape).astype(np.float32),
                          rng.normal(0, 1, self.draw.choice([shape, shape, shape[-1:], ()])).astype(np.float32)]
        self.name, self.file = f"f{seed}", f"random_{seed}.py"
        self.constants = {"numbers": rng.normal(0, 1, shape[-1:]).astype(np.float32)}
        self.called = list(earlier)
        self.source = ""
        self._write()

    def _plain(self):
        """The names that its source reads, for NumPy."""
        names = {"np": np, **self.constants}
        for other in self.called:
            names[other.name] = other.of_numpy()
        return names

    def _compiled(self, names):
        exec(compile(self.source, self.file, "exec"), names)
        return names[self.name]

    def of_numpy(self):
        return self._compiled(self._plain())

    def of_graph(self, dtype=np.float32):
        names = {"np": np, **{name: value.astype(dtype) for name, value in self.constants.items()}}
        for other in self.called:
            names[other.name] = other.of_graph(dtype)
        return rl.function(self._compiled(names))

    def _write(self):
        names = self._plain()
        known = {"x": self.arguments[0].astype(np.float64), "y": self.arguments[1].astype(np.float64)}
        lines = [f"def {self.name}(x, y):"]
        templates = list(SMOOTH) * 2 + list(SHAPES) + ([] if self.smooth else [*KINKED, *EXTREMES])
        templates += [f"{other.name}({{a}}, {{b}})" for other in self.called] * 4
        wanted = self.draw.randrange(3, 10)
        while len(lines) <= wanted:
            a, b = self.draw.choice(list(known)), self.draw.choice(list(known))
            shape = known[a].shape
            order = list(range(len(shape)))
            self.draw.shuffle(order)
            template = self.draw.choice(templates)
            if not shape and "{axis}" in template:
                continue
            text = template.format(
                a=a, b=b, constant="numbers", axis=self.draw.randrange(-len(shape), len(shape)) if shape else 0,
                row=self.draw.randrange(-shape[0], shape[0]) if shape else 0,
                rows=[self.draw.randrange(-shape[0], shape[0]) for _ in range(3)] if shape else [0],
                order=", ".join(map(str, order)))
            try:
                with np.errstate(all="ignore"):
                    value = np.asarray(eval(text, dict(names), dict(known)))
            except (ValueError, TypeError, IndexError, AttributeError):
                continue  # shapes that do not fit each other
            if value.size == 0 or value.size > 400 or value.dtype != np.float64:
                continue
            if np.abs(value).max() > 30:
                text, value = f"np.tanh({text})", np.tanh(value)
            name = f"v{len(lines)}"
            known[name] = value
            lines.append(f"    {name} = {text}")
        last = f"v{len(lines) - 1}"
        others = self.draw.sample([n for n in known if n != last], 1)
        self.result = f"({last} * 0.5).sum() + {others[0]}.mean()" if self.smooth else f"{last}, {others[0]} * 2"
        lines.append(f"    return {self.result}")
        self.source = "\n".join(lines) + "\n"


def functions(count, seed, smooth=False):
    """So many; about a third calls earlier ones."""
    made = []
    for i in range(count):
        earlier = made[-2:] if smooth and i % 3 == 2 else []
        made.append(RandomFunction(seed + i, earlier, smooth))
    return made
