// Kernels chosen by time: the fastest one, and what the file stores.
#include "ridgeline/device/kernel_tuner.h"

#include <set>

#include "kernel_testing.h"
#include "ridgeline/compile/run/session.h"
#include "ridgeline/core/file.h"
#include "ridgeline/device/cpu/kernels_version.h"
#include "tests/support/error_of.h"
#include "tests/support/files.h"
#include "tests/support/host_device.h"

namespace ridgeline {
namespace {

int runs = 0;
std::set<std::string> ran;  // kernel names
double now = 0;             // milliseconds, given by the tests, so that results do not depend on other load

class TimedKernel final : public Kernel {
 public:
  TimedKernel(std::string called, int milliseconds) : milliseconds_(milliseconds) { name = std::move(called); }
  void run(const KernelArguments&) override {
    ++runs;
    ran.insert(name);
    now += milliseconds_;
  }

 private:
  int milliseconds_;
};

KernelChoice make_slow(const KernelRequest&) { return std::make_unique<TimedKernel>("slow", 12); }
KernelChoice make_middle(const KernelRequest&) { return std::make_unique<TimedKernel>("middle", 6); }
KernelChoice make_fast(const KernelRequest&) { return std::make_unique<TimedKernel>("fast", 2); }
KernelChoice make_between(const KernelRequest&) {
  auto kernel = std::make_unique<TimedKernel>("between conversions", 0);
  kernel->emulates = true;
  return kernel;
}
KernelChoice refuse(const KernelRequest&) { return Refusal{"never"}; }

// The CPU's memory and stream, with the test's own kernels.
class ListedDevice final : public testing::HostDevice {
 public:
  explicit ListedDevice(std::vector<KernelEntry> entries)
      : testing::HostDevice(std::optional<Provider>()), entries_(std::move(entries)) {}
  std::string_view name() const override { return "listed"; }
  std::vector<KernelEntry> kernels(std::string_view) const override { return entries_; }

 private:
  std::vector<KernelEntry> entries_;
};

const KernelEntry kSlow{"dense", "slow", Provider::own, make_slow};
const KernelEntry kMiddle{"dense", "middle", Provider::own, make_middle};
const KernelEntry kFast{"dense", "fast", Provider::library, make_fast};
const KernelEntry kFastNoMore{"dense", "fast", Provider::library, refuse};
const KernelEntry kBetween{"dense", "between", Provider::own, make_between};
const KernelEntry kNever{"dense", "never", Provider::own, refuse};
const KernelEntry kReference{"dense", "reference", Provider::reference, make_fast};

Problem dense(std::int64_t inputs) {
  return {"dense", {random_tensor({64, inputs}, 1), random_tensor({512, inputs}, 2)}, {}};
}

class Tuner : public ::testing::Test {
 protected:
  std::string file() const { return directory_.path() + "/times/kernels.txt"; }
  std::optional<KernelTuner::Fastest> fastest_of(const std::vector<KernelEntry>& entries, std::int64_t inputs = 512,
                                                 const std::string& machine = "this one") {
    ListedDevice device(entries);
    KernelTuner tuner(file(), machine, [] { return now; });
    const Problem problem = dense(inputs);
    const Node node = problem.node();
    runs = 0;
    ran.clear();
    return tuner.choose(problem.request(node), device);
  }
  // "NAME; reason without its times", or "" if nothing is chosen.
  std::string chosen(const std::vector<KernelEntry>& entries, std::int64_t inputs = 512,
                     const std::string& machine = "this one") {
    const auto fastest = fastest_of(entries, inputs, machine);
    if (!fastest) return "";
    return fastest->kernel->name + "; " + fastest->reason.substr(0, fastest->reason.find(' '));
  }
  TempFolder directory_;
};

TEST_F(Tuner, TheFastestIsChosenWhateverTheOrder) {
  EXPECT_EQ(chosen({kSlow, kNever, kFast, kBetween, kReference}), "fast; measured:");
  EXPECT_GT(runs, 4);
}

TEST_F(Tuner, WhatWasMeasuredIsKnownToTheNextProcess) {
  EXPECT_EQ(chosen({kSlow, kFast}), "fast; measured:");
  EXPECT_EQ(chosen({kSlow, kFast}), "fast; known:");
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(chosen({kSlow, kFast}, 480), "fast; measured:") << "other shapes";
  EXPECT_EQ(chosen({kSlow, kFast}, 512, "another"), "fast; measured:") << "another machine";
  EXPECT_EQ(chosen({kSlow, kFast}), "fast; known:") << "all are kept";
}

TEST_F(Tuner, WhereThereIsNoChoiceNothingIsMeasured) {
  EXPECT_EQ(chosen({kFast, kNever, kBetween, kReference}), "");
  EXPECT_EQ(chosen({kSlow, kFast}, 2), "") << "too small to matter";
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(is_regular_file(file()));
}

TEST_F(Tuner, AKernelThatIsGoneIsNotChosen) {
  EXPECT_EQ(chosen({kSlow, kFast}), "fast; measured:");
  EXPECT_EQ(chosen({kSlow}), "");
}

TEST_F(Tuner, AnEntryThatCameLaterIsMeasuredBesideTheKnownOnes) {
  EXPECT_EQ(chosen({kSlow, kMiddle}), "middle; measured:");
  EXPECT_EQ(chosen({kSlow, kFast, kMiddle}), "fast; measured:");
  EXPECT_EQ(ran, (std::set<std::string>{"fast"})) << "what is known is not measured again";
  EXPECT_EQ(chosen({kSlow, kFast, kMiddle}), "fast; known:");
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(chosen({kSlow, kMiddle}), "middle; known:") << "where the later one is not there";
}

TEST_F(Tuner, WhereTheFastestRefusesTheNextOneIsChosen) {
  EXPECT_EQ(chosen({kSlow, kFast, kMiddle}), "fast; measured:");
  EXPECT_EQ(chosen({kSlow, kFastNoMore, kMiddle}), "middle; known:");
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(chosen({kFastNoMore, kMiddle}), "") << "no choice is left";
  EXPECT_EQ(chosen({kSlow, kFast, kMiddle}), "fast; known:") << "its time is kept";
}

TEST_F(Tuner, AChoiceTellsOpAndEntryAndNothingOfTheMachine) {
  const std::string here = fastest_of({kSlow, kFast})->choice, known = fastest_of({kFast, kSlow})->choice;
  EXPECT_EQ(here, known);
  EXPECT_EQ(fastest_of({kSlow, kFast}, 512, "another")->choice, here);
  EXPECT_EQ(here.substr(here.size() - 8), " by fast");
  EXPECT_EQ(here.rfind("dense", 0), 0u) << here;
  EXPECT_NE(fastest_of({kSlow, kFast}, 480)->choice, here);
  EXPECT_EQ(fastest_of({kSlow, kFastNoMore, kMiddle})->choice, here.substr(0, here.size() - 4) + "middle");
}

TEST_F(Tuner, APlanIsAHashOfTheChoicesInAnyOrder) {
  EXPECT_EQ(KernelTuner::plan_of({}), "");
  const std::string plan = KernelTuner::plan_of({"dense by fast", "conv2d by slow"});
  EXPECT_EQ(plan.size(), 16u) << plan;
  EXPECT_EQ(KernelTuner::plan_of({"conv2d by slow", "dense by fast", "conv2d by slow"}), plan);
  EXPECT_NE(KernelTuner::plan_of({"conv2d by slow", "dense by slow"}), plan);
  EXPECT_NE(KernelTuner::plan_of({"dense by fast"}), plan);
}

// Times of an older library or of older kernels are no longer used.
TEST_F(Tuner, TheFileTellsWhichKernelsItsTimesAreOf) {
  const Problem problem{"conv2d", {random_tensor({2, 28, 28, 64}, 1), random_tensor({64, 3, 3, 64}, 2)}, {}};
  const Node node = problem.node();
  CpuDevice device({}, file());
  ASSERT_TRUE(device.tuner()->choose(problem.request(node), device).has_value());
  const std::string kernels = ", kernels " + std::string(kernels_version()) + ", " + device::library_version() + ", ";
  EXPECT_NE(read_file(file()).find(kernels), std::string::npos) << kernels << " in " << read_file(file());
}

TEST_F(Tuner, DamagedLinesAreMeasuredAgainAndForeignFilesRefused) {
  EXPECT_EQ(chosen({kSlow, kFast}), "fast; measured:");
  std::string text = read_file(file());
  const std::size_t at = text.rfind('\t');
  write_file_atomically(file(), text.substr(0, at + 1) + "x\n");
  EXPECT_EQ(chosen({kSlow, kFast}), "fast; measured:");
  // A line with an invalid number is ignored as a whole, since times of one measurement should be compared.
  EXPECT_EQ(chosen({kSlow, kFast, kMiddle}, 480), "fast; measured:");
  text = read_file(file());
  const std::size_t one = text.find("\tmiddle\t");
  text.replace(one, 9, "\tmiddle\t-");
  write_file_atomically(file(), text);
  EXPECT_EQ(chosen({kSlow, kFast, kMiddle}, 480), "fast; measured:");
  EXPECT_EQ(ran, (std::set<std::string>{"fast", "middle", "slow"}));
  text = read_file(file());
  text[text.find('2')] = '7';
  write_file_atomically(file(), text);
  EXPECT_EQ(chosen({kSlow, kFast}), "fast; measured:") << "of another version";
  write_file_atomically(file(), "a letter\n");
  EXPECT_EQ(error_of([&] { KernelTuner(file(), "this one"); }),
            file() + " is no file of kernel times: name another one, or one that is not there yet");
  EXPECT_EQ(read_file(file()), "a letter\n");
}

TEST_F(Tuner, BitsThatMustNotDependOnTimeExcludeIt) {
  const auto refusal = [&](SessionOptions options) {
    options.tune = file();
    return error_of([&] { const Session session(options); });
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.promise = {.bits = Reproducibility::deterministic}}),
            "tune chooses kernels by time, so bits depend on the machine and the team, and reproducibility is "
            "deterministic");
  EXPECT_EQ(refusal({.device = "simulated"}), "tune measures the kernels of the cpu, and the device is simulated");
}

}  // namespace
}  // namespace ridgeline
