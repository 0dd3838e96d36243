// A training by the library is one run, even if several calls and processes execute it: each continues with the step,
// data order and dropout of an uninterrupted training.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/train/callback/model_checkpoint.h"
#include "ridgeline/train/estimator.h"
#include "tests/support/error_of.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/shuffled_points.h"

namespace ridgeline::train::library_run {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kEpochs = 10;
constexpr std::int64_t kLibrarySteps = kEpochs * kPoints / LineModel::kRows;

// A model, the first value of each batch that it got, and its losses.
struct Trained {
  explicit Trained(std::uint64_t seed = 7) {
    model.set_seed(seed);
    model.prepare_training({.optimizer = optim::Adam{}, .schedule = optim::Constant{.base = 0.01}});
  }
  struct Seen : Callback {
    std::int64_t next_stop(std::int64_t step) const override { return step + 1; }
    void step_end(RunContext& run) override {
      first.push_back(run.feed().input("x").at(0));
      losses.push_back(run.loss());
      epochs.push_back(run.epoch());
    }
    std::vector<double> first, losses;
    std::vector<std::int64_t> epochs;
  };
  Session session{{.compute_threads = 1}};
  Model model{session, dropping_network()};
  Seen seen;
};

void expect_same(const Trained& some, const Trained& other) {
  EXPECT_EQ(some.seen.first, other.seen.first);
  EXPECT_EQ(some.seen.losses, other.seen.losses);
  EXPECT_EQ(some.seen.epochs, other.seen.epochs);
  const std::vector<NamedTensor> a = some.model.to_file(), b = other.model.to_file();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(std::memcmp(a[i].tensor.raw(), b[i].tensor.raw(), a[i].tensor.byte_size()), 0) << a[i].name;
}

TEST(LibraryRun, FiveEpochsTwiceAreTen) {
  Trained once, twice, to_epochs;
  train_epochs(once.model, kEpochs, shuffled_points(), {&once.seen});
  for (int call = 0; call < 2; ++call) train_epochs(twice.model, kEpochs / 2, shuffled_points(), {&twice.seen});
  expect_same(twice, once);
  for (const std::int64_t epoch : {3, 3, 10})
    train_to_epoch(to_epochs.model, epoch, shuffled_points(), {&to_epochs.seen});
  expect_same(to_epochs, once);
}

TEST(LibraryRun, EpochsOfSoManyStepsGoOnInTheMiddleOfTheData) {
  Trained once, twice;
  train_epochs(once.model, 6, shuffled_points(), {&once.seen}, {.sink_size = 3});
  for (int call = 0; call < 3; ++call) train_epochs(twice.model, 2, shuffled_points(), {&twice.seen}, {.sink_size = 3});
  expect_same(twice, once);
}

TEST(LibraryRun, StepsOfAnInputFunctionGoOnToo) {
  Trained once, twice;
  const auto feed = [](const Trained& of) {
    return [&model = of.model] {
      return std::make_unique<DatasetFeed>(shuffled_points(),
                                           data::IteratorOptions{.epochs = data::kForever, .seed = model.seed()},
                                           model.network().columns);
    };
  };
  train_steps(once.model, feed(once), 10, {&once.seen}, {.steps_per_epoch = 4});
  for (const std::int64_t step : {7, 10})
    train_steps(twice.model, feed(twice), step, {&twice.seen}, {.steps_per_epoch = 4});
  expect_same(twice, once);
}

TEST(LibraryRun, OtherDataBeginAtTheirBeginningAndTheFirstGoOnBehindThem) {
  const auto other = [] { return shuffled_points().repeat(2); };
  Trained between, alone;
  train_epochs(between.model, 1, shuffled_points(), {&between.seen});
  train_epochs(between.model, 1, other(), {});
  train_epochs(between.model, 1, shuffled_points(), {&between.seen});
  train_epochs(alone.model, 2, shuffled_points(), {&alone.seen});
  EXPECT_EQ(between.seen.first, alone.seen.first);
  Trained first;
  train_epochs(first.model, 1, other(), {&first.seen});
  EXPECT_EQ(std::vector<double>(alone.seen.first.begin(), alone.seen.first.begin() + 4),
            std::vector<double>(first.seen.first.begin(), first.seen.first.begin() + 4))
      << "both begin at their beginning";
}

// Kills the process without any message.
class Killer : public Callback {
 public:
  explicit Killer(std::int64_t at) : at_(at) {}
  std::int64_t next_stop(std::int64_t step) const override { return step < at_ ? at_ : kNever; }
  void step_end(RunContext& run) override {
    if (run.step() == at_) ::raise(SIGKILL);
  }

 private:
  std::int64_t at_;
};

ModelCheckpoint saver_in(const std::string& directory) {
  return {"net", directory, {.save_checkpoint_steps = 3, .keep_checkpoint_max = 2}};
}

constexpr const char* kChild = "RIDGELINE_LIBRARY_RUN";  // <step of the kill>:<directory>

TEST(LibraryRunChild, TrainsUntilItIsKilled) {
  const char* told = std::getenv(kChild);
  if (told == nullptr) GTEST_SKIP() << "a process of LibraryRun.AKilledOneGoesOnFromWhatModelCheckpointSaved";
  const std::string text = told;
  const std::size_t colon = text.find(':');
  Killer killer(std::stoll(text.substr(0, colon)));
  Trained trained;
  ModelCheckpoint saver = saver_in(text.substr(colon + 1));
  saver.resume(trained.model);
  train_to_epoch(trained.model, kEpochs, shuffled_points(), {&saver, &killer});
}

int run_child(std::int64_t kill_at, const std::string& directory) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const testing::Outcome end = testing::run_shell(
      fmt::format("{}={}:{} exec {} --gtest_filter=LibraryRunChild.*", kChild, kill_at, directory, self));
  return end.code;
}

TEST(LibraryRun, AKilledOneGoesOnFromWhatModelCheckpointSaved) {
  const std::string root = testing::temporary_directory() + "/library_run";
  fs::remove_all(root);
  ASSERT_EQ(run_child(-1, root + "/undisturbed"), 0);
  const std::string last = "/net-10_4.safetensors";
  const std::string expected = read_file(root + "/undisturbed" + last);
  ASSERT_FALSE(expected.empty());
  for (const std::int64_t at : {1, 3, 7, 22, 23}) EXPECT_EQ(run_child(at, root + "/killed"), 128 + SIGKILL) << at;
  EXPECT_EQ(run_child(-1, root + "/killed"), 0);
  EXPECT_EQ(read_file(root + "/killed" + last), expected);
  // One run under one name, of which the newest two checkpoints are kept.
  EXPECT_EQ(glob_files(root + "/killed/*").size(), 2u);
  EXPECT_EQ(run_child(-1, root + "/killed"), 0) << "a run that is done has nothing to do";
  EXPECT_EQ(read_file(root + "/killed" + last), expected);
  fs::remove_all(root);
}

TEST(LibraryRun, GoesOnFromTheNewestFileThatIsWhole) {
  const std::string directory = testing::temporary_directory() + "/library_run_damaged";
  fs::remove_all(directory);
  Trained once, damaged;
  ModelCheckpoint saver = saver_in(directory);
  EXPECT_FALSE(saver.resume(once.model)) << "there is none";
  train_to_epoch(once.model, kEpochs, shuffled_points(), {&saver, &once.seen});
  fs::resize_file(directory + "/net-10_4.safetensors", 100);
  std::vector<std::string> warnings;
  ModelCheckpoint again = saver_in(directory);
  EXPECT_TRUE(again.resume(damaged.model, [&](const std::string& text) { warnings.push_back(text); }));
  EXPECT_EQ(damaged.model.global_step(), kLibrarySteps - 1);
  EXPECT_EQ(again.latest_ckpt_file_name(), directory + "/net-10_3.safetensors");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("net-10_4"), std::string::npos) << warnings[0];
  train_to_epoch(damaged.model, kEpochs, shuffled_points(), {&again, &damaged.seen});
  EXPECT_EQ(damaged.seen.losses, std::vector<double>{once.seen.losses.back()});
  for (const std::string& file : glob_files(directory + "/*")) fs::resize_file(file, 100);
  EXPECT_NE(error_of([&] { saver_in(directory).resume(damaged.model); }).find("net* is whole"), std::string::npos);
  fs::remove_all(directory);
}

TEST(LibraryRun, AnotherSeedOrNetworkIsRefused) {
  const std::string directory = testing::temporary_directory() + "/library_run_other";
  fs::remove_all(directory);
  Trained trained, other(8);
  ModelCheckpoint saver = saver_in(directory);
  train_epochs(trained.model, 1, shuffled_points(), {&saver});
  EXPECT_NE(error_of([&] {
              saver_in(directory).resume(other.model);
            }).find("is of a run with set_seed(7), and the model has set_seed(8)"),
            std::string::npos);
  LineModel line;
  EXPECT_NE(error_of([&] { saver_in(directory).resume(line.model); }).find("is of the network 'dropping', not 'line'"),
            std::string::npos);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace ridgeline::train::library_run
