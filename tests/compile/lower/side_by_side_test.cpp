// Concurrent launches: which ops run in lanes, that they do run at the same time, and that the bits are those of
// sequential launches for any number of lanes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "ridgeline/compile/lower/lane_schedule.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/compile/random_graph.h"
#include "tests/compile/support.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

using testing::RandomStep;

std::size_t launches_in_lanes(const Program& program) {
  std::size_t count = 0;
  for (const LaunchReport& launch : program.launches()) count += launch.lane >= 0 ? 1 : 0;
  return count;
}

// Every returned value and the store after two rounds, bit by bit.
struct Bits {
  std::vector<std::string> values;
  std::size_t in_lanes = 0;
};

std::string bytes_of(const Tensor& value) { return {static_cast<const char*>(value.raw()), value.byte_size()}; }

Bits run(const RandomStep& step, const SessionOptions& options) {
  Session session(options);
  testing::store_arguments(step.train, step.arguments, session);
  const auto program = compile(step.train, session);
  Bits bits;
  bits.in_lanes = launches_in_lanes(*program);
  for (int round = 0; round < 2; ++round) {
    testing::bind_inputs(step.train, step.arguments, *program);
    EXPECT_TRUE(program->run());
    for (std::size_t i = 0; i < step.train.returns.size(); ++i) bits.values.push_back(bytes_of(program->output(i)));
    for (const std::string& name : session.parameters().names())
      bits.values.push_back(bytes_of(session.parameters().get(name)));
  }
  return bits;
}

std::uint64_t graphs() {
  const char* text = std::getenv("RIDGELINE_RANDOM_GRAPHS");
  return text == nullptr ? 60 : static_cast<std::uint64_t>(std::atoll(text));
}

TEST(SideBySide, GivesTheSameBitsForAnyNumberOfLanesAndThreadsInDeterministic) {
  std::size_t in_lanes = 0;
  for (std::uint64_t seed = 0; seed < graphs(); ++seed) {
    const RandomStep step = testing::random_step(seed);
    SessionOptions options{.compute_threads = 1, .promise = {Reproducibility::deterministic, false}};
    const Bits alone = run(step, options);
    EXPECT_EQ(alone.in_lanes, 0u);
    for (const int lanes : {2, 3}) {
      options.parallel_launches = lanes;
      options.compute_threads = 1 + static_cast<int>(seed + static_cast<std::uint64_t>(lanes)) % 3;
      const Bits beside = run(step, options);
      in_lanes += beside.in_lanes;
      EXPECT_TRUE(beside.values == alone.values)
          << "seed " << seed << ", " << lanes << " lanes, " << options.compute_threads << " threads";
    }
  }
  EXPECT_GT(in_lanes, graphs());
}

// A lane's team has one thread, like the whole team.
TEST(SideBySide, GivesTheSameBitsInFastWhereTheTeamsAreTheSame) {
  std::size_t in_lanes = 0;
  for (std::uint64_t seed = 1000; seed < 1000 + graphs(); ++seed) {
    const RandomStep step = testing::random_step(seed);
    const Bits alone = run(step, {.compute_threads = 1});
    for (const int lanes : {2, 5}) {
      const Bits beside = run(step, {.compute_threads = 1, .parallel_launches = lanes});
      in_lanes += beside.in_lanes;
      EXPECT_TRUE(beside.values == alone.values) << "seed " << seed << ", " << lanes << " lanes";
    }
  }
  EXPECT_GT(in_lanes, graphs());
}

constexpr const char* kBranches = R"(
graph @branches(%x: f32[4,8], %v: param f32[8,8], %w: param f32[8,8]) {
  %0 = dense(%x, %v) : f32[4,8]
  %1 = dense(%x, %w) : f32[4,8]
  %2 = add(%0, %1) : f32[4,8]
  return %2 "y"
}
)";

// Kernels of the test, whose behaviour each test sets.
std::function<void(const KernelArguments&)> on_dense;  // NOLINT: reset by each test

class CallingKernel final : public Kernel {
 public:
  void run(const KernelArguments& arguments) override { on_dense(arguments); }
};

KernelChoice make_calling_dense(const KernelRequest&) {
  auto kernel = std::make_unique<CallingKernel>();
  kernel->name = "calling";
  return kernel;
}

SessionOptions calling(int lanes) {
  SessionOptions options{.compute_threads = 1, .parallel_launches = lanes};
  options.make_device = [] {
    return std::make_unique<testing::ListDevice>(
        std::vector<KernelEntry>{{"dense", "calling", Provider::own, make_calling_dense}}, FusionLimits{}, true);
  };
  return options;
}

void write_ones(const KernelArguments& arguments) {
  std::fill_n(static_cast<float*>(arguments.outputs[0]), 4 * 8, 1.0f);
}

struct Branches {
  Graph graph = parse_graph(kBranches, "branches");
  Arguments arguments = testing::random_arguments(graph);
  Session session;
  std::unique_ptr<Program> program;

  explicit Branches(const SessionOptions& options) : session(options) {
    testing::store_arguments(graph, arguments, session);
    program = compile(graph, session);
    testing::bind_inputs(graph, arguments, *program);
  }
};

TEST(SideBySide, LaunchesThatDoNotDependOnEachOtherRunAtTheSameTime) {
  Branches branches(calling(2));
  std::atomic<int> here{0};
  on_dense = [&](const KernelArguments& arguments) {
    // Each continues when the other has arrived, too.
    ++here;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (here < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    write_ones(arguments);
  };
  ASSERT_TRUE(branches.program->run());
  EXPECT_EQ(here, 2);
  std::vector<int> lanes;
  for (const LaunchReport& launch : branches.program->launches()) lanes.push_back(launch.lane);
  EXPECT_EQ(lanes, (std::vector<int>{0, 1, -1}));
  EXPECT_EQ(branches.program->output("y").at(5), 2);
}

TEST(SideBySide, AnErrorInALaneEndsTheRunAndTheNextOneIsWhole) {
  Branches branches(calling(2));
  std::atomic<int> calls{0};
  on_dense = [&](const KernelArguments& arguments) {
    if (++calls == 2) throw Error("the second one fails");
    write_ones(arguments);
  };
  EXPECT_EQ(error_of([&] { branches.program->run(); }), "the second one fails");
  ASSERT_TRUE(branches.program->run());
  EXPECT_EQ(branches.program->output("y").at(0), 2);
}

TEST(SideBySide, AStopBetweenLaunchesEndsTheRun) {
  Branches branches(calling(2));
  on_dense = [&](const KernelArguments& arguments) {
    branches.session.stop_flag() = true;
    write_ones(arguments);
  };
  EXPECT_FALSE(branches.program->run());
  branches.session.stop_flag() = false;
  on_dense = write_ones;
  EXPECT_TRUE(branches.program->run());
}

TEST(SideBySide, OneLaneIsTheDefault) {
  for (const int lanes : {0, 1}) {
    Branches branches({.compute_threads = 2, .parallel_launches = lanes});
    EXPECT_EQ(launches_in_lanes(*branches.program), 0u);
    EXPECT_EQ(branches.program->memory().side_by_side, 0u);
    EXPECT_EQ(branches.session.parallel_launches(), 1);
  }
}

TEST(SideBySide, IsRefusedWhereADeviceRunsOneLaunchAfterTheOther) {
  EXPECT_EQ(error_of([] { Session session({.parallel_launches = 2, .device = "simulated"}); }),
            "2 launches side by side are wanted, and device simulated runs one after the other");
  EXPECT_EQ(error_of([] { Session session({.parallel_launches = 65}); }),
            "65 launches side by side are wanted; at most 64 can be");
}

// Equal work in lanes saves the cost of waiting for a team; a chain, and a pair of which one is almost empty, stay with
// the whole team.
TEST(SideBySide, OnlyWhatKeepsTheLanesBusyLeavesTheWholeTeam) {
  const auto lanes_of = [](const std::string& ops) {
    const std::string text = "graph @g(%x: f32[256,512], %w: param f32[512,512], %s: f32[2]) {\n" + ops + "}\n";
    const Graph graph = parse_graph(text, "g");
    Session session({.compute_threads = 2, .parallel_launches = 2});
    testing::store_arguments(graph, testing::random_arguments(graph), session);
    return launches_in_lanes(*compile(graph, session, {.fusion = false}));
  };
  EXPECT_EQ(lanes_of("%0 = dense(%x, %w) : f32[256,512]\n%1 = dense(%x, %w) {activation=\"relu\"} : f32[256,512]\n"
                     "return %0, %1\n"),
            2u);
  EXPECT_EQ(lanes_of("%0 = dense(%x, %w) : f32[256,512]\n%1 = dense(%0, %w) : f32[256,512]\nreturn %1\n"), 0u);
  EXPECT_EQ(lanes_of("%0 = dense(%x, %w) : f32[256,512]\n%1 = exp(%s) : f32[2]\nreturn %0, %1\n"), 0u);
}

TEST(LaneSchedule, PutsEachItemWhereItEndsFirst) {
  LaneSchedule schedule(2);
  const std::vector<int> none, first{0}, both{1, 2};
  EXPECT_EQ(schedule.add(3, none), 0);
  EXPECT_EQ(schedule.lanes(), 1);
  EXPECT_EQ(schedule.add(1, none), 1);
  EXPECT_EQ(schedule.add(1, none), 1);
  EXPECT_EQ(schedule.add(2, first), 0);  // comes after the launch that it waits for
  EXPECT_EQ(schedule.add(1, both), 1);
  EXPECT_EQ(schedule.lanes(), 2);
  EXPECT_EQ(schedule.end(), 5);
}

TEST(LaneSchedule, ATeamIsFasterWhereThereIsMuchToDo) {
  const Cost much{1e9, 1e6}, little{100, 100};
  const DeviceRates rates{.f32_flops = 1e11, .memory_bytes = 1e10, .launch_seconds = 1e-6, .barrier_seconds = 1e-5};
  EXPECT_LT(launch_seconds(much, 2, rates), launch_seconds(much, 1, rates));
  EXPECT_GT(launch_seconds(little, 2, rates), launch_seconds(little, 1, rates));
  DeviceRates at_once = rates;
  at_once.barrier_seconds = 0;
  EXPECT_LT(launch_seconds(little, 2, at_once), launch_seconds(little, 1, at_once)) << "it goes by the device";
}

}  // namespace
}  // namespace ridgeline
