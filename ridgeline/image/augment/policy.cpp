#include "ridgeline/image/augment/policy.h"

#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::image {
namespace {

constexpr int kPolicyBins = 10;
constexpr int kDrawnOps = 14;  // Augment's order is that of torchvision's tables: all but the last, Invert

// torch.linspace in float: from the start in the first half, from the end in the second.
double between(double start, double end, int bin, int bins) {
  const auto low = static_cast<float>(start), high = static_cast<float>(end);
  const float step = (high - low) / static_cast<float>(bins - 1);
  if (bin < bins / 2) return low + step * static_cast<float>(bin);
  return high - step * static_cast<float>(bins - bin - 1);
}

double bits_left(int most_cut, int bin, int bins) {
  const float unit = static_cast<float>((bins - 1) / static_cast<double>(most_cut));
  return 8 - round_half_even(static_cast<double>(static_cast<float>(bin) / unit));
}

bool has_magnitude(Augment op) {
  return op != Augment::identity && op != Augment::autocontrast && op != Augment::equalize && op != Augment::invert;
}

void check_bins(const char* op, int bins) {
  if (bins < 2) throw Error(std::string("[") + op + "] needs at least 2 magnitudes, not " + std::to_string(bins));
}

Augment draw_op(SampleRandom& random) { return static_cast<Augment>(random.integer(0, kDrawnOps - 1)); }

}  // namespace

bool has_sign(Augment op) { return op >= Augment::shear_x && op <= Augment::sharpness; }

double augment_magnitude(MagnitudeSpace space, Augment op, int bin, int bins, Size image) {
  RIDGELINE_CHECK(bins >= 2 && bin >= 0 && bin < bins, "a magnitude of the table");
  const bool wide = space == MagnitudeSpace::wide;
  const auto up_to = [&](double usual, double widest) { return between(0, wide ? widest : usual, bin, bins); };
  switch (op) {
    case Augment::shear_x:
    case Augment::shear_y: return up_to(0.3, 0.99);
    case Augment::translate_x: return up_to(150.0 / 331.0 * image.width, 32);
    case Augment::translate_y: return up_to(150.0 / 331.0 * image.height, 32);
    case Augment::rotate: return up_to(30, 135);
    case Augment::brightness:
    case Augment::color:
    case Augment::contrast:
    case Augment::sharpness: return up_to(0.9, 0.99);
    case Augment::posterize: return bits_left(wide ? 6 : 4, bin, bins);
    case Augment::solarize: return between(255, 0, bin, bins);
    default: return 0;
  }
}

std::vector<AugmentStep> draw_auto_augment(AutoAugmentPolicy policy, Size image, SampleRandom& random) {
  const std::span<const PolicyPair> pairs = policy_pairs(policy);
  const PolicyPair& pair = pairs[static_cast<std::size_t>(random.integer(0, static_cast<int>(pairs.size()) - 1))];
  const double chance[2] = {random.uniform(), random.uniform()};
  const bool positive[2] = {random.integer(0, 1) == 1, random.integer(0, 1) == 1};
  std::vector<AugmentStep> steps;
  for (int i = 0; i < 2; ++i) {
    const PolicyStep& step = i == 0 ? pair.first : pair.second;
    if (chance[i] > step.probability) continue;
    const double m = augment_magnitude(MagnitudeSpace::usual, step.op, step.bin, kPolicyBins, image);
    steps.push_back({step.op, has_sign(step.op) && !positive[i] ? -m : m});
  }
  return steps;
}

void check_rand_augment_rule(const RandAugmentRule& rule) {
  check_bins("rand_augment", rule.bins);
  if (rule.steps < 0) throw Error("[rand_augment] the number of steps must not be negative");
  if (rule.magnitude < 0 || rule.magnitude >= rule.bins) {
    throw Error("[rand_augment] magnitude " + std::to_string(rule.magnitude) + " is not one of " +
                std::to_string(rule.bins) + " (0 to " + std::to_string(rule.bins - 1) + ")");
  }
}

std::vector<AugmentStep> draw_rand_augment(const RandAugmentRule& rule, Size image, SampleRandom& random) {
  check_rand_augment_rule(rule);
  std::vector<AugmentStep> steps;
  for (int i = 0; i < rule.steps; ++i) {
    const Augment op = draw_op(random);
    const double m = augment_magnitude(MagnitudeSpace::usual, op, rule.magnitude, rule.bins, image);
    steps.push_back({op, has_sign(op) && random.integer(0, 1) == 1 ? -m : m});
  }
  return steps;
}

AugmentStep draw_trivial_augment(int bins, SampleRandom& random) {
  check_bins("trivial_augment", bins);
  const Augment op = draw_op(random);
  const int bin = has_magnitude(op) ? static_cast<int>(random.integer(0, bins - 1)) : 0;
  const double m = augment_magnitude(MagnitudeSpace::wide, op, bin, bins, {});
  return {op, has_sign(op) && random.integer(0, 1) == 1 ? -m : m};
}

}  // namespace ridgeline::image
