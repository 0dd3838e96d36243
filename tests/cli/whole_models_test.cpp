// Whole models trained by the program over shared memory and MPI: N ranks with batches of B give the result of one rank
// with batches of N * B. The difference is at most that of one rank with two instruction sets; in deterministic runs
// the bits are the same.
//
//     RIDGELINE_WHOLE_MODELS=20 build/tests/test_cli --gtest_filter='WholeModels.*'
//
// trains that many steps of AlexNet and ResNet-18 on 2, 4 and 8 ranks and prints the distances; by default a few steps
// of ResNet-20 on two ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "tests/support/mpirun.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

constexpr int kImages = 16;  // of all ranks per step
enum class Over { one, shared, mpi };

int steps_asked() {
  const char* text = std::getenv("RIDGELINE_WHOLE_MODELS");
  return text == nullptr ? 0 : std::atoi(text);
}

// The checkpoint of a run; `variables` come before the command.
std::string checkpoint_of(const std::string& flags, int steps, Over over, int ranks,
                          const std::string& variables = "") {
  static int number = 0;
  const std::string here = testing::temporary_directory() + "/whole_models";
  const std::string log_dir = fmt::format("{}/run_{}", here, number++);
  std::filesystem::remove_all(log_dir);
  make_directories(here);
  if (!std::filesystem::exists(here + "/shapes")) data::make_shapes(here + "/shapes", {.train = 96, .val = 10});
  const std::string train = fmt::format(
      "train --data_dir={}/shapes --mode=train --max_epochs=20 --warmup_epochs=0 --batch_size={} --max_train_steps={} "
      "--intra_op_parallelism_threads=1 --log_dir={} {}",
      here, kImages / ranks, steps, log_dir, flags);
  std::string command = testing::program() + " " + train;
  if (over == Over::shared) {
    command = fmt::format("RIDGELINE_RANKS_OVER=shared {} launch --ranks={} --results={}/results -- {}",
                          testing::program(), ranks, log_dir, train);
  } else if (over == Over::mpi) {
    command = fmt::format("{} RIDGELINE_RANKS_OVER=mpi mpirun --oversubscribe -np {} {} {}", testing::kMpiVariables,
                          ranks, testing::program(), train);
  }
  const testing::Outcome outcome = testing::run_shell(variables + " " + command);
  EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.text;
  return fmt::format("{}/model.ckpt-{}.safetensors", log_dir, steps);
}

// Distance of all parameters and statistics together, relative to their Euclidean norm. Single tensors are no measure:
// one that begins with zeros consists only of gradients and has all of their rounding.
double distance(const std::string& some, const std::string& other) {
  const SafetensorsFile a(some), b(other);
  double apart = 0, length = 0;
  for (const NamedTensor& t : b.tensors()) {
    if (t.tensor.dtype() != DType::f32 || t.name.ends_with("/momentum")) continue;
    const auto* x = a.tensor(t.name).data<float>();
    const auto* y = t.tensor.data<float>();
    for (std::int64_t i = 0; i < t.tensor.elements(); ++i) {
      apart += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
      length += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    }
  }
  return std::sqrt(apart / std::max(length, 1e-20));
}

struct Subject {
  std::string flags;
  std::vector<int> ranks;
};

std::vector<Subject> subjects() {
  if (steps_asked() == 0) return {{"--model=resnet20 --image_size=32 --lr=0.003 --sync_batch_norm=True", {2}}};
  // Batch norms over few images with uniform backgrounds amplify rounding errors: with a usual learning rate nothing
  // would be comparable after a few steps.
  return {{"--model=resnet18 --image_size=64 --lr=0.00001 --sync_batch_norm=True", {2, 4, 8}},
          {"--model=alexnet --image_size=67 --lr=0.001 --dropout_keep=1", {2, 4, 8}},
          {"--model=alexnet_torchvision --image_size=64 --lr=0.005 --dropout_keep=1", {2, 4, 8}}};
}
int steps() { return steps_asked() > 0 ? steps_asked() : 3; }

std::vector<Over> engines() {
  std::vector<Over> all{Over::shared};
  if (testing::has_mpirun()) all.push_back(Over::mpi);
  return all;
}
const char* name_of(Over over) { return over == Over::mpi ? "MPI" : "shared memory"; }

TEST(WholeModels, RanksEndAsNearToOneAsAnotherInstructionSetDoes) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.flags);
    const int made = steps();
    const std::string one = checkpoint_of(subject.flags, made, Over::one, 1);
    // The effect of another rounding order: the lowest instruction set, or the simplest kernels if the machine has no
    // other.
    double yardstick = 0;
    const std::string lowest(device::name_of(device::machine_isas().front()));
    for (const std::string& variables : {"RIDGELINE_ISA=" + lowest, std::string("RIDGELINE_KERNELS=own")}) {
      const std::string other = checkpoint_of(subject.flags, made, Over::one, 1, variables);
      yardstick = std::max(yardstick, distance(other, one));
      std::filesystem::remove_all(std::filesystem::path(other).parent_path());
    }
    ASSERT_GT(yardstick, 0);
    ASSERT_LT(yardstick, 0.5) << "nothing is left of this training in f32";
    if (steps_asked() > 0)
      fmt::print("{}, {} steps: other kernels on one rank {:.2e}\n", subject.flags, made, yardstick);
    for (const Over over : engines()) {
      for (const int ranks : subject.ranks) {
        const std::string several = checkpoint_of(subject.flags, made, over, ranks);
        const double apart = distance(several, one);
        if (steps_asked() > 0) fmt::print("  {} ranks over {}: {:.2e}\n", ranks, name_of(over), apart);
        EXPECT_LE(apart, std::max(1e-5, 2 * yardstick)) << ranks << " ranks over " << name_of(over);
        std::filesystem::remove_all(std::filesystem::path(several).parent_path());
      }
    }
    std::filesystem::remove_all(std::filesystem::path(one).parent_path());
  }
}

TEST(WholeModels, DeterministicRanksHaveTheBitsOfOneOverEitherEngine) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.flags);
    const std::string flags = subject.flags + " --reproducibility=deterministic";
    const std::string one = checkpoint_of(flags, steps(), Over::one, 1);
    for (const Over over : engines()) {
      for (const int ranks : {2, 4}) {
        if (steps_asked() == 0 && over == Over::shared && ranks == 4) continue;  // launch_test.cpp tests that
        const std::string several = checkpoint_of(flags, steps(), over, ranks);
        EXPECT_TRUE(read_file(several) == read_file(one)) << ranks << " ranks over " << name_of(over);
        std::filesystem::remove_all(std::filesystem::path(several).parent_path());
      }
    }
    std::filesystem::remove_all(std::filesystem::path(one).parent_path());
  }
}

}  // namespace
}  // namespace ridgeline
