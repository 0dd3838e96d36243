// --device: steps run on the given device with the results of the CPU; an unknown name is refused with a list of
// devices.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using testing::Outcome;
using testing::run;

const std::string kRun =
    "train --synthetic --mode=train --model=linear --image_size=8 --num_classes=4 --batch_size=6 --max_train_steps=3 "
    "--save_summary_steps=1 --do_checkpoint=False --warmup_epochs=0 --lr=0.5 ";

// The losses of the log, in order.
std::vector<double> losses(const std::string& text) {
  std::vector<double> all;
  const std::regex loss(R"(, loss: ([0-9.]+))");
  for (std::sregex_iterator it(text.begin(), text.end(), loss), end; it != end; ++it) {
    all.push_back(std::stod((*it)[1]));
  }
  return all;
}

TEST(DeviceFlag, TrainingOnAnotherDeviceGivesTheSameLosses) {
  const std::string log_dir = " --log_dir=" + testing::temporary_directory() + "/";
  const Outcome cpu = run(kRun + log_dir + "cpu");
  const Outcome simulated = run(kRun + "--device=simulated --log_device_placement=True" + log_dir + "simulated");
  ASSERT_EQ(cpu.code, 0) << cpu.text;
  ASSERT_EQ(simulated.code, 0) << simulated.text;
  const std::vector<double> expected = losses(cpu.text);
  const std::vector<double> got = losses(simulated.text);
  ASSERT_EQ(expected.size(), 3u) << cpu.text;
  ASSERT_EQ(got.size(), 3u) << simulated.text;
  EXPECT_GT(std::abs(expected[2] - expected[0]), 0.01) << "the steps must change something";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], expected[i], 2e-3) << i;
  EXPECT_EQ(simulated.text.find("run on cpu"), std::string::npos) << "it has kernels for all of them";
}

TEST(DeviceFlag, BenchNamesTheDevice) {
  const Outcome bench =
      run("bench step --model=linear --image_size=8 --batch_size=4 --steps=1 --json --device=simulated");
  ASSERT_EQ(bench.code, 0) << bench.text;
  EXPECT_NE(bench.text.find("\"device\":\"simulated\""), std::string::npos) << bench.text;
  EXPECT_NE(bench.text.find("\"warnings\":[]"), std::string::npos) << bench.text;
  const auto number = [&](const std::string& key) {
    const std::size_t at = bench.text.find("\"" + key + "\":");
    return at == std::string::npos ? -1.0 : std::stod(bench.text.substr(at + key.size() + 3));
  };
  EXPECT_GT(number("ms_until_ready"), 0) << bench.text;
  EXPECT_GE(number("ms_until_first_step"), number("ms_until_ready")) << bench.text;
}

TEST(DeviceFlag, AnUnknownNameIsRefusedWithTheAllowedOnes) {
  for (const char* command : {"train --synthetic --mode=train", "bench step", "evaluate --data_dir=nowhere"}) {
    const Outcome refused = run(std::string(command) + " --device=gpu0");
    EXPECT_EQ(refused.code, 2) << refused.text;
    EXPECT_NE(refused.text.find("unknown device 'gpu0' (allowed: cpu, cuda, simulated, simulated_unfused)"),
              std::string::npos)
        << refused.text;
  }
}

}  // namespace
}  // namespace ridgeline
