// --fusion on a device without a compiler for fused loops: if requested in any way, it is refused before anything is
// written; if off or not given, the run continues op by op.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;
using testing::expect;
using testing::Outcome;

const std::string kDevice = " --device=simulated_unfused";
const std::string kRefusal =
    "fusion: not supported on this backend: device 'simulated_unfused' has no compiler for fused loops (allowed: "
    "False, or leave it out)";
const std::string kNotice = "device simulated_unfused has no compiler for fused loops: pointwise ops run one by one";
const std::string kTrain =
    "train --synthetic --mode=train --model=linear --image_size=8 --num_classes=4 --batch_size=6 --max_train_steps=2 "
    "--warmup_epochs=0 --log_dir=run";

// An empty folder in which the program runs.
std::string fresh(const std::string& name) {
  const std::string path = testing::temporary_directory() + "/" + name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

// With a limit on core files that allows them to be written.
Outcome run(const std::string& folder, const std::string& words) {
  return testing::run_shell("cd " + folder + " && ulimit -c unlimited; " + testing::program() + " " + words);
}

std::set<std::string> files_of(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

void write_sum(const std::string& folder) {
  write_file_atomically(folder + "/sum.rdg",
                        "graph @sum_of_products(%x: f32[1024], %y: f32[1024], %z: f32[1024]) {\n"
                        "  %0 = mul(%y, %z) : f32[1024]\n"
                        "  %1 = add(%x, %0) : f32[1024]\n"
                        "  %2 = reduce_sum(%1) : f32[]\n"
                        "  return %2\n"
                        "}\n");
}

double value_of(const Outcome& outcome) { return std::stod(outcome.text.substr(outcome.text.find("%2 = ") + 5)); }

// A device with its own memory needs one more launch for each of the three inputs, which copies it to the device.
TEST(FusionSwitch, OffAndLeftOutRunThreeOpsWithTheFusedValue) {
  const std::string folder = fresh("sums");
  write_sum(folder);
  const Outcome fused = run(folder, "graph run sum.rdg");
  expect(fused, 0, {"launches 1 (3 without fusion)"});
  const Outcome host = run(folder, "graph run sum.rdg --fusion=off");
  expect(host, 0, {"launches 3, bytes read 20,480, written 8,196"});
  const Outcome off = run(folder, "graph run sum.rdg --fusion=off" + kDevice);
  expect(off, 0, {"launches 3, "});
  EXPECT_EQ(off.text.find(kNotice), std::string::npos) << "nothing was asked for, nothing is missing: " << off.text;
  const Outcome left = run(folder, "graph run sum.rdg" + kDevice);
  expect(left, 0, {"launches 3 (3 without fusion)", kNotice});
  EXPECT_EQ(left.text.find(kNotice), left.text.rfind(kNotice)) << "once: " << left.text;
  for (const Outcome& other : {host, off, left})
    EXPECT_NEAR(value_of(other), value_of(fused), 1e-5 * std::abs(value_of(fused)));
  expect(run(folder, "graph run sum.rdg --fusion=on"), 0, {"launches 1 (3 without fusion)"});
  expect(run(folder, "graph run sum.rdg --fusion=on --device=simulated"), 0, {"launches 1 (3 without fusion)"});
}

TEST(FusionSwitch, AskedForByNameItIsRefusedAndNothingIsLeftBehind) {
  const std::string folder = fresh("asked");
  write_sum(folder);
  write_file_atomically(folder + "/preset.yaml", "fusion: True\n");
  write_file_atomically(folder + "/switch.json", R"({"Switch": {"GraphFusion": {"ALL": "on"}}})");
  write_file_atomically(folder + "/config.json", R"({"fusion_switch_file": "switch.json"})");
  const std::set<std::string> before = files_of(folder);
  for (const std::string& words :
       {std::string("graph run sum.rdg --fusion=on --dump_ir=ir --save=out.safetensors"),
        std::string("graph run sum.rdg --fusion"), std::string("graph bench sum.rdg --runs=1 --fusion=True"),
        std::string("bench step --model=linear --image_size=8 --batch_size=4 --steps=1 --fusion=True"),
        kTrain + " --fusion=True --trace=trace.json --dump_ir=ir", kTrain + " --preset=preset.yaml",
        kTrain + " --run_config=config.json", std::string("evaluate --data_dir=. --checkpoint_dir=. --fusion=True")}) {
    SCOPED_TRACE(words);
    expect(run(folder, words + kDevice), 2, {kRefusal});
    EXPECT_EQ(files_of(folder), before);
  }
}

TEST(FusionSwitch, RanksRefuseItAndLeaveNoSharedMemory) {
  const std::string folder = fresh("ranks");
  const std::string job = "fusion_switch_" + std::to_string(::getpid());
  const Outcome refused =
      run(folder, "launch --ranks=2 --job_id=" + job + " -- " + kTrain + " --fusion=True" + kDevice);
  expect(refused, 2, {"rank 0: train fail (exit code 2)", "rank 1: train fail (exit code 2)"});
  const std::string log = read_file(folder + "/results/2p/0/train_0.log");
  EXPECT_NE(log.find(kRefusal), std::string::npos) << log;
  EXPECT_EQ(files_of(folder),
            (std::set<std::string>{"results", "2p", "0", "1", "train_0.log", "train_1.log", "env_0.log", "env_1.log"}));
  EXPECT_FALSE(fs::exists(fmt::format("/dev/shm/ridgeline-{}-{:016x}", ::getuid(), hash64(job))));
}

TEST(FusionSwitch, ATrainingThatLeavesItOutGoesOnUnfused) {
  const std::string folder = fresh("trains");
  const Outcome left = run(folder, kTrain + " --do_checkpoint=False" + kDevice);
  expect(left, 0, {kNotice, "training steps: 2"});
  EXPECT_EQ(left.text.find(kNotice), left.text.rfind(kNotice)) << "once: " << left.text;
  expect(run(folder, kTrain + "2 --do_checkpoint=False --fusion=False" + kDevice), 0, {"training steps: 2"});
}

}  // namespace
}  // namespace ridgeline
