// ridgeline/data/source/named.h
//
// The standard data sets, by name.
#pragma once

#include <string>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// A standard data set: imagenet, cifar10, cifar100, mnist, fashion_mnist, flowers102, manifest, voc, coco, ...
// (data/set/dataset_recipes.h). With boxes: the columns boxes f32 [?,4] (fractions: top, left, bottom, right) and
// box_labels.
Dataset NamedSet(const std::string& set, const std::string& split, const std::string& root, bool boxes = false);
// NOLINTEND(readability-identifier-naming)

SourceEntry named_source();

}  // namespace ridgeline::data
