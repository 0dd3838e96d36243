// ridgeline/image/augment/policy.h
//
// What automatic augmentation does to one image: AutoAugment (Cubuk et al. 2018), RandAugment (Cubuk et al. 2019) and
// TrivialAugmentWide (Mueller and Hutter 2021), with torchvision's tables and its order of draws. The results are
// steps for apply_augments(). Pure functions: any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/image/augment/augment.h"

namespace ridgeline::image {

enum class AutoAugmentPolicy { imagenet, cifar10, svhn };

std::string_view name_of(AutoAugmentPolicy policy);
// An Error that lists the names for an unknown one.
AutoAugmentPolicy parse_auto_augment_policy(std::string_view name);

// One of the two operations of a learned pair: applied with a probability, at one of ten magnitudes.
struct PolicyStep {
  Augment op;
  double probability;
  int bin;  // 0 to 9; not used by operations without a magnitude
};
struct PolicyPair {
  PolicyStep first, second;
};
// The 25 pairs of a policy.
std::span<const PolicyPair> policy_pairs(AutoAugmentPolicy policy);

// The ranges of the magnitudes.
enum class MagnitudeSpace {
  usual,  // AutoAugment's and RandAugment's; translations grow with the image
  wide,   // TrivialAugmentWide's
};
// Whether the magnitude's sign is drawn.
bool has_sign(Augment op);
// Magnitude `bin` of `bins` (at least 2), without its sign, in float as torchvision's tables; 0 for operations without
// one.
double augment_magnitude(MagnitudeSpace space, Augment op, int bin, int bins, Size image);

// Draws the pair (an integer), two doubles and two integers for the signs, always all five. Gives none, one or both of
// the pair's operations.
std::vector<AugmentStep> draw_auto_augment(AutoAugmentPolicy policy, Size image, SampleRandom& random);

struct RandAugmentRule {
  int steps = 2;
  int magnitude = 9;  // of `bins`
  int bins = 31;
};
// An Error for numbers out of range.
void check_rand_augment_rule(const RandAugmentRule& rule);
// Draws for each step one of fourteen operations (an integer; all except Invert) and, if it has one, a sign (an
// integer).
std::vector<AugmentStep> draw_rand_augment(const RandAugmentRule& rule, Size image, SampleRandom& random);

// Draws one of the fourteen operations, one of the magnitudes (if it has any), a sign (if it has one).
AugmentStep draw_trivial_augment(int bins, SampleRandom& random);

}  // namespace ridgeline::image
