// Cheap values are recomputed if that takes almost no time, and as often as needed under a memory limit: less memory,
// the same bits, and an Error with the smallest possible limit if that is not enough.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/graph/pass/live_bytes.h"
#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/nn/training_step.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

// One step of a small residual network on random data: the loss and every stored value.
struct Outcome {
  std::map<std::string, Tensor> values;
  std::size_t bytes = 0;
  std::size_t derived = 0;  // number of launches
  std::size_t forms = 0;    // number of casts, without those of ops that run twice
  std::size_t again = 0;    // number of ops that run twice
  std::string said;         // bytes of its memory
};

// With so few images, launches take too long relative to the work for anything to be recomputed without a limit.
nn::Step small_network(std::int64_t images = 8, std::int64_t pixels = 16) {
  nn::StepOptions options;
  options.model = &nn::model_named("resnet20");
  options.model_options.num_classes = 10;
  options.batch_size = images;
  options.image_size = pixels;
  return nn::build_training_step(options, {});
}

// Compile options in addition to the limit.
struct Way {
  std::string mode = "must_keep_origin_dtype";
  std::int64_t images = 8, pixels = 16;
  std::vector<std::string> disabled = {};

  CompileOptions compile(std::size_t limit) const {
    CompileOptions options{.disabled_passes = disabled, .memory_limit = limit};
    options.precision = PrecisionPolicy::of(precision_mode_named(mode));
    return options;
  }
};

Outcome one_step(std::size_t limit, const Way& way = {}) {
  const nn::Step step = small_network(way.images, way.pixels);
  Session session;
  Arguments arguments = random_arguments(step.graph);
  for (auto& [name, value] : arguments) {
    for (std::int64_t i = 0; name.ends_with("running_var") && i < value.elements(); ++i) value.set(i, 1);
  }
  store_arguments(step.graph, arguments, session);
  const auto program = compile(step.graph, session, way.compile(limit));
  bind_inputs(step.graph, arguments, *program);
  EXPECT_TRUE(program->run());
  Outcome outcome;
  outcome.bytes = program->memory().total();
  outcome.derived = program->memory().derived;
  outcome.said = program->memory().to_text();
  for (const LaunchReport& launch : program->launches()) {
    const bool casts = launch.op == "cast" || launch.kernel.find("cast ") != std::string::npos;
    outcome.forms += casts && launch.node.find("/again") == std::string::npos ? 1 : 0;
  }
  outcome.values["loss"] = program->output("loss").clone();
  for (const std::string& name : session.parameters().names()) outcome.values[name] = session.parameters().get(name);
  for (const Node& node : program->graph().nodes) {
    outcome.again += node.name.find("/again") != std::string::npos ? 1 : 0;
  }
  return outcome;
}

void expect_same_bits(const Outcome& free, const Outcome& limited) {
  ASSERT_EQ(free.values.size(), limited.values.size());
  for (const auto& [name, value] : free.values) {
    const Tensor& other = limited.values.at(name);
    EXPECT_EQ(std::memcmp(value.raw(), other.raw(), value.byte_size()), 0) << name;
  }
}

TEST(Recompute, ALimitIsKeptWithTheSameBits) {
  const Outcome free = one_step(0);
  EXPECT_EQ(free.again, 0u);
  const std::size_t limit = free.bytes * 93 / 100;
  const Outcome limited = one_step(limit);
  EXPECT_LE(limited.bytes, limit);
  EXPECT_GT(limited.again, 0u);
  expect_same_bits(free, limited);
}

// Also without a limit, in a step whose values are large enough, and reported; with the pass disabled, all values are
// kept.
TEST(Recompute, WhatTakesNextToNothingRunsAgainByDefaultWithTheSameBits) {
  for (const std::string mode : {"must_keep_origin_dtype", "cube_fp16in_fp32out", "allow_mix_precision"}) {
    Way way{.mode = mode, .images = 128, .pixels = 32, .disabled = {"recompute"}};
    const Outcome kept = one_step(0, way);
    EXPECT_EQ(kept.again, 0u);
    EXPECT_EQ(kept.said.find("run again"), std::string::npos) << kept.said;
    way.disabled.clear();
    const Outcome spared = one_step(0, way);
    EXPECT_GT(spared.again, 0u) << mode;
    EXPECT_LT(spared.bytes, kept.bytes) << mode;
    EXPECT_NE(spared.said.find(std::to_string(spared.again) + " ops run again to spare "), std::string::npos)
        << spared.said;
    expect_same_bits(kept, spared);
  }
}

TEST(Recompute, TheBitsAreTheSameInAPrecisionMode) {
  const Way narrow{"cube_fp16in_fp32out"};
  const Outcome free = one_step(0, narrow);
  const Outcome limited = one_step(free.bytes * 97 / 100, narrow);
  EXPECT_GT(limited.again, 0u);
  expect_same_bits(free, limited);
}

// An update that replaces a stored value must come after all readers: a recomputed batch norm that reads the running
// statistics would have to run before the norm itself, and save nothing.
TEST(Recompute, TheOrderOfOpsKeepsWhatItSpares) {
  const Graph step = small_network(128, 32).graph;
  for (const FusionLimits& device : {reference_fusion_limits(), CpuDevice(Provider::own).fusion_limits()}) {
    PassContext context{.fusion = device};
    PassResults free;
    run_passes(step, context, free, {});
    context.live_limit = free.live.before * 9 / 10;
    PassResults limited;
    std::size_t ordered = 0;
    run_passes(step, context, limited, {}, [&](const Pass& pass, const Graph& graph) {
      if (pass.name == "schedule") ordered = LiveValues(graph).peak();
    });
    EXPECT_LT(limited.live.reached, free.live.before);
    EXPECT_GT(limited.live.again, 0u);
    EXPECT_LE(ordered, limited.live.reached);
  }
}

// The library's batch norm has other bits from given statistics than in training, so it is not recomputed there.
TEST(Recompute, TheShortWayIsForTheKernelsWhoseBitsItKeeps) {
  EXPECT_TRUE(CpuDevice(std::optional<Provider>()).fusion_limits().again.contains(DType::f32));
  EXPECT_TRUE(CpuDevice(Provider::own).fusion_limits().again.contains(DType::f32));
  for (const Provider forced : {Provider::library, Provider::reference}) {
    EXPECT_FALSE(CpuDevice(forced).fusion_limits().again.contains(DType::f32));
  }
  EXPECT_TRUE(CpuDevice(Provider::own).fusion_limits().again.contains(DType::bf16));
  EXPECT_FALSE(CpuDevice(Provider::own).fusion_limits().again.contains(DType::f16));
  EXPECT_FALSE(reference_fusion_limits().again.contains(DType::f32));
}

TEST(Recompute, CopiesOfParametersInNarrowTypesAreMadeAsOftenAsWithoutALimit) {
  const Way narrow{"cube_fp16in_fp32out"};
  const Outcome free = one_step(0, narrow);
  ASSERT_GT(free.forms, 0u);
  const Outcome limited = one_step(free.bytes * 97 / 100, narrow);
  EXPECT_LE(limited.bytes, free.bytes * 97 / 100);
  EXPECT_GT(limited.again, 0u);
  EXPECT_EQ(limited.derived, free.derived);
  EXPECT_EQ(limited.forms, free.forms);
}

TEST(Recompute, AnImpossibleLimitIsRefusedWithTheLeastOneWhichThenIsKept) {
  std::string message;
  try {
    one_step(1 << 20);
  } catch (const Error& error) {
    message = error.what();
  }
  const std::string words = "[memory] the limit of 1.0 MB cannot be met: the least that was found is ";
  ASSERT_TRUE(message.starts_with(words)) << message;
  // Printed with a tenth of a megabyte.
  const std::string least = message.substr(words.size());
  ASSERT_NE(least.find(" MB"), std::string::npos) << message;
  const auto limit = static_cast<std::size_t>((std::atof(least.c_str()) + 0.05) * 1e6);
  EXPECT_LT(limit, one_step(0).bytes);
  EXPECT_LE(one_step(limit).bytes, limit);
}

// One warning per compilation, however often it plans, and none from counting.
TEST(Recompute, WarningsAreSaidOnce) {
  const nn::Step step = small_network();
  const Way narrow{"cube_fp16in_fp32out"};
  Session session;
  const std::size_t free = compile(step.graph, session, narrow.compile(0))->memory().total();
  ::testing::internal::CaptureStderr();
  const auto program = compile(step.graph, session, narrow.compile(free * 97 / 100));
  count_launches(step.graph, session, narrow.compile(0));
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(program->warnings().size(), 1u);
  const std::size_t first = said.find(program->warnings()[0]);
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find(program->warnings()[0], first + 1), std::string::npos) << said;
}

TEST(Recompute, CanBeLeftOutByName) {
  const nn::Step step = small_network();
  Session session;
  EXPECT_THROW(compile(step.graph, session, {.disabled_passes = {"recompute"}, .memory_limit = 1 << 20}), Error);
}

}  // namespace
}  // namespace ridgeline
