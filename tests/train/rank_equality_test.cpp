// N ranks with batches of B train as one rank with N * B: AlexNet, and ResNet-18 with synchronised statistics, over
// shared memory and over MPI.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "ridgeline/comm/connect.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/loop.h"
#include "tests/comm/ranks.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kRows = 16, kClasses = 7, kSteps = 20;

struct Subject {
  const char* model;
  std::int64_t side;
  bool synchronised;
  double rate;
};
constexpr Subject kSubjects[] = {{"alexnet", 67, false, 0.001}, {"resnet18", 64, true, 0.0005}};

struct Trained {
  std::vector<float> parameters;
  std::vector<double> losses;
};

float pixel(std::int64_t step, std::int64_t image, std::int64_t at) {
  return static_cast<float>(std::sin(0.37 * static_cast<double>(at % 101) + 1.3 * static_cast<double>(image) +
                                     0.7 * static_cast<double>(step * (at % 5 + 1))));
}

Trained trained(const Subject& subject, comm::Communicator* ranks, bool overlap) {
  const std::int64_t n = ranks ? ranks->size() : 1, rank = ranks ? ranks->rank() : 0, batch = kRows / n;
  SessionOptions session_options{.compute_threads = 1};
  if (ranks) session_options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  Session session(session_options);
  nn::StepOptions step{.model = &nn::model_named(subject.model),
                       .batch_size = batch,
                       .image_size = subject.side,
                       .images = nn::ImageForm::f32};
  step.model_options.num_classes = kClasses;
  step.model_options.dropout_keep = 1;  // each rank draws masks of its own
  Model model(session, nn::image_classifier(step), {.seed = 5, .distribution = {.ranks = n, .overlap = overlap}});
  nn::TrainingOptions training{.optimizer = optim::Momentum{.momentum = 0.9},
                               .schedule = optim::Constant{.base = subject.rate},
                               .weight_decay = 1e-4};
  if (subject.synchronised) training.statistics_ranks = n;
  model.prepare_training(training);
  model.share();
  Tensor x(DType::f32, {batch, subject.side, subject.side, 3}), labels(DType::i32, {batch});
  std::int64_t run = 0;
  FunctionFeed feed([&](Program& program) {
    const std::int64_t pixels = subject.side * subject.side * 3;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t image = i * n + rank;
      for (std::int64_t at = 0; at < pixels; ++at) x.data<float>()[i * pixels + at] = pixel(run, image, at);
      labels.data<std::int32_t>()[i] = static_cast<std::int32_t>((image * 3 + run) % kClasses);
    }
    ++run;
    program.bind(nn::kImagesInput, x);
    program.bind(nn::kLabelsInput, labels);
    return true;
  });
  Trained result;
  struct Losses : Callback {
    std::vector<double>& losses;
    explicit Losses(std::vector<double>& list) : losses(list) {}
    void step_end(RunContext& context) override { losses.push_back(context.loss()); }
  } losses(result.losses);
  Loop(model, feed, {.total_steps = kSteps, .steps_per_epoch = 1000, .loop = 1}).run({&losses});
  for (const std::string& name : session.parameters().names()) {
    if (session.parameters().entry(name).kind != ValueKind::param) continue;
    const Tensor value = session.parameters().get(name);
    result.parameters.insert(result.parameters.end(), value.data<float>(), value.data<float>() + value.elements());
  }
  return result;
}

// Of all parameters, beside the largest.
double distance(const std::vector<float>& some, const std::vector<float>& other) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(some[i]) - other[i]));
    largest = std::max(largest, std::abs(static_cast<double>(other[i])));
  }
  return worst / largest;
}

void expect_as_one_rank(const Trained& some, const Trained& one, const std::string& what) {
  ASSERT_EQ(some.parameters.size(), one.parameters.size());
  const double apart = distance(some.parameters, one.parameters);
  EXPECT_LE(apart, 1e-5) << what;
  double loss = 0;
  for (std::size_t i = 0; i < one.losses.size(); ++i) loss = std::max(loss, std::abs(some.losses[i] - one.losses[i]));
  EXPECT_LE(loss, 1e-5) << what;
  std::printf("%s: parameters %.1e apart, losses %.1e\n", what.c_str(), apart, loss);
}

void expect_same(const Trained& some, const Trained& other) {
  EXPECT_TRUE(some.parameters == other.parameters);
  EXPECT_EQ(some.losses, other.losses);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class RankEquality : public ::testing::TestWithParam<Subject> {};

TEST_P(RankEquality, OverSharedMemory) {
  const Trained one = trained(GetParam(), nullptr, true);
  EXPECT_GT(std::abs(one.losses.front() - one.losses.back()), 1e-3);
  for (const int n : {2, 4, 8}) {
    Trained beside, behind;
    for (const bool overlap : {true, false}) {
      comm::expect_ranks(n, [&](comm::Communicator& ranks) {
        Trained own = trained(GetParam(), &ranks, overlap);
        if (ranks.rank() == n - 1) (overlap ? beside : behind) = std::move(own);
      });
      if (n > 2) break;  // of two ranks with the exchange behind the backward pass as well
    }
    expect_as_one_rank(beside, one, fmt::format("{}, {} ranks", GetParam().model, n));
    if (n == 2) expect_same(beside, behind);
  }
}

TEST_P(RankEquality, OverMpi) {
  if (testing::run_shell("command -v mpirun").code != 0)
    GTEST_SKIP() << "there is no mpirun (Debian: apt-get install openmpi-bin)";
  const Trained one = trained(GetParam(), nullptr, true);
  for (const int n : {2, 4, 8}) {
    const std::string file = fmt::format("{}/mpi_{}_{}", testing::temporary_directory(), GetParam().model, n);
    const testing::Outcome outcome = testing::run_shell(fmt::format(
        "RIDGELINE_TEST_FILE={} RIDGELINE_TEST_MODEL={} ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 "
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 600 mpirun --oversubscribe -np {} {} "
        "--gtest_filter=RankOfMpi.Trains --gtest_brief=1 --gtest_color=no",
        file, GetParam().model, n, std::filesystem::read_symlink("/proc/self/exe").string()));
    ASSERT_EQ(outcome.code, 0) << outcome.text;
    const std::string bytes = read_file(file);
    Trained some;
    some.losses.resize(kSteps);
    const std::size_t losses = kSteps * sizeof(double);
    ASSERT_GT(bytes.size(), losses);
    std::memcpy(some.losses.data(), bytes.data(), losses);
    some.parameters.resize((bytes.size() - losses) / sizeof(float));
    std::memcpy(some.parameters.data(), bytes.data() + losses, bytes.size() - losses);
    expect_as_one_rank(some, one, fmt::format("{}, {} ranks over MPI", GetParam().model, n));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RankEquality, ::testing::ValuesIn(kSubjects),
                         [](const auto& info) { return info.param.model; });

// A rank of the test above.
TEST(RankOfMpi, Trains) {
  if (variable("OMPI_COMM_WORLD_SIZE").empty()) GTEST_SKIP() << "RankEquality.OverMpi runs it under mpirun";
  const auto all = comm::connect(comm::rank_identity(comm::process_environment()), {.engine = comm::Engine::mpi});
  for (const Subject& subject : kSubjects) {
    if (variable("RIDGELINE_TEST_MODEL") != subject.model) continue;
    const Trained own = trained(subject, all.get(), true);
    if (all->rank() != all->size() - 1) continue;
    std::string bytes(reinterpret_cast<const char*>(own.losses.data()), own.losses.size() * sizeof(double));
    bytes.append(reinterpret_cast<const char*>(own.parameters.data()), own.parameters.size() * sizeof(float));
    write_file_atomically(variable("RIDGELINE_TEST_FILE"), bytes);
  }
}

}  // namespace
}  // namespace ridgeline::train
