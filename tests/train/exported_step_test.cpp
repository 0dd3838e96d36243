// `train --export_step`: the exported step continues with the same bits as the run itself, in a program that contains
// no model.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/infer/loaded_model.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/loop/synthetic.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

TEST(ExportedTrainingStep, GoesOnAsTheRunWould) {
  const std::string folder = testing::temporary_directory() + "/exported";
  Recipe recipe = small_run(folder + "/half", 3, 3);
  recipe.max_epochs = 1;
  recipe.export_step = folder + "/step.rdgm";
  std::filesystem::create_directories(folder);
  train(recipe);

  Session session;
  infer::LoadedModel step(session, infer::read_model(recipe.export_step));
  const SyntheticBatch batch(step_options(recipe, recipe.num_classes), recipe.num_classes, recipe.seed);
  batch.bind(step.program());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(step.program().run());

  Recipe whole = small_run(folder + "/whole", 6, 6);
  whole.max_epochs = 1;
  const TrainingResult result = train(whole);
  Session other;
  Model expected(other, nn::image_classifier(step_options(whole, whole.num_classes)), {.seed = whole.seed});
  expected.prepare_training(training_options(whole, schedule_of(whole, 1)));
  expected.load(SafetensorsFile(result.checkpoint_path));
  for (const NamedTensor& t : step.current().tensors) {
    const Tensor there = other.parameters().get(t.name);
    EXPECT_EQ(std::memcmp(t.tensor.raw(), there.raw(), there.byte_size()), 0) << t.name;
  }
  EXPECT_EQ(session.parameters().get("global_step").at(0), 6);
}

TEST(ExportedTrainingStep, IsTrainedByAProgramWithoutItsModel) {
  const std::string folder = testing::temporary_directory() + "/example";
  std::filesystem::create_directories(folder);
  Recipe recipe = small_run(folder + "/run", 2, 2);
  recipe.batch_size = 16;
  recipe.max_epochs = 1;
  recipe.export_step = folder + "/step.rdgm";
  train(recipe);
  const testing::Outcome outcome =
      testing::run_shell(std::string(RIDGELINE_STEP_EXAMPLE) + " " + recipe.export_step + " 4 " + folder + "/on.rdgm");
  testing::expect(outcome, 0, {"step 3: loss ", "step 6: loss ", "resnet20 after 6 steps"});
  EXPECT_EQ(infer::read_model(folder + "/on.rdgm").graph.updates.size(),
            infer::read_model(recipe.export_step).graph.updates.size());
}

TEST(ExportedTrainingStep, IsRefusedWhereItsFileCannotBe) {
  Recipe recipe = small_run(testing::temporary_directory() + "/nowhere", 1, 1);
  recipe.export_step = testing::temporary_directory() + "/no/such/folder/step.rdgm";
  EXPECT_THROW(train(recipe), Error);
  EXPECT_TRUE(list_checkpoints(recipe.log_dir).empty());  // before the first step
}

}  // namespace
}  // namespace ridgeline::train
