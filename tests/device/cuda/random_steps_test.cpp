// Random graphs and training steps (tests/compile/random_graph.h) on a card of the recording driver: the references'
// results; a captured graph has a path between any two nodes on the same bytes, else the driver refuses it; a replay
// allocates nothing. RIDGELINE_RANDOM_GRAPHS=N takes N of them instead of a few, RIDGELINE_RANDOM_SEED=S begins at S.
#include <gtest/gtest.h>

#include "ridgeline/graph/ir/text.h"
#include "tests/compile/random_check.h"
#include "tests/compile/support.h"
#include "tests/device/cuda/card_setting.h"
#include "tests/device/cuda/device_support.h"
#include "tests/support/environment.h"

namespace ridgeline::cuda::testing {
namespace {

using ridgeline::testing::GraphCase;
using ridgeline::testing::RandomStep;
using ridgeline::testing::Setting;

std::int64_t first_seed() { return number_from_environment("RIDGELINE_RANDOM_SEED", 0); }
std::int64_t seeds_to_try(std::int64_t otherwise) {
  return number_from_environment("RIDGELINE_RANDOM_GRAPHS", otherwise);
}

std::string failed_step(const RandomStep& step, const Setting& setting, std::int64_t seed, const std::string& what) {
  const auto fails = [&](const GraphCase& c) {
    return !ridgeline::testing::difference(c, step.exact, setting).empty();
  };
  GraphCase found{step.train, step.arguments};
  if (fails(found)) found = ridgeline::testing::shrink(std::move(found), fails);
  const std::string comment =
      "seed " + std::to_string(seed) + (step.exact ? " (exact), " : " (rounded), ") + to_string(setting) + "\n" + what;
  return comment + "\n" + ridgeline::testing::write_case(found, "card_" + std::to_string(seed), comment) + "\n" +
         to_text(found.graph, {.locations = false});
}

TEST(CudaRandomSteps, GiveTheReferencesResultsRunTwiceAndBesideAnEvaluation) {
  add_recording_device();
  const std::int64_t count = seeds_to_try(40);
  int failed = 0;
  for (std::int64_t seed = first_seed(); seed < first_seed() + count && failed < 5; ++seed) {
    const RandomStep step = ridgeline::testing::random_step(static_cast<std::uint64_t>(seed));
    const Setting setting = card_setting("cuda_recording", seed);
    std::string d;
    try {
      d = ridgeline::testing::difference(step, ridgeline::testing::reference_of(step), setting);
    } catch (const std::exception& error) {
      d = error.what();
    }
    if (d.empty()) continue;
    ++failed;
    ADD_FAILURE() << failed_step(step, setting, seed, d);
  }
}

// Steps are captured when they are given the second time, with either set of inputs; from then on the host allocates
// nothing on the card and a run is one launch of a graph, whose nodes go in the order least like that of their capture:
// it must give the bits of one launch after the other.
TEST(CudaRandomSteps, AreReplayedWithoutAllocationsAndWithTheSameBits) {
  add_recording_device();
  const std::int64_t count = seeds_to_try(12);
  std::int64_t replayed = 0, nodes = 0;
  for (std::int64_t seed = first_seed(); seed < first_seed() + count; ++seed) {
    const RandomStep step = ridgeline::testing::random_step(static_cast<std::uint64_t>(seed));
    const auto run = [&](bool one_by_one) {
      Session session({.device = "cuda_recording", .trace = one_by_one});  // what is traced is not captured
      ridgeline::testing::store_arguments(step.train, step.arguments, session);
      const auto program = compile(step.train, session, {.verify = true});
      std::vector<Tensor> values;
      RecordingCounts warm;
      for (int i = 0; i < 9; ++i) {
        if (i == 6) warm = counts_of(session.device());
        ridgeline::testing::bind_inputs(step.train, step.arguments, *program);
        EXPECT_TRUE(program->run());
        for (std::size_t r = 0; r < step.train.returns.size(); ++r) values.push_back(program->output(r).clone());
      }
      const RecordingCounts counts = counts_of(session.device());
      if (!one_by_one && counts.replays > 0) {
        EXPECT_EQ(counts.allocations, warm.allocations) << "seed " << seed;
        EXPECT_EQ(counts.live_objects, warm.live_objects) << "seed " << seed;
        EXPECT_EQ(counts.replays, warm.replays + 3) << "seed " << seed;
        ++replayed;
        nodes += std::ssize(program->launches());
      }
      EXPECT_TRUE(!one_by_one || counts.replays == 0);
      for (const std::string& name : session.parameters().names()) values.push_back(session.parameters().get(name));
      return values;
    };
    const std::vector<Tensor> as_graphs = run(false), one_by_one = run(true);
    ASSERT_EQ(as_graphs.size(), one_by_one.size());
    for (std::size_t i = 0; i < as_graphs.size(); ++i) {
      ASSERT_EQ(std::memcmp(as_graphs[i].raw(), one_by_one[i].raw(), one_by_one[i].byte_size()), 0)
          << "seed " << seed << ", value " << i << "\n"
          << to_text(step.train, {.locations = false});
    }
  }
  EXPECT_GT(replayed, count / 2);
  EXPECT_GT(nodes, 5 * replayed);
}

}  // namespace
}  // namespace ridgeline::cuda::testing
