// Callbacks around the batches of a run.
#include "ridgeline/data/ir/callback.h"

#include <thread>

#include "helpers.h"

namespace ridgeline::data::testing {
namespace {

// Records the calls: "e0" for the begin of epoch 0, "[2" and "2]" for begin and end of step 2.
struct Recorder : DataCallback {
  explicit Recorder(std::int64_t step_size = 1) : DataCallback(step_size) {}
  std::string log, fail_at;
  std::thread::id thread = std::this_thread::get_id();
  std::uint64_t run_steps = 0;

  void note(const std::string& what, const CallbackInfo& info) {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    log += (log.empty() ? "" : " ") + what;
    run_steps = info.run_steps;
    if (what == fail_at) throw Error("stopped by the callback at " + what);
  }
  void begin(const CallbackInfo& i) override { note("begin", i); }
  void epoch_begin(const CallbackInfo& i) override { note("e" + std::to_string(i.epoch), i); }
  void step_begin(const CallbackInfo& i) override { note("[" + std::to_string(i.step), i); }
  void step_end(const CallbackInfo& i) override { note(std::to_string(i.step) + "]", i); }
  void epoch_end(const CallbackInfo& i) override { note("E" + std::to_string(i.epoch), i); }
  void end(const CallbackInfo& i) override { note("end", i); }
};

Dataset with(const std::shared_ptr<Recorder>& recorder) {
  return rows_in_memory(6).map(RandomHorizontalFlip()).with_callbacks({recorder}).batch(2);
}

TEST(DataCallbacks, AreCalledInOrderAroundEveryBatchOfEveryEpoch) {
  for (const bool pull : {true, false}) {
    const auto recorder = std::make_shared<Recorder>();
    Iterator it(with(recorder), {.workers = 3, .epochs = 2, .pull = pull});
    while (const auto batch = it.next()) recorder->log += " use";
    EXPECT_EQ(recorder->log, "begin e0 [1 use 1] [2 use 2] [3 use 3] E0 e1 [1 use 1] [2 use 2] [3 use 3] E1 end");
    EXPECT_EQ(recorder->run_steps, 6u);
    EXPECT_FALSE(it.next());
    EXPECT_TRUE(recorder->log.ends_with("E1 end"));  // end is called once
  }
}

TEST(DataCallbacks, HonourTheStepSize) {
  const auto recorder = std::make_shared<Recorder>(2);
  Iterator it(rows_in_memory(10).map(RandomHorizontalFlip()).with_callbacks({recorder}).batch(2), {.pull = true});
  while (it.next()) {
  }
  EXPECT_EQ(recorder->log, "begin e0 [1 2] [3 4] [5 E0 end");
  EXPECT_ERROR(Recorder(0), "[callback] step_size is 0, it must be at least 1");
}

TEST(DataCallbacks, EndTheRunWhereTheyThrow) {
  for (const bool pull : {true, false}) {
    const auto recorder = std::make_shared<Recorder>();
    recorder->fail_at = "[2";
    Iterator it(with(recorder), {.workers = 2, .pull = pull});
    ASSERT_TRUE(it.next());
    EXPECT_ERROR(it.next(), "stopped by the callback at [2");
    EXPECT_ERROR(it.next(), "stopped by the callback at [2");
    EXPECT_EQ(recorder->log, "begin e0 [1 1] [2");
    EXPECT_EQ(it.state().delivered, 1u);  // the second batch was not delivered

    recorder->fail_at = "";
    recorder->log = "";
    it.restore(it.state());
    EXPECT_EQ(it.next()->index(), 1u);
    while (it.next()) {
    }
    EXPECT_EQ(recorder->log, "begin e0 [2 2] [3 3] E0 end");
  }
}

TEST(DataCallbacks, ChangeNeitherSamplesNorHashNorEquality) {
  const auto recorder = std::make_shared<Recorder>(3);
  const Dataset plain = rows_in_memory(6).map(RandomHorizontalFlip()).batch(2), data = with(recorder);
  EXPECT_EQ(data.hash(), plain.hash());
  EXPECT_EQ(data.graph().nodes.size(), plain.graph().nodes.size());
  EXPECT_TRUE(data.graph() == plain.graph());
  Iterator a(data), b(plain);
  EXPECT_EQ(digest(a), digest(b));
}

TEST(DataCallbacks, ShowTheirStepSizesInJson) {
  const Dataset data = with(std::make_shared<Recorder>(3));
  EXPECT_NE(data.to_json().find("\"callback\":[3]"), std::string::npos) << data.to_json();
  const Dataset back = Dataset::from_json(data.to_json());  // code cannot be read from JSON, the graph can
  EXPECT_TRUE(back.graph() == data.graph());
  EXPECT_TRUE(back.graph().nodes[1].callbacks.empty());
  std::string wrong = data.to_json();
  wrong.replace(wrong.find("\"callback\":[3]"), 14, "\"callback\":[0]");
  EXPECT_ERROR(Dataset::from_json(wrong), "must be step sizes of a map");
}

TEST(DataCallbacks, HangOnMaps) {
  const auto recorder = std::make_shared<Recorder>();
  EXPECT_ERROR(rows_in_memory(4).with_callbacks({recorder}), "call with_callbacks after map");
  EXPECT_ERROR(rows_in_memory(4).map(RandomHorizontalFlip()).with_callbacks({nullptr}), "a callback is null");
  DataGraph graph = rows_in_memory(4).batch(2).graph();
  graph.nodes[1].callbacks = {recorder};
  EXPECT_ERROR(Dataset(graph), "[batch] has callbacks; only map can have them");
}

TEST(DataCallbacks, OfSeveralMapsAreCalledInTheOrderOfTheGraphAlsoWhenPassesJoinThem) {
  const auto a = std::make_shared<Recorder>(), b = std::make_shared<Recorder>(2);
  const Dataset data = rows_in_memory(4)
                           .map(RandomHorizontalFlip())
                           .with_callbacks({a})
                           .map(Resize({2, 2}))
                           .with_callbacks({b, a})
                           .batch(2);
  Iterator it(data, {.pull = true});
  while (it.next()) {
  }
  EXPECT_EQ(a->log, "begin begin e0 e0 [1 [1 1] 1] [2 [2 2] 2] E0 E0 end end");
  EXPECT_EQ(b->log, "begin e0 [1 2] E0 end");
}

}  // namespace
}  // namespace ridgeline::data::testing
