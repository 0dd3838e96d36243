#include "ridgeline/core/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "ridgeline/core/file.h"

namespace ridgeline {
namespace {

nlohmann::json written(const Trace& trace) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("ridgeline-trace-" + std::to_string(::getpid()) + ".json")).string();
  trace.write(path);
  const auto parsed = nlohmann::json::parse(read_file(path));
  std::filesystem::remove(path);
  return parsed;
}

TEST(Trace, WritesSpansOnTheLanesOfTheirThreads) {
  Trace trace;
  trace.name_thread("main");
  const auto begin = Trace::Clock::now();
  trace.record("launch", "conv2d_1 \"fwd\"", begin, begin + std::chrono::microseconds(1500));
  std::thread([&] {
    trace.name_thread("data worker 0");
    TraceSpan span(&trace, "stage", "decode");
  }).join();

  const auto json = written(trace);
  ASSERT_EQ(json["traceEvents"].size(), 4u);
  std::map<std::string, int> lanes;
  for (const auto& event : json["traceEvents"]) {
    EXPECT_EQ(event["pid"], 1);
    if (event["ph"] == "M") lanes[event["args"]["name"]] = event["tid"];
  }
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_NE(lanes["main"], lanes["data worker 0"]);
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["ts"].get<std::int64_t>(), 0);
    if (event["cat"] == "launch") {
      EXPECT_EQ(event["name"], "conv2d_1 \"fwd\"");
      EXPECT_EQ(event["dur"], 1500);
      EXPECT_EQ(event["tid"], lanes["main"]);
    } else {
      EXPECT_EQ(event["name"], "decode");
      EXPECT_EQ(event["tid"], lanes["data worker 0"]);
    }
  }
}

TEST(Trace, DetailsOfASpanAreItsArguments) {
  Trace trace;
  const auto now = Trace::Clock::now();
  trace.record("launch", "conv2d", now, now, {{"kernel", "own conv2d"}, {"work", "1 GFLOP"}});
  trace.record("launch", "relu", now, now);
  const auto events = written(trace)["traceEvents"];
  EXPECT_EQ(events[0]["args"], (nlohmann::json{{"kernel", "own conv2d"}, {"work", "1 GFLOP"}}));
  EXPECT_FALSE(events[1].contains("args"));
}

TEST(Trace, ANullTraceRecordsNothing) {
  Trace trace;
  {
    const TraceSpan recorded(&trace, "stage", "read");
    const TraceSpan not_recorded(nullptr, "stage", "decode");
  }
  const auto events = written(trace)["traceEvents"];
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "read");
}

TEST(Trace, AnEmptyTraceIsStillJson) { EXPECT_TRUE(written(Trace())["traceEvents"].empty()); }

TEST(Trace, NamesThatAreNotUtf8DoNotLoseTheTrace) {
  Trace trace;
  const auto now = Trace::Clock::now();
  trace.record("file", "caf\xe9.jpg", now, now);
  EXPECT_EQ(written(trace)["traceEvents"].size(), 1u);
}

TEST(Trace, ThreadsRecordAtTheSameTime) {
  Trace trace;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) TraceSpan span(&trace, "stage", "work");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written(trace)["traceEvents"].size(), 1000u);
}

}  // namespace
}  // namespace ridgeline
