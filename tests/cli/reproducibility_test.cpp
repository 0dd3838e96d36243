// --reproducibility: whole runs give the same bytes for any number of threads (deterministic) or on any machine
// (portable).
#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "ridgeline/device/cpu/isa.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

// The checkpoint of three steps of a small network with convolutions, batch norm, pooling and a dense layer.
std::string run(const std::string& name, const std::string& environment, const std::string& flags) {
  const std::string log_dir = testing::temporary_directory() + "/" + name;
  const testing::Outcome outcome = testing::run_shell(
      environment + " " + testing::program() +
      " train --synthetic --mode=train --model=resnet20 --num_classes=10 --batch_size=6 --max_train_steps=3 --lr=0.05 "
      "--warmup_epochs=0 --log_dir=" +
      log_dir + " " + flags);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text.find("reference kernel"), std::string::npos) << outcome.text;
  return read_file(log_dir + "/model.ckpt-3.safetensors");
}

std::string threads(int count) { return " --intra_op_parallelism_threads=" + std::to_string(count); }

TEST(Reproducibility, DeterministicRunsDoNotDependOnTheTeam) {
  const std::string flags = "--reproducibility=deterministic";
  const std::string one = run("d1", "", flags + threads(1));
  for (const int count : {2, 3}) {
    EXPECT_TRUE(one == run("d" + std::to_string(count), "", flags + threads(count))) << count << " threads";
  }
}

// A backward pass with launches that can run at the same time.
TEST(Reproducibility, DeterministicRunsDoNotDependOnLaunchesSideBySide) {
  const std::string flags = "--reproducibility=deterministic" + threads(2);
  const std::string one = run("l1", "", flags);
  for (const int lanes : {2, 5}) {
    EXPECT_TRUE(
        one == run("l" + std::to_string(lanes), "", flags + " --inter_op_parallelism_threads=" + std::to_string(lanes)))
        << lanes << " lanes";
  }
}

TEST(Reproducibility, PortableRunsDoNotDependOnTheMachineEither) {
  for (const std::string precision : {"must_keep_origin_dtype", "allow_mix_precision_bf16"}) {
    const std::string flags = "--reproducibility=portable --precision_mode=" + precision;
    const std::string first =
        run("p" + precision, "RIDGELINE_ISA=" + std::string(device::name_of(device::machine_isas().front())),
            flags + threads(1));
    for (const device::Isa isa : device::machine_isas()) {
      const std::string name(device::name_of(isa));
      EXPECT_TRUE(first == run("p" + precision + name, "RIDGELINE_ISA=" + name, flags + threads(2)))
          << name << " " << precision;
    }
  }
}

TEST(Reproducibility, UnknownLevelsAndModesAreRefused) {
  const auto refused = [](const std::string& flags) {
    const testing::Outcome outcome = testing::run_shell(testing::program() + " train --synthetic " + flags);
    EXPECT_EQ(outcome.code, 2) << outcome.text;
    return outcome.text;
  };
  EXPECT_NE(
      refused("--reproducibility=portabel").find("did you mean 'portable'? (allowed: fast, deterministic, portable)"),
      std::string::npos);
  const testing::Outcome predict = testing::run("predict --reproducibility=portabel model.rdgm picture.jpg");
  EXPECT_EQ(predict.code, 2) << predict.text;
  EXPECT_NE(predict.text.find("did you mean 'portable'?"), std::string::npos) << predict.text;
  EXPECT_NE(refused("--inter_op_parallelism_threads=-1").find("inter_op_parallelism_threads"), std::string::npos);
  EXPECT_NE(refused("--inter_op_parallelism_threads=2 --device=simulated").find("runs one after the other"),
            std::string::npos);
  EXPECT_NE(refused("--op_select_implmode=exact").find("high_precision, high_performance"), std::string::npos);
  EXPECT_NE(refused("--fp32_compute=tf32").find("(allowed: f32, bf16x3)"), std::string::npos);
  EXPECT_NE(refused("--tune=auto --reproducibility=deterministic").find("reproducibility is deterministic"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline
