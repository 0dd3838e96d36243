// Training on a device with its own memory: batches pass through the device queue into one of two sets of inputs, and
// loops are enqueued as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ridgeline/core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/recorded_losses.h"
#include "tests/train/shuffled_points.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kFeedSteps = 40;

struct Outcome {
  std::vector<double> losses;  // at the end of each loop
  std::map<std::string, Tensor> values;
  std::string place;
  std::int64_t replays = 0;
};

Outcome train_on_device(std::int64_t loop, bool records, data::IteratorOptions options = {}, bool queue = true) {
  SessionOptions on{.compute_threads = 1, .device = "simulated"};
  on.simulated.records = records;
  Session session(on);
  Model model(session, dropping_network());
  model.prepare_training({.schedule = optim::Constant{.base = 0.002}});
  options.epochs = data::kForever;
  DatasetFeed feed(shuffled_points(), options, {}, queue ? &session.device() : nullptr);
  RecordedLosses losses;
  Loop(model, feed, {.total_steps = kFeedSteps, .steps_per_epoch = kFeedSteps, .loop = loop}).run({&losses});
  Outcome outcome{.losses = losses.all, .place = feed.state()};
  for (const std::string& name : session.parameters().names()) outcome.values[name] = session.parameters().get(name);
  outcome.replays = static_cast<SimulatedDevice&>(session.device()).replays();
  return outcome;
}

void expect_same_values(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (const auto& [name, value] : a.values)
    EXPECT_EQ(std::memcmp(value.raw(), b.values.at(name).raw(), value.byte_size()), 0) << name;
  EXPECT_EQ(a.place, b.place);
}

TEST(DeviceFeed, WholeLoopsThroughTheQueueHaveTheBitsOfStepsOneByOne) {
  const Outcome one = train_on_device(1, false, {}, false);
  EXPECT_EQ(one.replays, 0);
  for (const std::int64_t loop : {1, 7, 40}) {
    const Outcome many = train_on_device(loop, true);
    expect_same_values(one, many);
    EXPECT_GT(many.replays, kFeedSteps - 6) << loop;
  }
}

TEST(DeviceFeed, FewSlotsAreGivenBackInTime) {
  const Outcome one = train_on_device(40, true);
  for (const std::int64_t slots : {2, 3, 4}) expect_same_values(one, train_on_device(40, true, {.slots = slots}));
}

TEST(DeviceFeed, ALossThatIsNotFiniteEndsTheRunAtItsStep) {
  const auto error_on = [](const char* device) {
    LineModel line(PrecisionPolicy{}, {.compute_threads = 1, .device = device});
    int step = 0;
    FunctionFeed feed([&](Program& program) {
      line.x.data<float>()[0] = ++step == 5 ? std::numeric_limits<float>::infinity() : 0.5f;
      program.bind("x", line.x);
      program.bind("y", line.y);
      return true;
    });
    return error_of([&] {
      Loop(line.model, feed, {.total_steps = 20, .steps_per_epoch = 20, .loop = 20})
          .run(std::initializer_list<Callback*>{});
    });
  };
  EXPECT_NE(error_on("cpu").find("step 5: Invalid loss ("), std::string::npos) << error_on("cpu");
  EXPECT_NE(error_on("simulated").find("step 5: Invalid loss ("), std::string::npos) << error_on("simulated");
}

TEST(DeviceFeed, ATraceShowsCopiesAndReadingBesideTheStep) {
  const std::string path = testing::temporary_directory() + "/device_feed_trace.json";
  SessionOptions on{.compute_threads = 1, .device = "simulated", .trace = true};
  on.simulated.product_seconds = 0.02;
  {
    Session session(on);
    Model model(session, dropping_network());
    model.prepare_training({.schedule = optim::Constant{.base = 0.002}});
    DatasetFeed feed(shuffled_points(),
                     {.workers = 1, .memory_limit = 1 << 12, .epochs = data::kForever, .trace = session.trace()}, {},
                     &session.device());
    Loop(model, feed, {.total_steps = 20, .steps_per_epoch = 20, .loop = 20}).run(std::initializer_list<Callback*>{});
    session.trace()->write(path);
  }
  struct Span {
    double begin, end;
  };
  std::map<int, std::string> lanes;
  std::map<std::string, std::vector<Span>> spans;
  const auto events = nlohmann::json::parse(read_file(path)).at("traceEvents");
  for (const auto& event : events)
    if (event.at("ph") == "M") lanes[event.at("tid").get<int>()] = event.at("args").at("name").get<std::string>();
  for (const auto& event : events) {
    if (event.at("ph") != "X" || event.at("cat") == "wait") continue;
    const double begin = event.at("ts").get<double>();
    spans[lanes[event.at("tid").get<int>()]].push_back({begin, begin + event.at("dur").get<double>()});
  }
  const auto overlap = [&](const std::string& some, const std::string& others) {
    return std::any_of(spans[some].begin(), spans[some].end(), [&](const Span& a) {
      return std::any_of(spans[others].begin(), spans[others].end(),
                         [&](const Span& b) { return a.begin < b.end && b.begin < a.end; });
    });
  };
  EXPECT_EQ(spans["device: copies"].size(), 20u);
  EXPECT_TRUE(overlap("device: copies", "device: compute"));
  EXPECT_TRUE(overlap("data worker 0", "device: compute"));
}

}  // namespace
}  // namespace ridgeline::train
