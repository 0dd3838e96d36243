// ridgeline/data/standard/augment.h
//
// Automatic augmentation of the standard training pipeline, by name. A new policy costs one more row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct AugmentEntry {
  std::string_view name;
  Transform (*make)();
};
std::span<const AugmentEntry> augment_table();
// An unknown name is an Error (usage) that lists all.
const AugmentEntry& augment_named(const std::string& name);

}  // namespace ridgeline::data
