// Exchanges between ranks of cards in programs, by way of the host's memory and from card to card, on the recording
// driver: a card for each rank, ranks as threads.
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
#include "tests/device/cuda/exchange_problem.h"

namespace ridgeline::cuda::testing {
namespace {

using ridgeline::testing::numbers, ridgeline::testing::values, ridgeline::testing::world;

// By way of the host, and from card to card.
constexpr const char* kWays[] = {"cuda_recording", "cuda_by_nccl"};

void add_devices() {
  add_recording_device();
  add_recording_device("cuda_by_nccl", {.over = CardsOver::nccl, .scratch_bytes = 4096});
}

SessionOptions card_of(comm::Communicator& ranks, const std::string& device = "cuda_recording",
                       Reproducibility bits = Reproducibility::deterministic) {
  SessionOptions options{.compute_threads = 1, .device = device, .promise = {.bits = bits}};
  options.groups = world(ranks);
  return options;
}

// y = op(x), x of rank r begins with 10 r in the first run, by 100 higher in each later one. The third run is the
// second's recording, from where on nothing is allocated.
std::vector<std::vector<double>> exchanged(comm::Communicator& ranks, const std::string& op, Attributes attributes,
                                           const std::string& device, DType type = DType::f32,
                                           Reproducibility bits = Reproducibility::deterministic) {
  const std::int64_t size = ranks.size();
  attributes.set("ranks", size);
  GraphBuilder b("exchange");
  const Value x = b.input("x", {type, {size, 37}});
  b.returns("y", b.apply(op, {x}, attributes));
  GraphRun run(b.finish(), card_of(ranks, device, bits), {});
  // Asynchronous, so that the recording includes the exchange.
  EXPECT_EQ(run.program().runs_behind(), device != "cpu");
  std::vector<std::vector<double>> results;
  RecordingCounts warm;
  for (int round = 0; round < 4; ++round) {
    Tensor values_of_round(type, {size, 37});
    for (std::int64_t i = 0; i < values_of_round.elements(); ++i)
      values_of_round.set(i, 10.0 * ranks.rank() + 100 * round + 0.37 * static_cast<double>(i));
    run.set({{"x", values_of_round}});
    EXPECT_TRUE(run.program().run());
    results.push_back(values(run.returns()[0]));
    if (device == "cpu") continue;
    const RecordingCounts now = counts_of(run.session().device());
    if (round == 3) {
      EXPECT_EQ(now.allocations, warm.allocations);
      EXPECT_EQ(now.replays, warm.replays + 1);
    }
    warm = now;
  }
  return results;
}

TEST(CudaExchanges, GiveEachRankWhatTheyGiveOnTheCpu) {
  add_devices();
  for (const int size : {2, 3}) {
    comm::expect_ranks(size, [](comm::Communicator& ranks) {
      const Attributes mean = {{"reduction", std::string("mean")}}, root = {{"root", std::int64_t{1}}},
                       between = {{"from", std::int64_t{1}}, {"to", std::int64_t{0}}};
      const std::pair<const char*, Attributes> kAll[] = {
          {"all_reduce", {}},     {"all_reduce", mean}, {"broadcast", root}, {"reduce", root},
          {"reduce_scatter", {}}, {"all_gather", {}},   {"all_to_all", {}},  {"transfer", between}};
      for (const auto& [op, attributes] : kAll) {
        if (std::string(op) == "transfer" && ranks.rank() == 2) continue;
        for (const DType type : {DType::f32, DType::bf16, DType::f64}) {
          const auto cpu = exchanged(ranks, op, attributes, "cpu", type);
          for (const char* way : kWays)
            EXPECT_EQ(exchanged(ranks, op, attributes, way, type), cpu) << op << ' ' << name_of(type) << ' ' << way;
          EXPECT_EQ(exchanged(ranks, op, attributes, "cuda_by_nccl", type, Reproducibility::fast), cpu) << op;
        }
      }
    });
  }
}

// What the device makes of an all_reduce of so many f32.
std::string name_of_exchange(comm::Communicator& ranks, CudaDevice& device) {
  const ExchangeProblem problem(collective_rules()[0], DType::f32, 16, {}, ranks.size());
  return device.collective(problem.request(ranks))->name;
}

TEST(CudaExchanges, TheWayIsThatOfAllRanks) {
  const auto names = [](CardsOver first, CardsOver second, Reproducibility bits) {
    std::vector<std::string> found(2);
    const std::vector<std::string> ends = comm::run_ranks(2, [&](comm::Communicator& ranks) {
      RecordingDevice card({.bits = bits}, {}, {}, {.over = ranks.rank() == 0 ? first : second});
      found[static_cast<std::size_t>(ranks.rank())] = name_of_exchange(ranks, card.device);
    });
    EXPECT_EQ(found[0], found[1]);
    return ends[0].empty() ? found[0] : ends[0] == ends[1] ? ends[0] : ends[0] + " / " + ends[1];
  };
  constexpr auto kFast = Reproducibility::fast, kPortable = Reproducibility::portable;
  EXPECT_EQ(names(CardsOver::nccl, CardsOver::nccl, kFast), "exchange all_reduce by NCCL");
  EXPECT_EQ(names(CardsOver::nccl, CardsOver::nccl, kPortable), "exchange all_reduce by NCCL, summed in pairs");
  EXPECT_EQ(names(CardsOver::automatic, CardsOver::automatic, kFast), "exchange all_reduce by way of the host");
  EXPECT_EQ(names(CardsOver::host, CardsOver::automatic, kFast), "exchange all_reduce by way of the host");
  EXPECT_EQ(names(CardsOver::nccl, CardsOver::host, kFast),
            "[cuda] rank 0 has RIDGELINE_CARDS_OVER=nccl, but rank 1 has RIDGELINE_CARDS_OVER=host");
}

TEST(CudaExchanges, AConditionKeepsAllRanksFromExchanging) {
  add_devices();
  const std::string text =
      "graph @g(%x: f32[5], %apply: bool[]) {\n"
      "  %0 = exp(%x) : f32[5]\n"
      "  %1 = collective_start(%0, %apply) {collective=\"all_reduce\",conditional=true,ranks=2} : f32[16]\n"
      "  %2 = collective_done(%1) {ranks=2,shapes=[1,5]} : f32[5]\n"
      "  return %2 \"y\"\n"
      "}\n";
  for (const char* way : kWays) {
    comm::expect_ranks(2, [&](comm::Communicator& ranks) {
      GraphRun run(parse_graph(text), card_of(ranks, way), {});
      for (const bool apply : {true, false, true, true, false}) {
        const std::int64_t calls = ranks.traffic().calls;
        run.set({{"x", numbers({5}, 0, 0)}, {"apply", Tensor::scalar(apply)}});
        ASSERT_TRUE(run.program().run());
        EXPECT_EQ(run.returns()[0].at(4), apply ? 2 : 1);
        EXPECT_EQ(ranks.traffic().calls - calls, apply ? 1 : 0);
      }
    });
  }
}

TEST(CudaExchanges, ARankThatStopsIsNamedByTheOther) {
  add_devices();
  for (const char* way : kWays) {
    const std::vector<std::string> ends = comm::run_ranks(2, [&](comm::Communicator& ranks) {
      GraphRun run(parse_graph("graph @g(%x: f32[4]) {\n"
                               "  %0 = all_reduce(%x) {ranks=2} : f32[4]\n"
                               "  return %0 \"y\"\n"
                               "}\n"),
                   card_of(ranks, way), {});
      run.set({{"x", numbers({4}, 0)}});
      for (int round = 0; round < 3; ++round) ASSERT_TRUE(run.program().run());
      if (ranks.rank() == 1) run.session().stop_flag() = true;
      EXPECT_FALSE(run.program().run());
    });
    EXPECT_NE(ends[0].find("rank 1 gave up: it stopped in the middle of a step"), std::string::npos) << ends[0];
    EXPECT_EQ(ends[1], "") << way;
  }
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
  add_devices();
  comm::expect_ranks(2, [](comm::Communicator& ranks) {
    const std::vector<double> cpu = losses_of(ranks, "cpu"), card = losses_of(ranks, "cuda_recording");
    ASSERT_EQ(card.size(), cpu.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(card[i], cpu[i], 1e-3 * cpu[i]) << "step " << i;
    EXPECT_EQ(losses_of(ranks, "cuda_by_nccl"), card) << "the same bits on either way";
  });
}

}  // namespace
}  // namespace ridgeline::cuda::testing
