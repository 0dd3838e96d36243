// The trace of a training on files: data workers and the step have separate lanes and run at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

struct Span {
  std::string category;
  double begin, end;  // microseconds
};

// The spans of each lane with a name.
std::map<std::string, std::vector<Span>> lanes_of(const std::string& path) {
  const auto events = nlohmann::json::parse(read_file(path)).at("traceEvents");
  std::map<int, std::string> names;
  for (const auto& event : events)
    if (event.at("ph") == "M") names[event.at("tid").get<int>()] = event.at("args").at("name").get<std::string>();
  std::map<std::string, std::vector<Span>> lanes;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    const auto name = names.find(event.at("tid").get<int>());
    if (name == names.end()) continue;
    const double begin = event.at("ts").get<double>();
    lanes[name->second].push_back({event.at("cat").get<std::string>(), begin, begin + event.at("dur").get<double>()});
  }
  return lanes;
}

bool overlap(const std::vector<Span>& some, const std::vector<Span>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Span& a) {
    return std::any_of(others.begin(), others.end(), [&](const Span& b) { return a.begin < b.end && b.begin < a.end; });
  });
}

TEST(TrainingTrace, DataWorkersFillBatchesWhileTheStepComputes) {
  const std::string root = testing::temporary_directory() + "/training_trace";
  fs::remove_all(root);
  data::make_shapes(root + "/images", {.seed = 5, .train = 40, .val = 10});
  Recipe recipe;
  recipe.data_dir = root + "/images";
  recipe.mode = Mode::train;
  recipe.model = "resnet20";
  recipe.batch_size = 4;
  recipe.max_train_steps = 10;
  recipe.num_workers = 2;
  recipe.intra_op_parallelism_threads = 1;
  recipe.log_dir = root + "/run";
  recipe.trace = root + "/trace.json";
  train(recipe);

  std::map<std::string, std::vector<Span>> lanes = lanes_of(recipe.trace);
  std::vector<Span>& compute = lanes["compute"];
  std::erase_if(compute, [](const Span& span) { return span.category != "launch"; });  // waits for batches, saves
  EXPECT_GT(compute.size(), 10u * 10);
  std::vector<Span> filled;
  for (const char* worker : {"data worker 0", "data worker 1"})
    std::copy_if(lanes[worker].begin(), lanes[worker].end(), std::back_inserter(filled),
                 [](const Span& span) { return span.category == "data"; });
  EXPECT_GE(filled.size(), 10u) << "a span for each batch at least";
  EXPECT_TRUE(overlap(filled, compute));
  fs::remove_all(root);
}

}  // namespace
}  // namespace ridgeline::train
