// Exchanges between ranks of cards by way of the host's memory, on the recording driver: a card for each rank, ranks as
// threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "ridgeline/compile/compile.h"
#include "ridgeline/compile/run/graph_run.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/loop/synthetic.h"
#include "tests/comm/ranks.h"
#include "tests/compile/rank_support.h"
#include "tests/device/cuda/device_support.h"

namespace ridgeline::cuda::testing {
namespace {

using ridgeline::testing::numbers, ridgeline::testing::values, ridgeline::testing::world;

SessionOptions card_of(comm::Communicator& ranks, const std::string& device = "cuda_recording") {
  SessionOptions options{.compute_threads = 1, .device = device};
  options.groups = world(ranks);
  return options;
}

// y = op(x), x of rank r begins with 10 r in the first run, by 100 higher in each later one. The third run is the
// second's recording.
std::vector<std::vector<double>> exchanged(comm::Communicator& ranks, const std::string& op, Attributes attributes,
                                           const std::string& device) {
  attributes.set("ranks", std::int64_t{ranks.size()});
  GraphBuilder b("exchange");
  const Value x = b.input("x", {DType::f32, {3, 2}});
  b.returns("y", b.apply(op, {x}, attributes));
  GraphRun run(b.finish(), card_of(ranks, device), {});
  // Asynchronous, so that the recording includes the exchange.
  EXPECT_EQ(run.program().runs_behind(), device != "cpu");
  std::vector<std::vector<double>> results;
  for (int round = 0; round < 4; ++round) {
    run.set({{"x", numbers({3, 2}, 10.0 * ranks.rank() + 100 * round)}});
    EXPECT_TRUE(run.program().run());
    results.push_back(values(run.returns()[0]));
  }
  return results;
}

TEST(CudaExchanges, GiveEachRankWhatTheyGiveOnTheCpu) {
  add_recording_device();
  comm::expect_ranks(3, [](comm::Communicator& ranks) {
    const Attributes mean = {{"reduction", std::string("mean")}}, root = {{"root", std::int64_t{1}}},
                     between = {{"from", std::int64_t{1}}, {"to", std::int64_t{0}}};
    const std::pair<const char*, Attributes> kAll[] = {{"all_reduce", {}}, {"all_reduce", mean},   {"broadcast", root},
                                                       {"reduce", root},   {"reduce_scatter", {}}, {"all_gather", {}},
                                                       {"all_to_all", {}}, {"transfer", between}};
    for (const auto& [op, attributes] : kAll) {
      if (std::string(op) == "transfer" && ranks.rank() == 2) continue;
      EXPECT_EQ(exchanged(ranks, op, attributes, "cuda_recording"), exchanged(ranks, op, attributes, "cpu")) << op;
    }
  });
}

TEST(CudaExchanges, AConditionKeepsAllRanksFromExchanging) {
  add_recording_device();
  const std::string text =
      "graph @g(%x: f32[5], %apply: bool[]) {\n"
      "  %0 = exp(%x) : f32[5]\n"
      "  %1 = collective_start(%0, %apply) {collective=\"all_reduce\",conditional=true,ranks=2} : f32[16]\n"
      "  %2 = collective_done(%1) {ranks=2,shapes=[1,5]} : f32[5]\n"
      "  return %2 \"y\"\n"
      "}\n";
  comm::expect_ranks(2, [&](comm::Communicator& ranks) {
    GraphRun run(parse_graph(text), card_of(ranks), {});
    for (const bool apply : {true, false, true, true, false}) {
      const std::int64_t calls = ranks.traffic().calls;
      run.set({{"x", numbers({5}, 0, 0)}, {"apply", Tensor::scalar(apply)}});
      ASSERT_TRUE(run.program().run());
      EXPECT_EQ(run.returns()[0].at(4), apply ? 2 : 1);
      EXPECT_EQ(ranks.traffic().calls - calls, apply ? 1 : 0);
    }
  });
}

TEST(CudaExchanges, ARankThatStopsIsNamedByTheOther) {
  add_recording_device();
  const std::vector<std::string> ends = comm::run_ranks(2, [](comm::Communicator& ranks) {
    GraphRun run(parse_graph("graph @g(%x: f32[4]) {\n"
                             "  %0 = all_reduce(%x) {ranks=2} : f32[4]\n"
                             "  return %0 \"y\"\n"
                             "}\n"),
                 card_of(ranks), {});
    run.set({{"x", numbers({4}, 0)}});
    for (int round = 0; round < 3; ++round) ASSERT_TRUE(run.program().run());
    if (ranks.rank() == 1) run.session().stop_flag() = true;
    EXPECT_FALSE(run.program().run());
  });
  EXPECT_NE(ends[0].find("rank 1 gave up: it stopped in the middle of a step"), std::string::npos) << ends[0];
  EXPECT_EQ(ends[1], "");
}

// Four steps of ResNet-20 on two ranks with a batch each, in loops as training runs them.
std::vector<double> losses_of(comm::Communicator& ranks, const std::string& device) {
  nn::StepOptions options;
  options.model = &nn::model_named("resnet20");
  options.model_options.num_classes = 10;
  options.batch_size = 2;
  options.image_size = 16;
  const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{0.01}});
  Session session(card_of(ranks, device));
  for (const nn::ParameterSpec& spec : step.parameters)
    session.parameters().set(spec.name, nn::initialize(spec, 1), spec.kind());
  CompileOptions compiled;
  compiled.distribution = {.ranks = ranks.size(), .rank = ranks.rank()};
  const auto program = compile(step.graph, session, compiled);
  const train::SyntheticBatch batch(options, 10, 3 + static_cast<std::uint64_t>(ranks.rank()));
  std::vector<double> losses;
  program->run_loop(
      4,
      [&] {
        batch.bind(*program);
        return true;
      },
      [&] {
        losses.push_back(program->output(nn::kLossResult).at(0));
        return true;
      });
  return losses;
}

TEST(CudaExchanges, TwoRanksTrainAsOnTheCpu) {
  add_recording_device();
  comm::expect_ranks(2, [](comm::Communicator& ranks) {
    const std::vector<double> cpu = losses_of(ranks, "cpu"), card = losses_of(ranks, "cuda_recording");
    ASSERT_EQ(card.size(), cpu.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(card[i], cpu[i], 1e-3 * cpu[i]) << "step " << i;
  });
}

}  // namespace
}  // namespace ridgeline::cuda::testing
