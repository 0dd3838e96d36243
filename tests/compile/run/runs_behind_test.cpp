// Programs on an asynchronous device: loops enqueued as a whole, recorded and replayed steps, two sets of inputs. The
// simulated device checks that work on the same bytes is ordered.
#include <gtest/gtest.h>

#include <cstring>

#include "ridgeline/compile/run/measure.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/random_graph.h"
#include "tests/compile/small_step.h"
#include "tests/compile/support.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

// An average that follows the input, and its previous value.
constexpr const char* kFollow = R"(graph @follow(%x: f32[3], %mean: state f32[3]) {
  %0 = add(%mean, %x) : f32[3]
  %1 = scale(%0) {factor=0.5} : f32[3]
  %2 = reduce_sum(%1) : f32[]
  update %mean = %1
  return %2 "sum", %1 "mean"
}
)";

SessionOptions simulated(bool records) {
  SessionOptions options{.compute_threads = 1, .device = "simulated"};
  options.simulated.records = records;
  return options;
}

SimulatedDevice& device_of(Session& session) { return static_cast<SimulatedDevice&>(session.device()); }

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

// A small training step whose bits depend on its inputs.
struct Line {
  explicit Line(bool records) : session(simulated(records)) {
    GraphBuilder b("line");
    const Value x = b.input("x", {DType::f32, {4}});
    const Value w = b.param("w", {DType::f32, {4}});
    const Value error = x * w - 1.0;
    b.update(w, w - error * x * 0.1);
    b.returns("loss", b.apply("reduce_sum", {error * error}));
    b.returns("errors", b.apply("mul", {error, error}));
    graph = b.finish();
    session.parameters().set("w", Tensor::zeros(DType::f32, {4}));
    program = compile(graph, session, {.verify = true});
  }
  void set(int step) {
    for (std::int64_t i = 0; i < 4; ++i) x.data<float>()[i] = 0.25f * static_cast<float>((step * 7 + i) % 11);
    program->bind("x", x);
  }

  Session session;
  Graph graph;
  std::unique_ptr<Program> program;
  Tensor x{DType::f32, {4}};
};

TEST(RunsBehind, AHundredStepsCallTheHostOnce) {
  Line step(true);
  ASSERT_TRUE(step.program->runs_behind());
  step.set(0);
  ASSERT_TRUE(step.program->run());
  SimulatedDevice& device = device_of(step.session);
  const std::int64_t waits = device.host_waits(), replays = device.replays();
  EXPECT_EQ(step.program->run_loop(100, [] { return true; }), 100);
  EXPECT_EQ(device.host_waits() - waits, 1);
  EXPECT_GE(device.replays() - replays, 98) << "the first of each set of inputs may be recorded";
}

TEST(RunsBehind, RunsAreTimedWithoutWaitingForEach) {
  Line step(true);
  step.set(0);
  const std::int64_t waits = device_of(step.session).host_waits();
  const RunTimes times = time_runs(*step.program, 20);
  EXPECT_EQ(times.runs, 20);
  EXPECT_GT(times.milliseconds, 0);
  EXPECT_EQ(device_of(step.session).host_waits() - waits, 4) << "two runs and two loops";
}

TEST(RunsBehind, AWholeLoopHasTheBitsOfItsStepsOneByOne) {
  constexpr int kSteps = 40;
  Line alone(false), loop(true);
  std::vector<float> losses, looped;
  for (int i = 0; i < kSteps; ++i) {
    alone.set(i);
    ASSERT_TRUE(alone.program->run());
    losses.push_back(alone.program->output("loss").data<float>()[0]);
  }
  int next = 0;
  EXPECT_EQ(loop.program->run_loop(
                kSteps,
                [&] {
                  loop.set(next++);
                  return true;
                },
                [&] {
                  looped.push_back(loop.program->output("loss").data<float>()[0]);
                  return true;
                }),
            kSteps);
  EXPECT_EQ(losses, looped) << "each step's, in order";
  EXPECT_TRUE(same_bits(alone.session.parameters().get("w"), loop.session.parameters().get("w")));
  EXPECT_TRUE(same_bits(alone.program->output("errors"), loop.program->output("errors"))) << "of the last step";
  EXPECT_GT(device_of(loop.session).replays(), kSteps - 6);
  EXPECT_EQ(device_of(alone.session).replays(), 0);
}

TEST(RunsBehind, LoopsEndWhereTheyAreToldTo) {
  Line step(true);
  step.set(0);
  int fed = 0;
  EXPECT_EQ(step.program->run_loop(50, [&] { return ++fed <= 7; }), 7) << "no more inputs";
  int done = 0;
  const std::int64_t given = step.program->run_loop(50, [] { return true; }, [&] { return ++done < 3; });
  EXPECT_GE(given, 3);
  EXPECT_EQ(done, given) << "who looks at results is told of all that were given";
  step.session.stop_flag() = true;
  EXPECT_EQ(step.program->run_loop(50, [] { return true; }), 0);
  step.session.stop_flag() = false;
  EXPECT_EQ(step.program->run_loop(3, [] { return true; }), 3) << "and go on";
}

TEST(RunsBehind, LargeValuesAreThoseOfTheLastStep) {
  const Graph graph = parse_graph("graph @large(%x: f32[1000]) {\n  %0 = relu(%x) : f32[1000]\n  return %0 \"y\"\n}\n");
  Session session(simulated(true));
  const auto program = compile(graph, session);
  Tensor x(DType::f32, {1000});
  x.data<float>()[0] = 2;
  program->bind("x", x);
  std::string said;
  EXPECT_EQ(program->run_loop(
                1, [] { return true; },
                [&] {
                  said = error_of([&] { program->output("y"); });
                  return true;
                }),
            1);
  EXPECT_EQ(said, "'y' is f32[1000], which is there behind the last step of a loop alone");
  EXPECT_EQ(program->output("y").data<float>()[0], 2);
}

TEST(RunsBehind, PinnedInputsAreHeldUntilTheyAreCopied) {
  Line step(true);
  SimulatedDevice& device = device_of(step.session);
  int held = 0;
  struct Lease {
    int& held;
    std::unique_ptr<DeviceMemory> memory;
    Lease(int& count, Device& device) : held(count), memory(device.allocate_pinned(4 * sizeof(float))) { ++held; }
    ~Lease() {
      std::memset(memory->address(), 0xff, memory->bytes());  // later reads of it fail
      --held;
    }
  };
  int most = 0;
  EXPECT_EQ(step.program->run_loop(30,
                                   [&] {
                                     step.program->give_back(false);
                                     const auto lease = std::make_shared<Lease>(held, device);
                                     Tensor view = Tensor::view(lease->memory->address(), DType::f32, {4});
                                     for (std::int64_t i = 0; i < 4; ++i) view.data<float>()[i] = 1;
                                     step.program->bind("x", view, lease);
                                     most = std::max(most, held);
                                     return true;
                                   }),
            30);
  EXPECT_LE(most, 3) << "two sets and the next";
  step.program->give_back(true);
  EXPECT_EQ(held, 0);
  EXPECT_NE(error_of([&] { step.program->run(); }), "") << "its input is bound no more";
}

TEST(RunsBehind, AnErrorOfTheDeviceEndsTheLoopAndFormsAreMadeAgain) {
  SessionOptions options = simulated(true);
  Session session(options);
  const Graph graph = parse_graph(kFollow);
  session.parameters().set("mean", Tensor::zeros(DType::f32, {3}), ValueKind::state);
  const auto program = compile(graph, session);
  const auto pinned = session.device().allocate_pinned(3 * sizeof(float));
  std::memset(pinned->address(), 0, pinned->bytes());
  Tensor x = Tensor::view(pinned->address(), DType::f32, {3});
  program->bind("x", x);
  ASSERT_TRUE(program->run());
  // Overwritten while copies may still read it: the device detects that in at least one of these steps.
  float next = 1;
  const std::string said = error_of([&] {
    program->run_loop(100000, [&] {
      x.data<float>()[0] = next++;
      return true;
    });
  });
  EXPECT_NE(said.find("was written over"), std::string::npos) << said;
  EXPECT_TRUE(program->run()) << "nothing is left behind";
}

TEST(RunsBehind, ADevicesLimitOfMemoryIsItsOwn) {
  SessionOptions options = simulated(true);
  options.simulated.memory_limit = 10000;
  Session session(options);
  const Graph graph = parse_graph("graph @large(%x: f32[1000]) {\n  %0 = relu(%x) : f32[1000]\n  return %0 \"y\"\n}\n");
  EXPECT_EQ(error_of([&] { compile(graph, session); }),
            "[memory] the program needs 12.0 kB (inputs 8.0 kB, intermediate values 4.0 kB); device simulated has 10.0 "
            "kB");
}

// Several runs of the training program of a random step: its results and the store afterwards.
std::map<std::string, Tensor> run_step(const testing::RandomStep& step, bool records, std::int64_t& replays) {
  constexpr int kRuns = 6;
  Session session(simulated(records));
  testing::store_arguments(step.train, step.arguments, session);
  const auto program = compile(step.train, session, {.verify = true});
  testing::bind_inputs(step.train, step.arguments, *program);
  if (records) {
    EXPECT_EQ(program->run_loop(kRuns, [] { return true; }), kRuns);
  } else {
    for (int i = 0; i < kRuns; ++i) EXPECT_TRUE(program->run());
  }
  replays += device_of(session).replays();
  std::map<std::string, Tensor> values;
  for (std::size_t i = 0; i < step.train.returns.size(); ++i)
    values["return " + std::to_string(i)] = program->output(i).clone();
  for (const std::string& name : session.parameters().names()) values[name] = session.parameters().get(name);
  return values;
}

// RIDGELINE_RANDOM_GRAPHS and RIDGELINE_RANDOM_SEED as in random_graph_test.cpp.
TEST(RunsBehind, RandomGraphsRecordedAndReplayedHaveTheBitsOfRunsOneByOne) {
  const std::int64_t first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = number_from_environment("RIDGELINE_RANDOM_GRAPHS", 200);
  std::int64_t replays = 0, none = 0;
  for (std::int64_t seed = first; seed < first + count; ++seed) {
    const testing::RandomStep step = testing::random_step(static_cast<std::uint64_t>(seed));
    const std::map<std::string, Tensor> replayed = run_step(step, true, replays), alone = run_step(step, false, none);
    ASSERT_EQ(replayed.size(), alone.size());
    for (const auto& [name, value] : alone)
      ASSERT_TRUE(same_bits(value, replayed.at(name))) << "seed " << seed << ": " << name;
  }
  EXPECT_EQ(none, 0);
  EXPECT_GT(replays, 3 * count) << "most of the six runs of each are replays";
}

}  // namespace
}  // namespace ridgeline
