// Stop and resume: whatever stops a run at whatever moment, also during a save or an evaluation, its checkpoints,
// metrics, events and log lines are finally those of an uninterrupted run.
//
// RIDGELINE_KILLS is the number of stops during the training (default 6), RIDGELINE_KILLS_SEED chooses the moments.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/record/event_file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/environment.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/watched_process.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

using testing::Place;
using testing::ProcessEnd;
using testing::Stop;

using Line = std::map<std::string, JsonScalar>;

constexpr std::int64_t kSteps = 24;  // two epochs with one evaluation each
constexpr const char* kLog = "alexnet_training.log";

const std::string& images() {
  static const std::string directory = [] {
    const std::string path = testing::temporary_directory() + "/killed_run_images";
    data::make_shapes(path, {.seed = 3, .train = 100, .val = 40});
    return path;
  }();
  return directory;
}

std::vector<std::string> words(const std::string& log_dir, int workers, std::int64_t loop, int save_steps, int keep) {
  return {testing::program(),
          "train",
          "--model=resnet20",
          "--mode=train_and_evaluate",
          "--data_dir=" + images(),
          "--batch_size=8",
          "--max_epochs=4",
          "--max_train_steps=" + std::to_string(kSteps),
          "--warmup_epochs=1",
          "--epochs_between_evals=1",
          "--num_workers=" + std::to_string(workers),
          "--iterations_per_loop=" + std::to_string(loop),
          "--save_summary_steps=1000",
          "--save_checkpoints_steps=" + std::to_string(save_steps),
          "--max_checkpoint_to_save=" + std::to_string(keep),
          "--log_name=" + std::string(kLog),
          "--log_dir=" + log_dir};
}

// Everything that a run writes and that does not depend on clocks, by step.
struct Story {
  std::map<std::int64_t, std::string> checkpoints;               // bytes
  std::map<std::pair<std::string, std::int64_t>, Line> metrics;  // by kind and step
  std::map<std::pair<std::string, std::int64_t>, float> events;  // by tag and step
  std::map<std::int64_t, std::string> step_lines;                // of the log
  std::map<std::int64_t, std::string> evaluation_rows;
};

std::map<std::int64_t, std::string> read_checkpoints(const std::string& log_dir) {
  std::map<std::int64_t, std::string> bytes;
  for (const CheckpointFile& file : list_checkpoints(log_dir)) bytes[file.step] = read_file(file.path);
  return bytes;
}

// Nothing may occur twice or out of order.
void read_metrics(const std::string& log_dir, Story& story) {
  std::int64_t last = 0;
  for (Line& line : read_json_lines(log_dir + "/metrics.jsonl")) {
    for (const char* clock : {"time", "checkpoint_time", "images_per_second", "batch_time"}) line.erase(clock);
    const std::int64_t step = std::get<std::int64_t>(line.at("step"));
    const std::string kind = std::get<std::string>(line.at("kind"));
    EXPECT_GE(step, last);
    last = step;
    EXPECT_TRUE(story.metrics.try_emplace({kind, step}, std::move(line)).second) << kind << " twice: " << step;
  }
}

void read_events(const std::string& log_dir, Story& story) {
  const std::vector<std::string> files = glob_files(log_dir + "/events.out.tfevents.*");
  ASSERT_EQ(files.size(), 1u);
  const EventFileContent content = read_event_file(files[0]);
  EXPECT_FALSE(content.damage.has_value()) << *content.damage;
  for (const ScalarEvent& event : content.scalars) {
    if (event.tag == "images_per_second") continue;
    EXPECT_TRUE(story.events.try_emplace({event.tag, event.step}, event.value).second)
        << event.tag << " twice: " << event.step;
  }
}

// The log keeps lines of earlier processes: the lines of one process are in order, and repeated lines are equal.
void read_log(const std::string& log_dir, Story& story) {
  static const std::regex clocks(R"(  FPS:[^,]*,|  batch_time:.*)");
  std::istringstream log(read_file(log_dir + "/" + kLog));
  std::int64_t last = 0;
  bool evaluation_next = false;
  for (std::string line; std::getline(log, line);) {
    if (line.starts_with("ridgeline ")) last = 0;
    if (evaluation_next && !line.starts_with("ridgeline ")) {
      line.resize(line.size() - std::string("2020-06-18 11:42:07").size());
      const auto [it, added] = story.evaluation_rows.try_emplace(std::stoll(line), line);
      EXPECT_EQ(it->second, line);
    } else if (line.starts_with("step:")) {
      const std::int64_t step = std::stoll(line.substr(5));
      EXPECT_GT(step, last) << line;
      last = step;
      const std::string text = std::regex_replace(line, clocks, "");
      const auto [it, added] = story.step_lines.try_emplace(step, text);
      EXPECT_EQ(it->second, text);
    }
    evaluation_next = line == kEvaluationHeader;
  }
}

Story read_story(const std::string& log_dir) {
  Story story;
  story.checkpoints = read_checkpoints(log_dir);
  read_metrics(log_dir, story);
  read_events(log_dir, story);
  read_log(log_dir, story);
  return story;
}

// The recipe of a run that logs and saves every step.
const Story& undisturbed() {
  static const Story story = [] {
    const std::string log_dir = testing::temporary_directory() + "/undisturbed";
    fs::create_directories(log_dir);
    EXPECT_EQ(testing::run_and_stop(words(log_dir, 2, 1, 1, 1000), log_dir, kLog, {}).code, 0);
    Story s = read_story(log_dir);
    fs::remove_all(log_dir);
    return s;
  }();
  return story;
}

// Every part of `part` is also in `whole` and equal.
template <class Map>
void expect_within(const Map& part, const Map& whole, const char* what) {
  for (const auto& [key, value] : part) {
    const auto it = whole.find(key);
    EXPECT_TRUE(it != whole.end() && it->second == value) << what << " differ from those of the undisturbed run";
  }
}

// One line for every step that ends a loop, and for steps at which a signal arrived; no other lines.
void expect_as_undisturbed(const Story& story, std::int64_t loop) {
  expect_within(story.checkpoints, undisturbed().checkpoints, "checkpoints");
  expect_within(story.metrics, undisturbed().metrics, "metrics");
  expect_within(story.events, undisturbed().events, "events");
  expect_within(story.step_lines, undisturbed().step_lines, "lines of the log");
  expect_within(story.evaluation_rows, undisturbed().evaluation_rows, "rows of evaluations");
  EXPECT_TRUE(story.checkpoints.contains(kSteps));
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    if (step % loop == 0 || step == kSteps) {
      EXPECT_TRUE(story.metrics.contains({"train", step})) << step;
      EXPECT_TRUE(story.step_lines.contains(step)) << step;
    }
    const bool line = story.metrics.contains({"train", step});
    for (const char* tag : {"loss", "total_loss", "lr"}) EXPECT_EQ(story.events.contains({tag, step}), line) << step;
    const bool evaluates = step == 12 || step == 24;
    EXPECT_EQ(story.metrics.contains({"evaluation", step}), evaluates) << step;
    EXPECT_EQ(story.evaluation_rows.contains(step), evaluates) << step;
    EXPECT_EQ(story.events.contains({"val-loss", step}), evaluates) << step;
  }
}

Stop drawn_stop(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  switch (below(6)) {
    case 0: return {SIGINT, Place::training, below(40)};
    case 1: return {SIGTERM, Place::training, below(40)};
    case 2: return {below(2) == 0 ? SIGKILL : SIGINT, Place::anywhere, below(10)};
    case 3: return {SIGKILL, Place::training, below(40)};
    default: return {SIGKILL, Place::saving, below(8)};
  }
}

TEST(Resume, AKilledOrInterruptedRunGoesOnAsIfNothingHadHappened) {
  const std::int64_t wanted = number_from_environment("RIDGELINE_KILLS", 6);
  const std::int64_t wanted_in_saves = std::max<std::int64_t>(1, wanted / 4);
  std::mt19937 random(static_cast<unsigned>(number_from_environment("RIDGELINE_KILLS_SEED", 1)));
  ASSERT_FALSE(undisturbed().checkpoints.empty());
  int in_training = 0, in_saves = 0, elsewhere = 0, processes = 0, runs = 0;
  const std::int64_t most = 40 + 10 * wanted;
  while ((in_training < wanted || in_saves < wanted_in_saves) && processes < most && !HasFailure()) {
    const std::string log_dir = testing::temporary_directory() + "/killed";
    fs::remove_all(log_dir);
    fs::create_directories(log_dir);
    const int workers = 1 + runs % 4;
    const std::int64_t loop = runs % 2 == 0 ? 1 : 10;
    for (bool finished = false; !finished && processes < most; ++processes) {
      const bool enough = in_training >= wanted && in_saves >= wanted_in_saves;
      const Stop stop = enough ? Stop{} : drawn_stop(random);
      const ProcessEnd end = testing::run_and_stop(words(log_dir, workers, loop, 2, 5), log_dir, kLog, stop);
      finished = end.code == 0;
      ASSERT_TRUE(finished || end.stopped) << "exit code " << end.code;
      if (end.stopped && end.in_training) {
        // A signal that arrives after the end of the training ends the process in the default way.
        const bool done = fs::exists(log_dir + "/" + checkpoint_name(kSteps));
        EXPECT_TRUE(end.code == 130 || stop.signal == SIGKILL || done) << "exit code " << end.code;
        ++in_training;
      }
      if (end.stopped && !end.in_training) ++elsewhere;
      if (end.in_save) ++in_saves;
    }
    expect_as_undisturbed(read_story(log_dir), loop);
    if (HasFailure()) std::cout << read_file(log_dir + "/" + kLog);
    fs::remove_all(log_dir);
    ++runs;
  }
  std::cout << in_training << " stops in the training, " << in_saves << " of all stops inside a save, " << elsewhere
            << " before the training, " << processes << " processes, " << runs << " whole runs\n";
  EXPECT_GE(in_training, wanted) << "too few signals hit the training";
  EXPECT_GE(in_saves, wanted_in_saves) << "too few signals hit a save";
}

}  // namespace
}  // namespace ridgeline::train
