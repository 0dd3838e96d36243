// Exchanges between ranks as ops of a graph: compiled on several ranks that are threads, with the second stream of the
// CPU and of the simulated device.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "ridgeline/compile/compile.h"
#include "ridgeline/compile/run/graph_run.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/comm/ranks.h"
#include "tests/compile/list_device.h"
#include "tests/compile/rank_support.h"

namespace ridgeline {
namespace {

using testing::numbers, testing::values, testing::world;

// y = op(x) on three ranks; x of rank r begins with 10 r.
std::vector<double> exchanged(comm::Communicator& ranks, const std::string& op, const Attributes& given,
                              const std::string& device) {
  Attributes attributes = given;
  attributes.set("ranks", std::int64_t{ranks.size()});
  GraphBuilder b("exchange");
  const Value x = b.input("x", {DType::f32, {3, 2}});
  b.returns("y", b.apply(op, {x}, attributes));
  SessionOptions options{.compute_threads = 1, .device = device};
  options.groups = world(ranks);
  GraphRun run(b.finish(), options, {});
  run.set({{"x", numbers({3, 2}, 10.0 * ranks.rank())}});
  EXPECT_TRUE(run.program().run());
  return values(run.returns()[0]);
}

class CollectiveOps : public ::testing::TestWithParam<std::string> {};

TEST_P(CollectiveOps, GiveEachRankWhatTheirFormulasSay) {
  using Values = std::vector<double>;
  comm::expect_ranks(3, [&](comm::Communicator& ranks) {
    const std::string& device = GetParam();
    const int r = ranks.rank();
    const Attributes mean = {{"reduction", std::string("mean")}}, root = {{"root", std::int64_t{1}}};
    EXPECT_EQ(exchanged(ranks, "all_reduce", {}, device), (Values{30, 33, 36, 39, 42, 45}));
    EXPECT_EQ(exchanged(ranks, "broadcast", root, device), (Values{10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(exchanged(ranks, "reduce", root, device), r == 1 ? (Values{30, 33, 36, 39, 42, 45}) : Values(6, 0));
    EXPECT_EQ(exchanged(ranks, "reduce_scatter", {}, device), (Values{30.0 + 6 * r, 33.0 + 6 * r}));
    EXPECT_EQ(exchanged(ranks, "all_gather", {}, device),
              (Values{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25}));
    EXPECT_EQ(exchanged(ranks, "all_to_all", {}, device),
              (Values{2.0 * r, 2.0 * r + 1, 10 + 2.0 * r, 11 + 2.0 * r, 20 + 2.0 * r, 21 + 2.0 * r}));
    if (r < 2) {
      const Attributes between = {{"from", std::int64_t{1}}, {"to", std::int64_t{0}}};
      EXPECT_EQ(exchanged(ranks, "transfer", between, device), (Values{10, 11, 12, 13, 14, 15}));
    }
    const Values means = exchanged(ranks, "all_reduce", mean, device);
    for (std::size_t i = 0; i < means.size(); ++i) EXPECT_FLOAT_EQ(static_cast<float>(means[i]), 10.0F + float(i));
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, CollectiveOps, ::testing::Values("cpu", "simulated"),
                         [](const auto& info) { return info.param; });

std::string refusal(const std::string& text, const SessionOptions& options) {
  try {
    GraphRun(parse_graph(text), options, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kTwoRanks =
    "graph @g(%x: f32[4]) {\n"
    "  %0 = all_reduce(%x) {ranks=2} : f32[4] name \"both\"\n"
    "  return %0 \"y\"\n"
    "}\n";

TEST(Collectives, AStepThatNeedsRanksIsRefusedWhereThereAreNone) {
  const std::string error = refusal(kTwoRanks, {});
  EXPECT_NE(error.find("op both (all_reduce)"), std::string::npos) << error;
  EXPECT_NE(error.find("2 ranks of group 'world', and this session has no such group"), std::string::npos) << error;
  SessionOptions alone;
  alone.groups["world"] = comm::single_rank();
  EXPECT_NE(refusal(kTwoRanks, alone).find("that group of the session has 1"), std::string::npos);
  std::string one = kTwoRanks;
  one.replace(one.find("ranks=2"), 7, "ranks=1");
  EXPECT_EQ(refusal(one, {}), "");
}

TEST(Collectives, HalvesThatDoNotBelongTogetherAreRefused) {
  const auto error = [](const std::string& nodes, const std::string& returned) -> std::string {
    const Graph graph =
        parse_graph("graph @g(%x: f32[4], %p: f32[16]) {\n" + nodes + "  return " + returned + " \"y\"\n}\n");
    try {
      check_exchanges(graph);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const std::string start = "  %0 = collective_start(%x) {collective=\"all_reduce\", ranks=1} : f32[16] name \"s\"\n";
  const std::string done = "  %1 = collective_done(%0) {ranks=1, shapes=[1, 4]} : f32[4] name \"d\"\n";
  EXPECT_EQ(error(start + done, "%1"), "");
  const auto expect = [&](const std::string& nodes, const std::string& returned, const std::string& text) {
    const std::string got = error(nodes, returned);
    EXPECT_NE(got.find(text), std::string::npos) << got << "\nfor\n" << nodes;
  };
  expect(start + done, "%0", "op s (all_reduce) gives what is in flight");
  expect(start + "  %1 = relu(%0) : f32[16] name \"r\"\n", "%1", "op r (relu) reads what s exchanges");
  expect(start + "  %1 = relu(%x) : f32[4]\n", "%1",
         "op s (all_reduce) begins an exchange that no collective_done ends");
  expect("  %0 = collective_done(%p) {ranks=1, shapes=[1, 4]} : f32[4] name \"d\"\n", "%0",
         "op d (collective_done) ends no");
  expect(start + done + "  %2 = collective_done(%0) {ranks=1, shapes=[1, 4]} : f32[4] name \"e\"\n", "%2",
         "op e (collective_done) ends an exchange that another op has ended");
  expect(start + "  %1 = collective_done(%0) {ranks=1, shapes=[1, 5]} : f32[5] name \"d\"\n", "%1",
         "op d (collective_done) gives other values than s exchanges");
}

TEST(Collectives, AStepCompiledWithHalvesIsCheckedToo) {
  const char* text =
      "graph @g(%p: f32[16]) {\n"
      "  %0 = collective_done(%p) {ranks=1, shapes=[1, 4]} : f32[4] name \"d\"\n"
      "  return %0 \"y\"\n}\n";
  EXPECT_NE(refusal(text, {}).find("op d (collective_done) ends no exchange"), std::string::npos);
}

TEST(Collectives, TheReferenceSaysThatItKnowsOneRank) {
  const Graph graph = parse_graph(kTwoRanks);
  EXPECT_THROW(evaluate(graph, {{"x", numbers({4}, 0)}}), Error);
}

// Two values are packed; reads before the exchange get the rank's own values although their memory is exchanged.
TEST(Collectives, WhatIsReadBehindTheStartIsNotWhatIsExchanged) {
  const std::string text =
      "graph @g(%x: f32[5], %z: f32[20]) {\n"
      "  %0 = exp(%x) : f32[5]\n"
      "  %1 = exp(%z) : f32[20]\n"
      "  %2 = collective_start(%0, %1) {collective=\"all_reduce\",ranks=2} : f32[48]\n"
      "  %3 = neg(%0) : f32[5]\n"
      "  %4, %5 = collective_done(%2) {ranks=2,shapes=[1,5,1,20]} : f32[5], f32[20]\n"
      "  %6 = add(%4, %3) : f32[5]\n"
      "  return %6 \"others\", %5 \"sum\"\n"
      "}\n";
  comm::expect_ranks(2, [&](comm::Communicator& ranks) {
    SessionOptions options{.compute_threads = 1};
    options.groups = world(ranks);
    for (const bool fusion : {true, false}) {
      GraphRun run(parse_graph(text), options, {.fusion = fusion});
      for (int round = 0; round < 3; ++round) {
        const double mine = 0.1 * ranks.rank() + round, other = 0.1 * (1 - ranks.rank()) + round;
        run.set({{"x", numbers({5}, mine)}, {"z", numbers({20}, mine, 0.01)}});
        ASSERT_TRUE(run.program().run());
        EXPECT_NEAR(run.returns()[0].at(3), std::exp(other + 3), 1e-3);
        EXPECT_NEAR(run.returns()[1].at(19), std::exp(mine + 0.19) + std::exp(other + 0.19), 1e-4);
      }
    }
  });
}

TEST(Collectives, AConditionKeepsAllRanksFromExchanging) {
  const std::string text =
      "graph @g(%x: f32[5], %apply: bool[]) {\n"
      "  %0 = exp(%x) : f32[5]\n"
      "  %1 = collective_start(%0, %apply) {collective=\"all_reduce\",conditional=true,ranks=2} : f32[16]\n"
      "  %2 = collective_done(%1) {ranks=2,shapes=[1,5]} : f32[5]\n"
      "  return %2 \"y\"\n"
      "}\n";
  comm::expect_ranks(2, [&](comm::Communicator& ranks) {
    SessionOptions options{.compute_threads = 1};
    options.groups = world(ranks);
    GraphRun run(parse_graph(text), options, {});
    for (const bool apply : {true, false, true}) {
      Tensor condition(DType::boolean, {});
      condition.set(0, apply ? 1 : 0);
      const std::int64_t calls = ranks.traffic().calls;
      run.set({{"x", numbers({5}, 0, 0)}, {"apply", condition}});
      ASSERT_TRUE(run.program().run());
      EXPECT_EQ(run.returns()[0].at(4), apply ? 2 : 1);
      EXPECT_EQ(ranks.traffic().calls - calls, apply ? 1 : 0);
    }
  });
}

std::atomic<bool> work_done{false};

// An exp that records when it ran.
KernelChoice make_telling_exp(const KernelRequest& request) {
  struct Telling final : Kernel {
    std::int64_t count;
    explicit Telling(std::int64_t n) : count(n) {}
    void run(const KernelArguments& a) override {
      for (std::int64_t i = 0; i < count; ++i)
        static_cast<float*>(a.outputs[0])[i] = std::exp(static_cast<const float*>(a.inputs[0])[i]);
      work_done = true;
    }
  };
  auto kernel = std::make_unique<Telling>(request.inputs[0].type.shape.elements());
  kernel->name = "telling exp";
  return kernel;
}

// Two ranks in one process, whose sum is available only after the concurrent work.
class WaitingRanks final : public comm::Communicator {
 public:
  WaitingRanks() : Communicator(0, 2) {}
  void abort(const std::string&) override {}
  bool in_time = false;

 protected:
  void do_all_reduce(void* values, std::int64_t count, DType, comm::Reduction) override {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!work_done && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    in_time = work_done;
    for (std::int64_t i = 0; i < count; ++i) static_cast<float*>(values)[i] *= 2;
  }
  void do_reduce_scatter(const void*, void*, std::int64_t, DType, comm::Reduction) override {}
  void do_all_gather(const void*, void*, std::int64_t) override {}
  void do_broadcast(void*, std::int64_t, int) override {}
  void do_all_to_all(const void*, void*, std::int64_t) override {}
  void do_send(const void*, std::int64_t, int) override {}
  void do_receive(void*, std::int64_t, int) override {}
  void do_barrier() override {}
  std::shared_ptr<void> do_allocate(std::int64_t) override { return nullptr; }
  std::unique_ptr<Communicator> do_group(const std::vector<int>&, int) override { return nullptr; }
};

TEST(Collectives, RunBesideWhatStandsBetweenStartAndDone) {
  const auto ranks = std::make_shared<WaitingRanks>();
  SessionOptions options =
      testing::on_list_device({{"exp", "telling", Provider::own, make_telling_exp}}, FusionLimits{});
  options.groups["world"] = ranks;
  GraphRun run(parse_graph("graph @g(%x: f32[4]) {\n"
                           "  %0 = all_reduce(%x) {ranks=2} : f32[4]\n"
                           "  %1 = exp(%x) : f32[4]\n"
                           "  %2 = add(%0, %1) : f32[4]\n"
                           "  return %2 \"y\"\n"
                           "}\n"),
               options, {});
  for (int round = 0; round < 3; ++round) {
    work_done = false;
    run.set({{"x", numbers({4}, 1, 0)}});
    ASSERT_TRUE(run.program().run());
    EXPECT_TRUE(ranks->in_time) << "the exchange had to wait for work that came behind it";
    EXPECT_NEAR(run.returns()[0].at(3), 2 + std::exp(1.0), 1e-6);
  }
}

TEST(Collectives, OfTheSimulatedDeviceTakeTheTimeOfTheirLink) {
  SessionOptions options{.device = "simulated"};
  options.simulated.link = {.latency = 0.02, .bandwidth = 1e4};  // and 160 bytes
  GraphRun run(parse_graph("graph @g(%x: f32[40]) {\n  %0 = all_reduce(%x) {ranks=1} : f32[40]\n  return %0\n}\n"),
               options, {});
  run.set({{"x", numbers({40}, 0)}});
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(run.program().run());
  EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 0.02 + 160 / 1e4);
}

TEST(Collectives, ARankThatStopsInTheMiddleOfAStepTellsTheOthers) {
  const std::vector<std::string> ends = comm::run_ranks(2, [](comm::Communicator& ranks) {
    SessionOptions options{.compute_threads = 1};
    options.groups = world(ranks);
    GraphRun run(parse_graph(kTwoRanks), options, {});
    run.set({{"x", numbers({4}, 0)}});
    if (ranks.rank() == 1) run.session().stop_flag() = true;
    EXPECT_FALSE(run.program().run());
  });
  EXPECT_NE(ends[0].find("rank 1 gave up: it stopped in the middle of a step"), std::string::npos) << ends[0];
  EXPECT_EQ(ends[1], "");
}

// The first stream is then still working, before the point at which the second exchange would wait for it. The memory
// that it uses must still exist (the address sanitizer checks it).
TEST(Collectives, AProgramThatStoppedMayGoWhileItsDeviceRunsBehind) {
  constexpr const char* text =
      "graph @g(%x: f32[4], %y: f32[300000]) {\n"
      "  %0 = all_reduce(%x) {ranks=2} : f32[4]\n"
      "  %1 = exp(%y) : f32[300000]\n"
      "  %2 = reduce_sum(%1) : f32[]\n"
      "  %3 = all_reduce(%2) {ranks=2} : f32[]\n"
      "  return %0 \"first\", %3 \"second\"\n"
      "}\n";
  std::atomic<bool> gave_up{false};
  constexpr int kSecondsToWait = 5;  // all of them return: nobody takes part in the first exchange of rank 1
  const std::vector<std::string> ends = comm::run_ranks(
      2,
      [&](comm::Communicator& ranks) {
        SessionOptions options{.compute_threads = 1, .device = "simulated"};
        options.groups = world(ranks);
        int exchanges = 0;
        std::atomic<bool>* stop = nullptr;
        if (ranks.rank() == 1) {
          options.simulated.on_launch = [&](std::string_view kernel) {
            if (kernel.find("exchange") != std::string_view::npos && ++exchanges == 2) *stop = true;
          };
        } else {
          gave_up.wait(false);  // so the other one waits in its first exchange when it stops
        }
        {
          GraphRun run(parse_graph(text), options, {.fusion = false});
          stop = &run.session().stop_flag();
          run.set({{"x", numbers({4}, 0)}, {"y", numbers({300000}, 0, 1e-6)}});
          EXPECT_FALSE(run.program().run());
        }
        gave_up = true;
        gave_up.notify_all();
      },
      kSecondsToWait);
  EXPECT_NE(ends[0].find("rank 1 gave up"), std::string::npos) << ends[0];
  EXPECT_EQ(ends[1], "");
}

}  // namespace
}  // namespace ridgeline
