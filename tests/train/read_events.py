"""Reads the event files of a folder with TensorBoard's own reader and prints what they hold."""

import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"images": 0, "histograms": 0, "scalars": 0})
events.Reload()
tags = events.Tags()
print("scalars", *sorted(tags["scalars"], key=["loss", "lr", "total_loss", "images_per_second"].index))
histograms = {tag: events.Histograms(tag) for tag in tags["histograms"]}
steps = {tuple(event.step for event in list_) for list_ in histograms.values()}
assert len(steps) == 1, steps
print("histograms steps", *steps.pop())
for tag, list_ in histograms.items():
    for event in list_:
        value = event.histogram_value
        assert sum(value.bucket) == value.num, tag
        assert list(value.bucket_limit) == sorted(value.bucket_limit), tag
assert any(tag.startswith("gradients/") for tag in histograms) and any(tag.startswith("weights/") for tag in histograms)
picture = events.Images("images/0")[0]
assert picture.encoded_image_string[:4] == b"\x89PNG"
print(f"pictures {picture.width}x{picture.height}x{3}")
graph = events.Graph()
names = {node.name for node in graph.node}
assert all(input_.split(":")[0] in names for node in graph.node for input_ in node.input)
print("graph nodes", len(names))
