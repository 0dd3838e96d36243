// Under a memory limit cheap values are computed twice: less memory, the same bits, and an Error with the least limit
// where that is not enough.
#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/nn/training_step.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

// One step of a small residual network on random data: the loss and every stored value.
struct Outcome {
  std::map<std::string, Tensor> values;
  std::size_t bytes = 0;
  std::size_t again = 0;  // ops that run twice
};

nn::Step small_network() {
  nn::StepOptions options;
  options.model = &nn::model_named("resnet20");
  options.model_options.num_classes = 10;
  options.batch_size = 8;
  options.image_size = 16;
  return nn::build_training_step(options, {});
}

Outcome one_step(std::size_t limit) {
  const nn::Step step = small_network();
  Session session;
  Arguments arguments = random_arguments(step.graph);
  for (auto& [name, value] : arguments) {
    for (std::int64_t i = 0; name.ends_with("running_var") && i < value.elements(); ++i) value.set(i, 1);
  }
  store_arguments(step.graph, arguments, session);
  const auto program = compile(step.graph, session, {.memory_limit = limit});
  bind_inputs(step.graph, arguments, *program);
  EXPECT_TRUE(program->run());
  Outcome outcome;
  outcome.bytes = program->memory().total();
  outcome.values["loss"] = program->output("loss").clone();
  for (const std::string& name : session.parameters().names()) outcome.values[name] = session.parameters().get(name);
  for (const Node& node : program->graph().nodes) {
    outcome.again += node.name.find("/again") != std::string::npos ? 1 : 0;
  }
  return outcome;
}

TEST(Recompute, ALimitIsKeptWithTheSameBits) {
  const Outcome free = one_step(0);
  EXPECT_EQ(free.again, 0u);
  const std::size_t limit = free.bytes * 93 / 100;
  const Outcome limited = one_step(limit);
  EXPECT_LE(limited.bytes, limit);
  EXPECT_GT(limited.again, 0u);
  ASSERT_EQ(free.values.size(), limited.values.size());
  for (const auto& [name, value] : free.values) {
    const Tensor& other = limited.values.at(name);
    EXPECT_EQ(std::memcmp(value.raw(), other.raw(), value.byte_size()), 0) << name;
  }
}

TEST(Recompute, AnImpossibleLimitIsRefusedWithTheLeastOneWhichThenIsKept) {
  std::string message;
  try {
    one_step(1 << 20);
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("[memory] the limit of 1.0 MB cannot be met: the least that was found is "), std::string::npos)
      << message;
}

TEST(Recompute, CanBeLeftOutByName) {
  const nn::Step step = small_network();
  Session session;
  EXPECT_THROW(compile(step.graph, session, {.disabled_passes = {"recompute"}, .memory_limit = 1 << 20}), Error);
}

}  // namespace
}  // namespace ridgeline
