// Each session has its own compute team: several sessions work in one process, a step works with any OpenMP settings,
// and the surrounding program finds its OpenMP settings unchanged.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/loop/synthetic.h"
#include "tests/support/program.h"

#if !defined(RIDGELINE_STD_THREADS)
#include <omp.h>
#endif

namespace ridgeline {
namespace {

// A training step of ResNet-20: the library's convolutions sum gradients in an order that depends on the team's size.
class TeamTraining {
 public:
  explicit TeamTraining(int threads) : session_({.compute_threads = threads}), batch_(options(), 10, 3) {}
  void prepare() {
    const nn::Step step = nn::build_training_step(options(), {.schedule = optim::Constant{.base = 0.1}});
    for (const nn::ParameterSpec& spec : step.parameters) {
      names_.push_back(spec.name);
      session_.parameters().set(spec.name, nn::initialize(spec, 5),
                                spec.trainable() ? ValueKind::param : ValueKind::state);
    }
    program_ = compile(step.graph, session_);
    batch_.bind(*program_);
  }
  void step() { ASSERT_TRUE(program_->run()); }
  int threads() const { return session_.compute_threads(); }
  std::vector<std::string> values() const {
    std::vector<std::string> values;
    for (const std::string& name : names_) {
      const Tensor value = session_.parameters().get(name);
      values.emplace_back(static_cast<const char*>(value.raw()), value.byte_size());
    }
    return values;
  }

 private:
  static nn::StepOptions options() {
    nn::StepOptions options;
    options.model = &nn::model_named("resnet20");
    options.model_options.num_classes = 10;
    options.batch_size = 4;
    options.image_size = 32;
    return options;
  }

  mutable Session session_;
  train::SyntheticBatch batch_;
  std::vector<std::string> names_;
  std::unique_ptr<Program> program_;
};

std::vector<std::string> after_two_steps(int threads) {
  TeamTraining training(threads);
  training.prepare();
  training.step();
  training.step();
  return training.values();
}

TEST(ComputeTeam, TwoSessionsHaveEachItsOwnAndItsOwnBits) {
  const auto alone_1 = after_two_steps(1), alone_2 = after_two_steps(2);
  TeamTraining two(2), one(1);
  EXPECT_EQ(one.threads(), 1);
  two.prepare();
  one.prepare();
  for (int step = 0; step < 2; ++step) {
    two.step();
    one.step();
  }
  EXPECT_TRUE(one.values() == alone_1);
  EXPECT_TRUE(two.values() == alone_2);
}

// The tests below run this test again with other settings of OpenMP, which reads them when a program is loaded.
TEST(ComputeTeam, AStepOfTwoThreadsEnds) {
  const char* expected = std::getenv("RIDGELINE_EXPECTED_TEAM");
  TeamTraining training(2);
  if (expected != nullptr) {
    EXPECT_EQ(std::to_string(training.threads()), expected);
  }
  training.prepare();
  training.step();
  training.step();
  // Requesting the number of threads of the session explicitly makes no difference.
  EXPECT_TRUE(training.values() == after_two_steps(training.threads()));
}

#if !defined(RIDGELINE_STD_THREADS)

testing::Outcome again_under(const std::string& settings, int team) {
  return testing::run_shell("env GOMP_SPINCOUNT=1000 " + settings + " RIDGELINE_EXPECTED_TEAM=" + std::to_string(team) +
                            " timeout -s KILL 120 " + std::filesystem::read_symlink("/proc/self/exe").string() +
                            " --gtest_filter=ComputeTeam.AStepOfTwoThreadsEnds");
}

TEST(ComputeTeam, AStepEndsWhereOpenMpMayHaveOneThreadOnly) {
  testing::expect(again_under("OMP_THREAD_LIMIT=1", 1), 0, {"PASSED"});
}

TEST(ComputeTeam, AStepEndsWhereOpenMpChoosesItsTeamByItself) {
  testing::expect(again_under("OMP_DYNAMIC=true", 2), 0, {"PASSED"});
}

// The number of threads of the caller's region that flush denormals.
int flushing_threads(int team) {
  std::atomic<int> flushing{0};
  volatile float smallest = std::numeric_limits<float>::min();
#pragma omp parallel num_threads(team)
  if (smallest * 0.5f == 0.0f) ++flushing;
  return flushing;
}

TEST(ComputeTeam, TheCallersTeamAndDenormalsAreItsOwnAfterCompilingAndRunning) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  TeamTraining training(2);
  training.prepare();
  EXPECT_EQ(omp_get_max_threads(), 3);
  EXPECT_EQ(flushing_threads(2), 0);
  training.step();
  training.values();
  EXPECT_EQ(omp_get_max_threads(), 3);
  EXPECT_EQ(flushing_threads(2), 0);
  omp_set_num_threads(before);
}

TEST(ComputeTeam, AProgramOfTwoThreadsIsRefusedWhereThereIsOne) {
  TeamTraining training(2);
  training.prepare();
  std::string said;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    try {
      training.step();
    } catch (const Error& error) {
      said = error.what();
    }
  }
  EXPECT_NE(said.find("2 compute threads are wanted where OpenMP gives 1"), std::string::npos) << said;
  training.step();
}

#endif

}  // namespace
}  // namespace ridgeline
