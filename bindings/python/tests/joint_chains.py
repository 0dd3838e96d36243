"""Random joint chains of torchvision's v2, and torchvision's own results for the numbers that the engine drew."""

from loader_support import torch, v2

from torchvision import tv_tensors

FILL = {tv_tensors.Image: (9, 99, 199), tv_tensors.Mask: 7, "others": 3}


def lines_of(geometry):
    """The engine's lines as [(word, numbers)]; size and notes left out."""
    made = []
    for line in bytes(geometry).decode().splitlines():
        word, *rest = line.split(" ")
        if word not in ("size", "note"):
            made.append((word, [float(n) for n in rest]))
    return made


class Chain:
    """Random steps. `blended`: whether pixels come of sums that may round otherwise."""

    def __init__(self, draw):
        self.steps, self.blended = [], False
        kinds = [self.crop, self.resize, self.flip, self.pad, self.center, self.small_crop, self.size, self.beside]
        for _ in range(draw.randrange(1, 5)):
            self.steps += draw.choice(kinds)(draw)
        if draw.random() < 0.3:
            before_it = next((i for i, step in enumerate(self.steps) if isinstance(step, v2.SanitizeBoundingBoxes)),
                             len(self.steps))
            # Not between a crop and the resize that makes room for it.
            needs_room = [isinstance(step, v2.RandomCrop) and not step.pad_if_needed for step in self.steps] + [False]
            places = [i for i in range(before_it + 1) if not needs_room[i]]
            self.steps.insert(draw.choice(places), v2.RandomIoUCrop(min_scale=draw.uniform(0.2, 0.6)))
        if draw.random() < 0.3:
            self.steps.insert(0, v2.RandomZoomOut(fill=FILL, side_range=(1.0, 2.0), p=draw.choice([0.0, 1.0])))
        if draw.random() < 0.3:
            self.steps.append(self.warp(draw))
        if draw.random() < 0.5:
            self.steps += [v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes()]
        if draw.random() < 0.5:
            self.steps += [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
        if draw.random() < 0.3:
            self.steps.append(v2.ToPureTensor())

    def crop(self, draw):
        return [v2.RandomResizedCrop((draw.randrange(20, 60), draw.randrange(20, 60)), scale=(0.3, 1.0))]

    def resize(self, draw):
        return [v2.Resize(draw.choice([draw.randrange(20, 60), (draw.randrange(20, 60), draw.randrange(20, 60))]))]

    def flip(self, draw):
        return [draw.choice([v2.RandomHorizontalFlip, v2.RandomVerticalFlip])(draw.choice([0.5, 1.0]))]

    def pad(self, draw):
        return [v2.Pad([draw.randrange(6) for _ in range(draw.choice([1, 2, 4]))], fill=draw.choice([0, 5, FILL]))]

    def center(self, draw):
        return [v2.CenterCrop((draw.randrange(20, 80), draw.randrange(20, 80)))]

    def small_crop(self, draw):
        padding = draw.choice([None, 3, [1, 2], [1, 2, 3, 4]])
        return [v2.RandomCrop((draw.randrange(20, 60), draw.randrange(20, 60)), padding, fill=draw.choice([0, FILL]),
                              pad_if_needed=True if padding in (None, 3) else False)] if padding in (None, 3) else [
            v2.Resize((50, 60)), v2.RandomCrop((40, 48), padding, fill=draw.choice([0, FILL]))]

    def size(self, draw):
        return [draw.choice([v2.RandomShortestSize([30, 40, 50], 64), v2.RandomResize(24, 60),
                             v2.ScaleJitter((60, 50), (0.6, 1.5))])]

    def beside(self, draw):
        return [draw.choice([v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(), v2.ConvertBoundingBoxFormat("XYWH"),
                             v2.ConvertBoundingBoxFormat("XYXY"), v2.ColorJitter(brightness=(0.5, 0.5)), v2.Identity(),
                             v2.RandomInvert(1.0)])]

    def warp(self, draw):
        self.blended = True
        way = draw.choice(list(v2.InterpolationMode)[:1] + [v2.InterpolationMode.BILINEAR])
        return draw.choice([
            lambda: v2.RandomRotation(30, interpolation=way, expand=draw.choice([False, True]), fill=draw.choice([0, FILL])),
            lambda: v2.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 5, interpolation=way, fill=draw.choice([0, FILL])),
            lambda: v2.RandomPerspective(0.3, 1.0, interpolation=way, fill=draw.choice([0, FILL])),
        ])()


# ---- torchvision with given numbers


def whole(numbers):
    return [int(n) for n in numbers]


def arguments(step, lines, sample):
    """What make_params of the step would have given: of the lines, which it takes away; None: it was not done."""
    name = type(step).__name__
    word = lines[0][0] if lines else None
    if name in ("RandomHorizontalFlip", "RandomVerticalFlip"):
        wanted = "horizontal_flip" if name == "RandomHorizontalFlip" else "vertical_flip"
        return {} if word == wanted and lines.pop(0) else None
    if name == "RandomResizedCrop":
        top, left, height, width = whole(lines.pop(0)[1])
        assert lines.pop(0) == ("resize", [float(s) for s in step.size]), lines
        return {"top": top, "left": left, "height": height, "width": width}
    if name in ("RandomShortestSize", "ScaleJitter"):
        return {"size": tuple(whole(taken(lines, "resize")))}
    if name == "RandomResize":
        return {"size": [min(whole(taken(lines, "resize")))]}
    if name == "RandomZoomOut":
        return {"padding": whole(taken(lines, "pad"))} if step.p and word == "pad" else None
    if name == "RandomIoUCrop":
        if word != "iou_crop":
            return None
        top, left, height, width = whole(lines.pop(0)[1])
        boxes = next(leaf for leaf in torch.utils._pytree.tree_leaves(sample) if isinstance(leaf, tv_tensors.BoundingBoxes))
        corners = v2.functional.convert_bounding_box_format(boxes, new_format="XYXY")
        x, y = 0.5 * (corners[:, 0] + corners[:, 2]), 0.5 * (corners[:, 1] + corners[:, 3])
        within = ((left < x) & (x < left + width) & (top < y) & (y < top + height)).as_subclass(torch.Tensor)
        assert within.any(), "no box has its middle in the crop"
        return {"top": top, "left": left, "height": height, "width": width, "is_within_crop_area": within}
    if name == "RandomCrop":
        given = step.make_params([sample[0]])
        if given["needs_pad"]:
            padding = [0, 0, 0, 0]
            while lines and lines[0][0] == "pad" and padding != given["padding"]:
                padding = [a + b for a, b in zip(padding, whole(lines.pop(0)[1]))]
            assert padding == given["padding"], (padding, given)
        if given["needs_crop"]:
            given["top"], given["left"], height, width = whole(taken(lines, "crop"))
            assert [height, width] == list(step.size)
        return given
    if name == "RandomRotation":
        numbers = taken(lines, "rotate")
        assert bool(numbers[1]) == step.expand
        return {"angle": numbers[0]}
    if name == "RandomAffine":
        angle, x, y, scale, shear_x, shear_y = taken(lines, "affine")
        return {"angle": angle, "translate": (int(x), int(y)), "scale": scale, "shear": (shear_x, shear_y)}
    if name == "RandomPerspective":
        return {"coefficients": taken(lines, "perspective")}
    if name == "Resize":
        taken(lines, "resize")
    elif name == "CenterCrop":
        assert whole(taken(lines, "center_crop")) == list(step.size)
    elif name == "Pad":
        taken(lines, "pad")
    return {}


def taken(lines, word):
    assert lines and lines[0][0] == word, (word, lines)
    return lines.pop(0)[1]


_DRAWN = ("RandomHorizontalFlip", "RandomVerticalFlip", "RandomZoomOut", "RandomIoUCrop", "RandomCrop", "RandomResizedCrop",
          "RandomShortestSize", "RandomResize", "ScaleJitter", "RandomRotation", "RandomAffine", "RandomPerspective")


def theirs(chain, lines, sample):
    """The sample after torchvision's own transforms, whose numbers are those of the lines."""
    lines = list(lines)
    for step in chain:
        given = arguments(step, lines, sample)
        if given is None:
            continue
        if type(step).__name__ in _DRAWN:
            sample = with_numbers(step, given, sample)
        else:
            sample = step(sample)
    assert not lines, f"lines are left over: {lines}"
    return sample


def with_numbers(step, given, sample):
    flat, form = torch.utils._pytree.tree_flatten(sample)
    wanted = step._needs_transform_list(flat)
    return torch.utils._pytree.tree_unflatten(
        [step.transform(leaf, given) if need else leaf for leaf, need in zip(flat, wanted)], form)
