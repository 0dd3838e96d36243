// The event file's contents in addition to scalars, and that writing them does not change the run.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/format/record/event_file.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/wire/protobuf_wire.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

struct WrittenSummaries {
  std::map<std::string, int> histograms, pictures;  // events by tag
  std::map<std::string, double> counts;             // values of the last histogram
  int graphs = 0, nodes = 0;
};

void read_histogram(ProtobufReader message, WrittenSummaries& seen, const std::string& tag) {
  double count = 0, in_parts = 0;
  std::vector<double> parts;
  while (message.next()) {
    if (message.field() == 3) count = message.f64();
    if (message.field() == 7) message.append_to(parts);
  }
  for (const double part : parts) in_parts += part;
  EXPECT_EQ(in_parts, count) << tag;
  seen.counts[tag] = count;
}

WrittenSummaries read_events(const std::string& directory) {
  WrittenSummaries seen;
  const TFRecordFile file(glob_files(directory + "/events.out.tfevents.*").at(0), {.index_cache_directory = ""});
  std::string storage;
  for (std::size_t i = 0; i < file.size(); ++i) {
    ProtobufReader event(file.record(i, storage), "Event");
    while (event.next()) {
      if (event.field() == 4) {
        ++seen.graphs;
        ProtobufReader graph = event.message("GraphDef");
        while (graph.next()) seen.nodes += graph.field() == 1;
      }
      if (event.field() != 5) continue;
      ProtobufReader summary = event.message("Summary");
      while (summary.next()) {
        ProtobufReader value = summary.message("Value");
        std::string tag;
        while (value.next()) {
          if (value.field() == 1) tag = value.text();
          if (value.field() == 4) ++seen.pictures[tag];
          if (value.field() == 5) {
            ++seen.histograms[tag];
            read_histogram(value.message("HistogramProto"), seen, tag);
          }
        }
      }
    }
  }
  return seen;
}

TEST(Summaries, HoldHistogramsPicturesAndTheGraphAndChangeNoBit) {
  const std::string folder = testing::temporary_directory() + "/summaries";
  const TrainingResult plain = train(small_run(folder + "/plain", 6, 6));
  Recipe recipe = small_run(folder + "/run", 6, 6);
  recipe.histogram_steps = 2;
  recipe.picture_steps = 3;
  recipe.save_graph = true;
  const TrainingResult result = train(recipe);
  EXPECT_EQ(read_file(result.checkpoint_path), read_file(plain.checkpoint_path));
  const WrittenSummaries seen = read_events(recipe.log_dir);
  EXPECT_EQ(seen.graphs, 1);
  EXPECT_GT(seen.nodes, 200);
  EXPECT_EQ(seen.pictures,
            (std::map<std::string, int>{{"images/0", 2}, {"images/1", 2}, {"images/2", 2}, {"images/3", 2}}));
  const std::size_t weights = std::count_if(seen.histograms.begin(), seen.histograms.end(),
                                            [](const auto& tag) { return tag.first.starts_with("weights/"); });
  EXPECT_GT(weights, 50u);
  EXPECT_EQ(seen.histograms.size(), 2 * weights);  // one gradient each
  for (const auto& [tag, times] : seen.histograms) EXPECT_EQ(times, 3) << tag;
  EXPECT_EQ(seen.counts.at("weights/linear.weight"), 640);
  EXPECT_EQ(seen.counts.at("gradients/linear.weight"), 640);
  EXPECT_EQ(read_event_file(glob_files(recipe.log_dir + "/events.out.tfevents.*").at(0)).scalars.size(), 4u);
}

TEST(Summaries, AreReadByTensorBoard) {
  const char* python = std::getenv("RIDGELINE_TENSORBOARD_PYTHON");
  if (python == nullptr)
    GTEST_SKIP() << "RIDGELINE_TENSORBOARD_PYTHON names no interpreter with the package tensorboard";
  Recipe recipe = small_run(testing::temporary_directory() + "/tensorboard", 4, 4);
  recipe.histogram_steps = 2;
  recipe.picture_steps = 2;
  recipe.save_graph = true;
  train(recipe);
  const testing::Outcome outcome = testing::run_shell(std::string(python) + " " + testing::source_directory() +
                                                      "/tests/train/read_events.py " + recipe.log_dir);
  testing::expect(
      outcome, 0,
      {"scalars loss lr total_loss images_per_second", "histograms steps 2 4", "pictures 32x32x3", "graph nodes"});
}

TEST(Summaries, RefuseNegativePeriods) {
  Recipe recipe = small_run(testing::temporary_directory() + "/never", 1, 1);
  recipe.histogram_steps = -1;
  EXPECT_THROW(train(recipe), Error);
}

}  // namespace
}  // namespace ridgeline::train
