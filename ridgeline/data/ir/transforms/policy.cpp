#include <algorithm>

#include "ridgeline/data/ir/transforms/entries.h"
#include "ridgeline/image/augment_policy.h"

namespace ridgeline::data {
namespace {

ArgSpec bins_arg() {
  return {.name = "num_magnitude_bins",
          .type = ArgType::integer,
          .doc = "number of magnitudes",
          .fallback = std::int64_t{31}};
}

void check_bins(const Transform& t) {
  check_fill(t);
  check_between(t, "num_magnitude_bins", static_cast<double>(arg<std::int64_t>(t.args, "num_magnitude_bins")), 2, 1e6);
}

void check_rand_augment(const Transform& t) {
  check_bins(t);
  const auto bins = static_cast<double>(arg<std::int64_t>(t.args, "num_magnitude_bins"));
  check_between(t, "num_ops", static_cast<double>(arg<std::int64_t>(t.args, "num_ops")), 0, 1000);
  check_between(t, "magnitude", static_cast<double>(arg<std::int64_t>(t.args, "magnitude")), 0, bins - 1);
}

std::vector<std::string> policies() {
  std::vector<std::string> names;
  for (const auto policy :
       {image::AutoAugmentPolicy::imagenet, image::AutoAugmentPolicy::cifar10, image::AutoAugmentPolicy::svhn})
    names.emplace_back(image::name_of(policy));
  return names;
}

}  // namespace

std::vector<TransformEntry> policy_entries() {
  return {
      {.op = "auto_augment",
       .doc = "one of 25 learned pairs of operations",
       .args = {{.name = "policy",
                 .type = ArgType::text,
                 .doc = "data set that the pairs were learned on",
                 .fallback = std::string("imagenet"),
                 .allowed = policies()},
                sampling_arg(),
                fill_arg()},
       .random = true,
       .check = [](const Transform& t) { check_fill(t); },
       .schema = each_without_boxes(pixels_of)},
      {.op = "rand_augment",
       .doc = "some of fourteen operations, drawn alike, with one magnitude",
       .args = {{.name = "num_ops",
                 .type = ArgType::integer,
                 .doc = "operations on each image",
                 .fallback = std::int64_t{2}},
                {.name = "magnitude", .type = ArgType::integer, .doc = "of all of them", .fallback = std::int64_t{9}},
                bins_arg(),
                sampling_arg(),
                fill_arg()},
       .random = true,
       .check = check_rand_augment,
       .schema = each_without_boxes(pixels_of)},
      {.op = "trivial_augment_wide",
       .doc = "one of fourteen operations with a random magnitude",
       .args = {bins_arg(), sampling_arg(), fill_arg()},
       .random = true,
       .check = check_bins,
       .schema = each_without_boxes(pixels_of)},
  };
}

}  // namespace ridgeline::data
