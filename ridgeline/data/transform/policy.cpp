#include "ridgeline/data/transform/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "ridgeline/data/ir/geometry_column.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/augment/policy.h"
#include "ridgeline/image/boxes.h"

namespace ridgeline::data {

Transform AutoAugment(AutoAugmentOptions options) {
  return {"auto_augment",
          {{"policy", options.policy}, {"interpolation", options.interpolation}, {"fill", options.fill.values}},
          ""};
}

Transform RandAugment(RandAugmentOptions options) {
  return {"rand_augment",
          {{"num_ops", options.num_ops},
           {"magnitude", options.magnitude},
           {"num_magnitude_bins", options.num_magnitude_bins},
           {"interpolation", options.interpolation},
           {"fill", options.fill.values}},
          ""};
}

Transform TrivialAugmentWide(TrivialAugmentWideOptions options) {
  return {"trivial_augment_wide",
          {{"num_magnitude_bins", options.num_magnitude_bins},
           {"interpolation", options.interpolation},
           {"fill", options.fill.values}},
          ""};
}

namespace {

// The draws of the policy's function in image/augment/policy.h.
class Policy : public Step {
 protected:
  using Draw = std::function<std::vector<image::AugmentStep>(image::Size, SampleRandom&)>;
  Policy(const Transform& t, std::uint64_t seed, Draw draw)
      : key_(philox_key(seed, t.name)),
        options_{image::parse_sampling(arg<std::string>(t.args, "interpolation")),
                 colour_of(arg<Integers>(t.args, "fill"))},
        draw_(std::move(draw)) {}

 public:
  void run(Frame& frame, Scratch& scratch) const override {
    const image::ImageView in = frame.view();
    const image::Size size{in.height, in.width};
    SampleRandom random = frame.random(key_);
    const std::vector<image::AugmentStep> steps = draw_(size, random);
    if (frame.boxes) {
      for (const image::AugmentStep& step : steps) image::augment_boxes(*frame.boxes, size, step);
    }
    if (steps.empty()) return;
    std::uint8_t* out = frame.output(bytes_of(size, in.channels));
    image::apply_augments(in, steps, options_, scratch.spare, out);
    frame.set(packed(out, size, in.channels));
  }

 private:
  PhiloxKey key_;
  image::AugmentOptions options_;
  Draw draw_;
};

int number(const Transform& t, const char* name) { return static_cast<int>(arg<std::int64_t>(t.args, name)); }

class AutoAugmentStep : public Policy {
 public:
  AutoAugmentStep(const Transform& t, std::uint64_t seed)
      : Policy(t, seed,
               [policy = image::parse_auto_augment_policy(arg<std::string>(t.args, "policy"))](
                   image::Size size, SampleRandom& random) { return image::draw_auto_augment(policy, size, random); }) {
  }
};

class RandAugmentStep : public Policy {
 public:
  RandAugmentStep(const Transform& t, std::uint64_t seed)
      : Policy(t, seed,
               [rule = image::RandAugmentRule{number(t, "num_ops"), number(t, "magnitude"),
                                              number(t, "num_magnitude_bins")}](
                   image::Size size, SampleRandom& random) { return image::draw_rand_augment(rule, size, random); }) {}
};

class TrivialAugmentWideStep : public Policy {
 public:
  TrivialAugmentWideStep(const Transform& t, std::uint64_t seed)
      : Policy(t, seed, [bins = number(t, "num_magnitude_bins")](image::Size, SampleRandom& random) {
          return std::vector<image::AugmentStep>{image::draw_trivial_augment(bins, random)};
        }) {}
};

// ---- rules

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

Schema policy_schema(const Transform& t, Schema schema, const Columns& columns) {
  if (find_column(schema, kGeometryColumn) && std::find(columns.begin(), columns.end(), kImageColumn) != columns.end())
    throw Error(fmt::format("[{}] moves pixels in ways that {} has no words for: put it before record_geometry", t.op,
                            kGeometryColumn));
  return each(pixels_of)(t, std::move(schema), columns);
}

}  // namespace

std::vector<TransformEntry> policy_transforms() {
  return {
      {.op = "auto_augment",
       .doc = "AutoAugment: one of 25 learned pairs of operations",
       .args = {{.name = "policy",
                 .type = ArgType::text,
                 .doc = "data set on which the pairs were learned",
                 .fallback = std::string("imagenet"),
                 .allowed = policies()},
                sampling_arg(),
                fill_arg()},
       .random = true,
       .check = [](const Transform& t) { check_fill(t); },
       .schema = policy_schema,
       .step = seeded_step<AutoAugmentStep>},
      {.op = "rand_augment",
       .doc = "RandAugment: some of fourteen operations, drawn uniformly, with one magnitude",
       .args = {{.name = "num_ops",
                 .type = ArgType::integer,
                 .doc = "number of operations per image",
                 .fallback = std::int64_t{2}},
                {.name = "magnitude",
                 .type = ArgType::integer,
                 .doc = "magnitude of all operations",
                 .fallback = std::int64_t{9}},
                bins_arg(),
                sampling_arg(),
                fill_arg()},
       .random = true,
       .check = check_rand_augment,
       .schema = policy_schema,
       .step = seeded_step<RandAugmentStep>},
      {.op = "trivial_augment_wide",
       .doc = "TrivialAugment: one of fourteen operations with a random magnitude",
       .args = {bins_arg(), sampling_arg(), fill_arg()},
       .random = true,
       .check = check_bins,
       .schema = policy_schema,
       .step = seeded_step<TrivialAugmentWideStep>},
  };
}

}  // namespace ridgeline::data
