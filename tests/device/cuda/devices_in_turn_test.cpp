// A training that begins on the CPU, goes on on a card and ends on the CPU: each reads the checkpoint of the one
// before.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/device/cuda/device_support.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr std::int64_t kStepsInTurn = 3;

struct InTurn {
  std::vector<double> losses;  // of each step
  std::string folder, metrics;
};

// Three steps on each of the devices, one after the other, by one training.
InTurn train_in_turn(const std::string& folder, const std::vector<const char*>& devices, const char* precision) {
  std::filesystem::remove_all(folder);
  InTurn trained{.folder = folder};
  std::int64_t steps = 0;
  for (const char* device : devices) {
    train::Recipe recipe = train::small_run(folder, steps += kStepsInTurn, kStepsInTurn);
    recipe.image_size = 16;
    recipe.batch_size = 2;
    recipe.device = device;
    recipe.iterations_per_loop = 1;
    recipe.save_summary_steps = 1;
    recipe.warmup_epochs = 0;
    recipe.lr = 0.002;
    recipe.precision.mode = precision;
    const train::TrainingResult result = train::train(recipe);
    EXPECT_EQ(result.step, steps) << device;
    EXPECT_EQ(result.last.step, steps) << device;
    trained.metrics = result.metrics_path;
  }
  for (const auto& line : read_json_lines(trained.metrics)) trained.losses.push_back(std::get<double>(line.at("loss")));
  EXPECT_EQ(std::ssize(trained.losses), steps);
  return trained;
}

void expect_in_band(const InTurn& trained, const InTurn& cpu, double band) {
  for (std::size_t i = 0; i < cpu.losses.size(); ++i)
    EXPECT_NEAR(trained.losses[i], cpu.losses[i], band * cpu.losses[i]) << i;
  // Files are of the size that the names, types and shapes in them make.
  for (std::int64_t step = kStepsInTurn; step <= 3 * kStepsInTurn; step += kStepsInTurn) {
    const std::string name = "/model.ckpt-" + std::to_string(step) + ".safetensors";
    EXPECT_EQ(std::filesystem::file_size(trained.folder + name), std::filesystem::file_size(cpu.folder + name)) << step;
  }
}

TEST(CudaDevicesInTurn, ACheckpointGoesFromTheCpuToTheCardAndBackAndTheOtherWayRound) {
  add_recording_device();
  const std::string folder = ridgeline::testing::temporary_directory();
  const InTurn cpu = train_in_turn(folder + "/cpu_alone", {"cpu", "cpu", "cpu"}, "must_keep_origin_dtype");
  EXPECT_GT(cpu.losses.front() - cpu.losses.back(), 1e-2 * cpu.losses.front()) << "it learns nothing";
  const InTurn back = train_in_turn(folder + "/back", {"cpu", "cuda_recording", "cpu"}, "must_keep_origin_dtype");
  expect_in_band(back, cpu, 1e-3);
  const std::string first = "/model.ckpt-" + std::to_string(kStepsInTurn) + ".safetensors";
  EXPECT_TRUE(read_file(back.folder + first) == read_file(cpu.folder + first)) << "the CPU's own steps";
  expect_in_band(
      train_in_turn(folder + "/round", {"cuda_recording", "cpu", "cuda_recording"}, "must_keep_origin_dtype"), cpu,
      1e-3);
}

TEST(CudaDevicesInTurn, SoDoesOneOfATrainingInBf16) {
  add_recording_device();
  const std::string folder = ridgeline::testing::temporary_directory();
  const InTurn cpu = train_in_turn(folder + "/cpu_bf16", {"cpu", "cpu", "cpu"}, "allow_mix_precision_bf16");
  expect_in_band(train_in_turn(folder + "/in_turn_bf16", {"cpu", "cuda_recording", "cpu"}, "allow_mix_precision_bf16"),
                 cpu, 2e-2);
}

}  // namespace
}  // namespace ridgeline::cuda::testing
