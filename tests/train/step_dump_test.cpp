// Dumps of selected steps of a run: which steps, which values, and that the bits of the run do not change.
#include "ridgeline/train/callback/step_dump.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/line_model.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

std::string new_folder(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/step_dump_" + name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

// Like the data of a recipe: the caller gets what is bound.
class KnownFeed : public Feed {
 public:
  explicit KnownFeed(LineModel& line) : line_(line) {}
  bool bind_next(Program& program) override { return line_.feed.bind_next(program); }
  Tensor input(const std::string& name) const override { return name == "x" ? line_.x : line_.y; }

 private:
  LineModel& line_;
};

// The weight before each step.
class Weights : public Callback {
 public:
  explicit Weights(LineModel& line) : line_(line) {}
  std::int64_t next_stop(std::int64_t step) const override { return step + 1; }
  void step_begin(RunContext&) override { all.push_back(line_.weight()); }
  std::vector<float> all;

 private:
  LineModel& line_;
};

TEST(StepSet, IsReadAsTheOriginalWritesIt) {
  const StepSet some("0|3-5|10");
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < 20; ++step)
    if (some.contains(step)) steps.push_back(step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 3, 4, 5, 10}));
  EXPECT_EQ(some.next(0), 3);
  EXPECT_EQ(some.next(4), 5);
  EXPECT_EQ(some.next(10), Callback::kNever);
  EXPECT_TRUE(StepSet("").contains(7));
  EXPECT_EQ(StepSet("").next(7), 8);
  const auto error = [](const std::string& text) { return error_of([&] { StepSet{text}; }); };
  EXPECT_EQ(error("0|x"), "dump_step=0|x: 'x' is no step (such as 0|5|10 or 0|3-5|10; the first step is 0)");
  EXPECT_NE(error("5-3").find("the range 5-3 does not ascend"), std::string::npos);
  EXPECT_NE(error("3-3").find("does not ascend"), std::string::npos);
  EXPECT_NE(error("1|").find("'' is no step"), std::string::npos);
  EXPECT_NE(error("-1").find("'' is no step"), std::string::npos);
  std::string many = "0";
  for (int i = 1; i <= 100; ++i) many += "|" + std::to_string(i);
  EXPECT_NE(error(many).find("more than 100 parts"), std::string::npos);
}

TEST(StepDump, HoldsTheStepWithTheParametersThatItBeganWith) {
  LineModel line;
  KnownFeed feed(line);
  Weights weights(line);
  const std::string folder = new_folder("line");
  StepDump dump({.directory = folder, .steps = StepSet("1|3"), .values = {.side = ValueSide::all}});
  Loop(line.model, feed, {.total_steps = 5, .loop = 5}).run({&dump, &weights});
  for (int step = 0; step < 5; ++step) {
    const std::string path = folder + "/step_" + std::to_string(step) + ".safetensors";
    ASSERT_EQ(fs::exists(path), step == 1 || step == 3) << step;
    if (!fs::exists(path)) continue;
    const SafetensorsFile file(path);
    EXPECT_EQ(file.tensor("w").at(0), weights.all[static_cast<std::size_t>(step)]);
    EXPECT_EQ(file.tensor("global_step").at(0), step);
    EXPECT_EQ(file.tensor("x").at(3), line.x.at(3));
  }
  LineModel plain;
  Loop(plain.model, plain.feed, {.total_steps = 5, .loop = 5}).run({});
  EXPECT_EQ(line.weight(), plain.weight());
}

TEST(StepDump, ChoosesOpsByNameAndWhatTheyReadOrMake) {
  for (const auto& [side, names] : std::map<ValueSide, std::vector<std::string>>{
           {ValueSide::input, {"w", "x"}}, {ValueSide::output, {"dense"}}, {ValueSide::all, {"dense", "w", "x"}}}) {
    LineModel line;
    KnownFeed feed(line);
    const std::string folder = new_folder("side");
    StepDump dump({.directory = folder, .steps = StepSet("0"), .values = {.side = side, .ops = {"dens?"}}});
    Loop(line.model, feed, {.total_steps = 1}).run({&dump});
    const SafetensorsFile file(folder + "/step_0.safetensors");
    std::vector<std::string> found;
    for (const NamedTensor& t : file.tensors()) found.push_back(t.name);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, names);
  }
  LineModel line;
  KnownFeed feed(line);
  StepDump unknown({.directory = new_folder("side"), .values = {.ops = {"dence"}}});
  EXPECT_EQ(error_of([&] { Loop(line.model, feed, {.total_steps = 1}).run({&unknown}); }),
            "no op of the step has the name 'dence': did you mean 'dense'?");
}

TEST(StepDump, TellsNumbersInATable) {
  LineModel line;
  KnownFeed feed(line);
  const std::string folder = new_folder("numbers");
  StepDump dump({.directory = folder, .steps = StepSet("0"), .values = {.ops = {"dense"}}, .numbers = true});
  Loop(line.model, feed, {.total_steps = 1}).run({&dump});
  const std::string table = read_file(folder + "/step_0.csv");
  EXPECT_TRUE(table.starts_with("name,op,type,shape,not_finite,least,most,mean,deviation,root_mean_square,where\r\n"));
  // The weight begins at 0, so every product is 0.
  EXPECT_NE(table.find("\r\ndense,dense,f32,\"[8,1]\",0,0,0,0,0,0,"), std::string::npos) << table;
}

TEST(StepDump, FindsTheOpThatOverflows) {
  // The first update changes the weight so much that the squared error of the second step overflows f32.
  LineModel line({.optimizer = optim::Momentum{.momentum = 0, .nesterov = false},
                  .schedule = optim::Constant{.base = 1e25},
                  .weight_decay = 0});
  KnownFeed feed(line);
  const std::string folder = new_folder("overflow");
  std::vector<std::string> lines;
  StepDump dump({.directory = folder, .overflows = true, .log = [&](const std::string& l) { lines.push_back(l); }});
  EXPECT_NE(error_of([&] { Loop(line.model, feed, {.total_steps = 5}).run({&dump}); }).find("Invalid loss (inf)"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder + "/step_0.safetensors"));
  const SafetensorsFile file(folder + "/step_1.safetensors");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("dump of step 1: "), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("not finite from mul"), std::string::npos) << lines[0];
  bool finite = false, other = false;  // the values that the op reads and its results
  for (const NamedTensor& t : file.tensors()) (std::isfinite(t.tensor.at(0)) ? finite : other) = true;
  EXPECT_TRUE(finite && other);
}

TEST(StepDump, RefusesWhatItCannotTell) {
  LineModel line;
  StepDump dump({.directory = new_folder("refused")});
  EXPECT_EQ(error_of([&] { Loop(line.model, line.feed, {.total_steps = 1}).run({&dump}); }),
            "a dump of a step needs a feed that knows its input x");
  LineModel several({.optimizer = optim::Momentum{}, .gradients = {.accumulate = 2}});
  KnownFeed feed(several);
  EXPECT_EQ(error_of([&] { Loop(several.model, feed, {.total_steps = 1}).run({&dump}); }),
            "values are dumped of steps of one batch, not of accumulated ones");
}

TEST(StepDump, OfARunChangesNoBitOfIt) {
  const std::string folder = new_folder("run");
  const TrainingResult plain = train(small_run(folder + "/plain", 6, 3));
  Recipe recipe = small_run(folder + "/dumped", 6, 3);
  recipe.dump = {.path = folder, .step = "0|4-5"};
  const TrainingResult dumped = train(recipe);
  EXPECT_EQ(read_file(dumped.checkpoint_path), read_file(plain.checkpoint_path));
  EXPECT_EQ(glob_files(folder + "/step_*").size(), 3u);
  EXPECT_NE(read_file(dumped.log_path).find("dump of step 4: "), std::string::npos);
  EXPECT_FALSE(SafetensorsFile(folder + "/step_5.safetensors").has("images"));  // output: the results of ops
}

}  // namespace
}  // namespace ridgeline::train
