#include <cmath>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "peer_oracle.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/augment/policy.h"
#include "statistics.h"
#include "support.h"
#include "tests/support/paths.h"

namespace ridgeline::image {
namespace {

SampleRandom augment_draws(std::uint64_t sample) { return SampleRandom(philox_key(8, "augment"), 0, sample); }

// The lines of policy_golden.txt that begin with `kind`, without that word.
std::vector<std::istringstream> golden_lines(const std::string& kind) {
  std::istringstream file(read_file(testing::source_directory() + "/tests/data/image/policy_golden.txt"));
  std::vector<std::istringstream> lines;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(kind + " ")) lines.emplace_back(line.substr(kind.size()));
  }
  return lines;
}

TEST(AugmentPolicy, PairsAreTorchvisions) {
  std::map<AutoAugmentPolicy, std::size_t> seen;
  for (std::istringstream& line : golden_lines("pair")) {
    std::string policy;
    line >> policy;
    const AutoAugmentPolicy which = parse_auto_augment_policy(policy);
    EXPECT_EQ(name_of(which), policy);
    const PolicyPair& pair = policy_pairs(which)[seen[which]++];
    for (const PolicyStep& step : {pair.first, pair.second}) {
      std::string op;
      double probability;
      int bin;
      line >> op >> probability >> bin;
      EXPECT_EQ(step.op, parse_augment(op));
      EXPECT_EQ(step.probability, probability);
      EXPECT_EQ(step.bin, bin);
    }
  }
  EXPECT_EQ(seen.size(), 3u);
  for (const auto& [policy, count] : seen) {
    EXPECT_EQ(count, 25u);
    EXPECT_EQ(policy_pairs(policy).size(), 25u);
  }
}

TEST(AugmentPolicy, MagnitudesAreTorchvisions) {
  int spaces = 0;
  for (std::istringstream& line : golden_lines("space")) {
    std::string space, name;
    Size size;
    int bins, sign;
    line >> space >> size.height >> size.width >> bins >> name >> sign;
    const Augment op = parse_augment(name);
    EXPECT_EQ(has_sign(op), sign == 1) << name;
    for (int bin = 0; bin < bins; ++bin) {
      double theirs;
      line >> theirs;
      const double ours =
          augment_magnitude(space == "wide" ? MagnitudeSpace::wide : MagnitudeSpace::usual, op, bin, bins, size);
      // torch.linspace uses vectors whose last bit depends on the machine: for 16 in this table, a translation of
      // TrivialAugment, it may give 15.999999.
      EXPECT_NEAR(ours, theirs, std::fabs(theirs) * 3e-7) << name << " " << bin;
    }
    ++spaces;
  }
  EXPECT_EQ(spaces, 14 + 14 + 14);
}

TEST(Augment, EveryOperationIsTorchvisionsOnPilImages) {
  int cases = 0;
  for (std::istringstream& line : golden_lines("apply")) {
    std::string name, hex;
    double magnitude;
    int sampling, height, width;
    line >> name >> magnitude >> sampling >> height >> width >> hex;
    const AugmentStep step{parse_augment(name), magnitude};
    AugmentOptions options;
    if (sampling == 1) options = {Sampling::bilinear, {7, 77, 177}};
    Image out(height, width);
    apply_augment(test::golden_picture(height, width, 3), step, options, out.data());
    EXPECT_EQ(test::to_hex(out), hex) << name << " " << magnitude << " " << name_of(options.sampling);
    ++cases;
  }
  EXPECT_EQ(cases, 52);
}

TEST(Augment, StepsFollowOneAnother) {
  const Image image = test::detailed_image(20, 30, 3);
  const std::vector<AugmentStep> steps = {
      {Augment::rotate, 20}, {Augment::equalize, 0}, {Augment::shear_x, 0.2}, {Augment::posterize, 3}};
  Image scratch, out(20, 30), expected = image;
  for (std::size_t n = 0; n <= steps.size(); ++n) {
    apply_augments(image, std::span(steps).first(n), {}, scratch, out.data());
    ASSERT_EQ(out, expected) << n;
    if (n == steps.size()) break;
    const Image before = expected;
    apply_augment(before, steps[n], {}, expected.data());
  }
}

TEST(AugmentPolicy, RandAugmentDrawsOperationsEvenlyAndSignsFairly) {
  std::vector<std::int64_t> count(14), negative(14);
  constexpr int n = 28000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = augment_draws(static_cast<std::uint64_t>(i));
    const std::vector<AugmentStep> steps = draw_rand_augment({}, {224, 224}, random);
    ASSERT_EQ(steps.size(), 2u);
    for (const AugmentStep& step : steps) {
      ++count[static_cast<std::size_t>(step.op)];
      negative[static_cast<std::size_t>(step.op)] += step.magnitude < 0;
      EXPECT_EQ(std::fabs(step.magnitude), augment_magnitude(MagnitudeSpace::usual, step.op, 9, 31, {224, 224}));
    }
  }
  EXPECT_LT(test::chi_square(count, std::vector<double>(14, 2 * n / 14.0)), 34.5);  // 13 degrees, 0.1 %
  for (std::size_t op = 0; op < 14; ++op) {
    const double share = static_cast<double>(negative[op]) / static_cast<double>(count[op]);
    if (has_sign(static_cast<Augment>(op))) {
      EXPECT_NEAR(share, 0.5, 0.03);
    } else {
      EXPECT_EQ(share, 0);
    }
  }
}

TEST(AugmentPolicy, TrivialAugmentDrawsEveryMagnitudeEvenly) {
  std::vector<std::int64_t> ops(14), bins(31);
  constexpr int n = 62000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = augment_draws(static_cast<std::uint64_t>(i));
    const AugmentStep step = draw_trivial_augment(31, random);
    ++ops[static_cast<std::size_t>(step.op)];
    if (step.op == Augment::solarize) ++bins[static_cast<std::size_t>(std::lround((255 - step.magnitude) / 8.5))];
  }
  EXPECT_LT(test::chi_square(ops, std::vector<double>(14, n / 14.0)), 34.5);
  const double each = static_cast<double>(ops[static_cast<std::size_t>(Augment::solarize)]) / 31;
  EXPECT_LT(test::chi_square(bins, std::vector<double>(31, each)), 59.7);  // 30 degrees, 0.1 %
}

TEST(AugmentPolicy, AutoAugmentAppliesEachStepWithItsProbability) {
  constexpr int n = 50000;
  for (const AutoAugmentPolicy policy :
       {AutoAugmentPolicy::imagenet, AutoAugmentPolicy::cifar10, AutoAugmentPolicy::svhn}) {
    std::map<Augment, double> expected, seen;
    for (const PolicyPair& pair : policy_pairs(policy)) {
      expected[pair.first.op] += pair.first.probability / 25;
      expected[pair.second.op] += pair.second.probability / 25;
    }
    for (int i = 0; i < n; ++i) {
      SampleRandom random = augment_draws(static_cast<std::uint64_t>(i));
      for (const AugmentStep& step : draw_auto_augment(policy, {32, 32}, random)) seen[step.op] += 1.0 / n;
    }
    for (const auto& [op, share] : expected) EXPECT_NEAR(seen[op], share, 0.012) << name_of(policy) << name_of(op);
  }
}

TEST(AugmentPolicy, AutoAugmentDrawsTheSameNumberWhateverItApplies) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    SampleRandom random = augment_draws(i), replay = augment_draws(i);
    const std::vector<AugmentStep> steps = draw_auto_augment(AutoAugmentPolicy::cifar10, {32, 48}, random);
    const PolicyPair& pair = policy_pairs(AutoAugmentPolicy::cifar10)[static_cast<std::size_t>(replay.integer(0, 24))];
    const double first = replay.uniform(), second = replay.uniform();
    const bool positive[2] = {replay.integer(0, 1) == 1, replay.integer(0, 1) == 1};
    std::vector<AugmentStep> expected;
    const auto add = [&](const PolicyStep& step, double chance, bool plus) {
      if (chance > step.probability) return;
      const double m = augment_magnitude(MagnitudeSpace::usual, step.op, step.bin, 10, {32, 48});
      expected.push_back({step.op, has_sign(step.op) && !plus ? -m : m});
    };
    add(pair.first, first, positive[0]);
    add(pair.second, second, positive[1]);
    EXPECT_EQ(steps, expected);
    EXPECT_EQ(random.bits(), replay.bits());
  }
}

TEST(AugmentPolicy, ErrorsSayWhatIsAllowed) {
  SampleRandom random = augment_draws(0);
  EXPECT_THROW(draw_rand_augment({2, 31, 31}, {8, 8}, random), Error);
  EXPECT_THROW(draw_rand_augment({-1, 9, 31}, {8, 8}, random), Error);
  EXPECT_THROW(draw_trivial_augment(1, random), Error);
  try {
    parse_auto_augment_policy("imagnet");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "[auto_augment] unknown policy 'imagnet': did you mean 'imagenet'? (allowed: imagenet, cifar10, svhn)");
  }
  try {
    parse_augment("Rotat");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'Rotate'?"), std::string::npos);
  }
}

}  // namespace
}  // namespace ridgeline::image
