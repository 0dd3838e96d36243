// Accumulation, loss scaling, clipping and moving averages in compiled steps and whole runs.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/recipe/evaluator.h"
#include "ridgeline/train/recipe/saved_model.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/line_model.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

nn::TrainingOptions plain() {
  return {.optimizer = optim::Momentum{}, .schedule = optim::Constant{.base = 0.05}, .weight_decay = 0};
}

TEST(GradientOptions, AScaleOfAPowerOfTwoGivesTheSameWeightsInACompiledStep) {
  LineModel one(plain());
  nn::TrainingOptions options = plain();
  options.gradients.loss_scale = optim::LossScale::fixed(256);
  LineModel scaled(options);
  Loop(one.model, one.feed, {.total_steps = 10}).run({});
  Loop(scaled.model, scaled.feed, {.total_steps = 10}).run({});
  EXPECT_EQ(one.weight(), scaled.weight());
}

TEST(GradientOptions, OverflowsAreSkippedAndDoNotCountAsSteps) {
  nn::TrainingOptions options = plain();
  options.gradients.loss_scale = optim::LossScale::dynamic(1024, 2, 4);
  LineModel line(options);
  LineModel clean(plain());
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = 1e25f;
  int fed = 0;
  FunctionFeed feed([&](Program& program) {
    ++fed;
    line.feed.bind_next(program);
    if (fed == 3 || fed == 4 || fed == 9) program.bind("x", far);
    return true;
  });
  Loop loop(line.model, feed, {.total_steps = 12, .loop = 5});
  EXPECT_EQ(loop.run({}).step(), 12);
  EXPECT_EQ(fed, 15);
  EXPECT_EQ(line.session.parameters().get(nn::kLossScale).at(0), 1024.0 / 2 / 2 * 2 / 2 * 2);
  Loop(clean.model, clean.feed, {.total_steps = 12}).run({});
  EXPECT_EQ(line.weight(), clean.weight());
}

TEST(GradientOptions, AnOverflowInTheMiddleOfAStepIsSkippedWithTheWholeStep) {
  nn::TrainingOptions options = plain();
  options.gradients.accumulate = 2;
  options.gradients.loss_scale = optim::LossScale::dynamic(1024, 2, 100);
  LineModel line(options);
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = 1e25f;  // the loss itself is infinite
  int fed = 0;
  FunctionFeed feed([&](Program& program) {
    line.feed.bind_next(program);
    if (++fed == 3) program.bind("x", far);
    return true;
  });
  EXPECT_EQ(Loop(line.model, feed, {.total_steps = 4, .steps_per_epoch = 4}).run({}).step(), 4);
  EXPECT_EQ(fed, 10);
  EXPECT_EQ(line.session.parameters().get(nn::kLossScale).at(0), 512);
}

TEST(GradientOptions, AStepThatIsFinishedAfterAPauseCounts) {
  nn::TrainingOptions options = plain();
  options.gradients.accumulate = 3;
  LineModel line(options);
  int left = 2;
  FunctionFeed few([&](Program& program) { return left-- > 0 && line.feed.bind_next(program); });
  Loop begun(line.model, few, {.total_steps = 1});
  EXPECT_EQ(begun.run({}).loop_steps(), 0);
  Loop rest(line.model, line.feed, {.total_steps = 1});
  EXPECT_EQ(rest.run({}).loop_steps(), 1);
  Tensor many(DType::f32, Shape{});
  many.data<float>()[0] = 3;
  line.session.parameters().set(nn::kMicroStep, many, ValueKind::state);
  EXPECT_EQ(error_of([&] { Loop(line.model, line.feed, {.total_steps = 2}); }),
            "the model has accumulated 3 batches of a step, which takes 3 here: it goes on with the number that it was "
            "saved with");
}

TEST(GradientOptions, MoreThanAThousandOverflowsInARowEndTheRun) {
  nn::TrainingOptions options = plain();
  options.gradients.loss_scale = optim::LossScale::dynamic();
  LineModel line(options);
  Tensor far(DType::f32, Shape{LineModel::kRows, 1});
  for (float& x : far.span<float>()) x = std::numeric_limits<float>::infinity();
  FunctionFeed feed([&](Program& program) {
    line.feed.bind_next(program);
    program.bind("x", far);
    return true;
  });
  EXPECT_EQ(error_of([&] { Loop(line.model, feed, {.total_steps = 2000}).run({}); }),
            "Dynamic loss scale Continuous overflow 1001 times, has exceeded maximum threshold.");
  EXPECT_EQ(line.model.global_step(), 0);
}

Recipe recipe(const std::string& log_dir) {
  Recipe r = small_run(log_dir, 6, 3);
  r.warmup_epochs = 0;
  r.lr = 0.01;
  r.iterations_per_loop = 2;
  r.optimization.accumulate_steps = 2;
  r.optimization.loss_scale = "dynamic,65536,2,2";
  r.optimization.clip_norm = 5;
  r.optimization.ema = 0.9;
  return r;
}

TEST(GradientOptions, ARunWithAllOfThemGoesOnWithTheSameBits) {
  const std::string root = testing::temporary_directory() + "/gradients";
  fs::remove_all(root);
  const TrainingResult whole = train(recipe(root + "/whole"));
  EXPECT_EQ(whole.step, 6);
  const SafetensorsFile file(whole.checkpoint_path);
  EXPECT_EQ(file.tensor("loss_scale").at(0), 65536 * 8);
  EXPECT_EQ(file.tensor("micro_step").at(0), 0);
  fs::create_directories(root + "/cut");
  fs::copy_file(root + "/whole/model.ckpt-3.safetensors", root + "/cut/model.ckpt-3.safetensors");
  EXPECT_EQ(read_file(train(recipe(root + "/cut")).checkpoint_path), read_file(whole.checkpoint_path));

  Recipe other = recipe(root + "/whole");
  other.optimization.loss_scale = "";
  other.max_train_steps = 8;
  const std::string error = error_of([&] { train(other); });
  EXPECT_NE(error.find("--loss_scale is dynamic,65536,2,2 there and the default here"), std::string::npos) << error;
  fs::remove_all(root);
}

TEST(GradientOptions, AveragesAreEvaluatedFromAFileAsFromItsDirectoryAndAStepHasAllItsBatches) {
  const std::string root = testing::temporary_directory() + "/averages";
  fs::remove_all(root);
  data::make_shapes(root + "/images", {.seed = 5, .train = 24, .val = 24});
  Recipe r;
  r.data_dir = root + "/images";
  r.model = "linear";
  r.image_size = 16;
  r.batch_size = 8;
  r.num_workers = 2;
  r.max_epochs = 2;
  r.warmup_epochs = 0;
  r.lr = 0.05;
  r.mode = Mode::train;
  r.log_dir = root + "/log";
  r.optimization.ema = 0.9;
  r.optimization.accumulate_steps = 4;
  EXPECT_EQ(error_of([&] { train(r); }), r.data_dir +
                                             " has 24 training records, fewer than a step of 4 batches of 8 "
                                             "(--accumulate_steps, --batch_size)");
  r.optimization.accumulate_steps = 1;
  const TrainingResult result = train(r);
  Recipe of_directory;
  of_directory.mode = Mode::evaluate;
  of_directory.data_dir = r.data_dir;
  of_directory.model = r.model;
  of_directory.image_size = r.image_size;
  of_directory.checkpoint_dir = r.log_dir;
  of_directory.log_dir.clear();
  Recipe of_file = of_directory;
  of_file.restore_path = result.checkpoint_path;
  EXPECT_EQ(evaluate_checkpoints(of_file).at(0).loss, evaluate_checkpoints(of_directory).at(0).loss);
  of_file.mode = Mode::train;
  EXPECT_EQ(saved_model(of_file).tensors.at(0).tensor.at(5), saved_model(of_directory).tensors.at(0).tensor.at(5));
  fs::remove_all(root);
}

}  // namespace
}  // namespace ridgeline::train
