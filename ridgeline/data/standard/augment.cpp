#include "ridgeline/data/standard/augment.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/joined_names.h"
#include "ridgeline/data/transform/policy.h"

namespace ridgeline::data {
namespace {

constexpr AugmentEntry kAugments[] = {
    {"autoaugment", [] { return AutoAugment(); }},
    {"autoaugment_cifar10", [] { return AutoAugment({.policy = "cifar10"}); }},
    {"autoaugment_svhn", [] { return AutoAugment({.policy = "svhn"}); }},
    {"randaugment", [] { return RandAugment(); }},
    {"trivial_augment_wide", [] { return TrivialAugmentWide(); }},
};

}  // namespace

std::span<const AugmentEntry> augment_table() { return kAugments; }

const AugmentEntry& augment_named(const std::string& name) {
  for (const AugmentEntry& entry : kAugments) {
    if (entry.name == name) return entry;
  }
  throw Error("unknown augment '" + name + "' (allowed: " + joined_names(kAugments) + ")", ErrorKind::usage);
}

}  // namespace ridgeline::data
