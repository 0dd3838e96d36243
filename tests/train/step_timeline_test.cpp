#include "ridgeline/train/step_timeline.h"

#include <gtest/gtest.h>

#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/train/recipe/bench.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

Recipe small(const std::string& model) {
  Recipe recipe;
  recipe.model = model;
  recipe.batch_size = 2;
  recipe.num_classes = 10;
  return recipe;
}

TEST(StepTimeline, EachParametersGradientIsFinishedOnce) {
  for (const bool fusion : {true, false}) {
    Recipe recipe = small("resnet20");
    recipe.fusion = fusion;
    const StepBench bench = bench_step(recipe, 1);
    EXPECT_EQ(bench.timeline.gradient_bytes(), 269'722 * 4) << "all parameters of ResNet-20";
    EXPECT_GT(bench.timeline.seconds(), 0);
    // The gradient of the first layer is finished last; after it there are only updates.
    int last = -1, first = -1, updates = 0;
    for (int i = 0; i < static_cast<int>(bench.timeline.parts.size()); ++i) {
      const comm::StepPart& part = bench.timeline.parts[static_cast<std::size_t>(i)];
      updates += part.update ? 1 : 0;
      if (part.gradient_bytes == 0) continue;
      if (first < 0) first = i;
      last = i;
    }
    EXPECT_GT(updates, 0);
    EXPECT_GT(first, static_cast<int>(bench.timeline.parts.size()) / 4) << "no gradient before the backward part";
    EXPECT_GT(last - first, 20);
  }
}

void expect_refusal(const std::string& text, const std::string& words) {
  const std::string path = testing::temporary_directory() + "/step.json";
  write_file_atomically(path, text);
  const std::string message = error_of([&] { read_measured_step(path); });
  EXPECT_NE(message.find(words), std::string::npos) << message;
  EXPECT_NE(message.find(path), std::string::npos) << message;
}

TEST(StepTimeline, FilesAreCheckedFieldByField) {
  const std::string head = R"({"model": "m", "batch_size": 4, "ms_per_step": 7.5, "timeline": )";
  const std::string launch = R"({"name": "a", "ms": 2, "gradient_bytes": 400, "update": false})";
  const std::string path = testing::temporary_directory() + "/good.json";
  write_file_atomically(path, head + "[" + launch + "]}");
  const MeasuredStep step = read_measured_step(path);
  EXPECT_EQ(step.model, "m");
  EXPECT_EQ(step.batch_size, 4);
  EXPECT_EQ(step.milliseconds, 7.5);
  ASSERT_EQ(step.timeline.parts.size(), 1u);
  EXPECT_EQ(step.timeline.parts[0].seconds, 0.002);
  EXPECT_EQ(step.timeline.parts[0].gradient_bytes, 400);
  expect_refusal("[]", "is array, not an object");
  expect_refusal("{", "no valid JSON");
  expect_refusal(R"({"batch_size": 4})", "has no 'model'");
  expect_refusal(R"({"model": "m", "batch_size": 0})", "'batch_size' is 0");
  expect_refusal(R"({"model": "m", "batch_size": "4"})", "has no number 'batch_size'");
  expect_refusal(head + "[]}", "has no launches in 'timeline'");
  expect_refusal(head + "[3]}", "a launch of 'timeline' has no 'name'");
  expect_refusal(head + R"([{"name": "a", "update": false}]})", "has no number 'ms'");
  expect_refusal(head + R"([{"name": "a", "update": false, "ms": -1}]})", "'ms' is -1");
  expect_refusal(head + R"([{"name": "a", "ms": 0, "gradient_bytes": 0, "update": true}]})", "take no time");
  expect_refusal(head + R"([{"name": "a", "ms": 1e-300, "gradient_bytes": 0, "update": true}]})", "take no time");
  expect_refusal(head + R"([{"name": "a", "update": false, "ms": 1e10}]})",
                 "'ms' is 10000000000, not from 0 to 1000000000");
  expect_refusal(head + R"([{"name": "a", "update": false, "ms": 1, "gradient_bytes": 1e18}]})", "'gradient_bytes' is");
  // Together they exceed 64 bits.
  std::string many = R"({"name": "a", "ms": 2, "gradient_bytes": 9e14, "update": false})";
  many += ", " + many;
  expect_refusal(head + "[" + many + "]}", "gradients of 'timeline' have more than 1000000000000000 bytes");
}

}  // namespace
}  // namespace ridgeline::train
