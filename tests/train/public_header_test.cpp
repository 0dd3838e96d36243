// The public header is sufficient: this file includes no other header of the project.
#include "ridgeline/ridgeline.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ridgeline {
namespace {

Value twice_and_one(Value x) {
  const Value y = x + x;
  return y + 1.0;
}

TEST(PublicHeader, TracesAFunctionCompilesItAndRunsItEagerlyToTheSameBits) {
  Session session({.compute_threads = 1});
  Tensor x = Tensor::of<float>({1, 2, 3}, {3});
  Eager eager(session);
  const Tensor at_once = eager.run(twice_and_one, x);
  const Graph graph = trace("twice_and_one", {f32({3})}, twice_and_one);
  const std::unique_ptr<Program> program = compile(graph, session);
  program->bind("x0", x);
  ASSERT_TRUE(program->run());
  EXPECT_EQ(std::memcmp(program->output("result").raw(), at_once.raw(), at_once.byte_size()), 0);
  EXPECT_EQ(at_once.at(2), 7.0);
}

TEST(PublicHeader, NamesWhatProgramsStandOn) {
  EXPECT_EQ(std::string(comm::kWorldGroup), "hccl_world_group");
  EXPECT_TRUE((std::is_constructible_v<infer::Predictor, const infer::Model&>));
  EXPECT_TRUE((std::is_base_of_v<train::Callback, train::SessionRunHook>));
  EXPECT_TRUE((std::is_base_of_v<train::SavesCheckpoints, train::ModelCheckpoint>));
  EXPECT_TRUE((std::is_constructible_v<train::Run, nn::Network, nn::TrainingOptions, train::RunSetup>));
  EXPECT_EQ(data::Iterator(data::InMemory({{"x", Tensor::of<float>({1, 2}, {2})}}).batch(1)).batches_per_epoch(), 2);
}

}  // namespace
}  // namespace ridgeline
