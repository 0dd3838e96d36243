// N ranks with batches of B train a whole model like one rank with batches of N * B, up to rounding: in f64 there is no
// significant difference, over shared memory and MPI, and in f32 the ranks are as near to the f64 training as one rank
// is.
//
//     RIDGELINE_WHOLE_MODELS=20 build/tests/test_train --gtest_filter='WholeModels.*'
//
// trains that many steps of ResNet-18 and AlexNet on 2, 4 and 8 ranks and prints the distances; by default a few steps
// of ResNet-20 on small images.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "ridgeline/comm/connect.h"
#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/nn/module.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/ranks/ranks.h"
#include "tests/comm/ranks.h"
#include "tests/support/environment.h"
#include "tests/support/in_f64.h"
#include "tests/support/mpirun.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kWholeModelClasses = 10;
constexpr int kPatience = 1800;  // seconds: ranks that share a core compute one after the other, which is slow in f64
constexpr double kHalfAnUnit = 0x1p-24;  // in the last place of an f32 value of 1

struct Subject {
  const char* model;
  std::int64_t image_size, images;  // of all ranks per step
  bool norms;                       // batch norms with statistics over all ranks
  double rate;
  std::int64_t steps;
  std::vector<int> ranks;
};

// The trainings, by RIDGELINE_WHOLE_MODELS.
std::vector<Subject> subjects() {
  const char* text = std::getenv("RIDGELINE_WHOLE_MODELS");
  if (text == nullptr) return {{"resnet20", 16, 8, true, 0.01, 3, {2, 4}}};
  const std::int64_t steps = std::atoll(text);
  // At higher rates 16 random images are not comparable: half a unit of f32 at the start becomes 0.8 of the parameters
  // after 20 steps at 0.0005.
  return {{"resnet18", 32, 16, true, 0.00002, steps, {2, 4, 8}}, {"alexnet", 67, 16, false, 0.001, steps, {2, 4, 8}}};
}

enum class Numbers { f32, f64 };

struct TrainedWhole {
  std::map<std::string, Tensor> values;  // parameters, statistics and slots
  double loss = 0;                       // of the last step
};

// The pixels of image i of a step, the same on every rank.
void draw(std::int64_t step, std::int64_t image, std::int64_t count, Tensor& to, std::int64_t begin) {
  SampleRandom random(philox_key(7, "pixels"), static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(image));
  for (std::int64_t i = 0; i < count; ++i) to.set(begin + i, std::ldexp(random.bits() >> 8, -23) - 1);
}

// The values of one of `ranks` ranks (null: of one rank) after all steps. `off`: by how much of its size each parameter
// is changed at the start, randomly up or down.
TrainedWhole train_whole(comm::Communicator* ranks, const Subject& subject, Numbers numbers, double off = 0) {
  const std::int64_t n = ranks ? ranks->size() : 1, rank = ranks ? ranks->rank() : 0;
  const std::int64_t batch = subject.images / n, side = subject.image_size;
  SessionOptions options{.compute_threads = 1};
  if (ranks) options.groups[kWorld] = std::shared_ptr<comm::Communicator>(ranks, [](comm::Communicator*) {});
  Session session(options);
  const nn::StepOptions step_options{.model = &nn::model_named(subject.model),
                                     .model_options = {.num_classes = kWholeModelClasses, .dropout_keep = 1.0},
                                     .batch_size = batch,
                                     .image_size = side,
                                     .images = nn::ImageForm::f32};
  const nn::TrainingOptions training{.optimizer = optim::Momentum{.momentum = 0.9},
                                     .schedule = optim::Constant{.base = subject.rate},
                                     .statistics_ranks = subject.norms ? n : 1};
  const nn::Step step = nn::build_training_step(step_options, training);
  const bool wide = numbers == Numbers::f64;
  CompileOptions compiled{.distribution = {.ranks = n, .rank = rank}};
  if (wide) compiled.fusion = false;  // references compute f64, one op at a time
  const std::unique_ptr<Program> program = compile(wide ? testing::in_f64(step.graph) : step.graph, session, compiled);
  const ComputeScope team(session.compute_threads());
  for (const nn::ParameterSpec& spec : step.parameters) {
    const Tensor drawn = nn::initialize(spec, 3);
    const bool floating = is_floating(spec.dtype);
    Tensor value(wide && floating ? DType::f64 : spec.dtype, spec.shape);
    SampleRandom random(philox_key(11, spec.name), 0, 0);
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      const double shift = spec.trainable() && off > 0 ? ((random.bits() & 1u) != 0 ? off : -off) : 0;
      value.set(i, drawn.at(i) * (1 + shift));
    }
    session.parameters().set(spec.name, value, spec.trainable() ? ValueKind::param : ValueKind::state);
  }
  const DType floating = wide ? DType::f64 : DType::f32;
  Tensor images(floating, {batch, side, side, 3}), labels(DType::i32, {batch});
  TrainedWhole trained;
  for (std::int64_t s = 0; s < subject.steps; ++s) {
    const std::int64_t pixels = side * side * 3;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t image = i * n + rank;
      draw(s, image, pixels, images, i * pixels);
      labels.set(i, static_cast<double>((image * 7 + s) % kWholeModelClasses));
    }
    program->bind(nn::kImagesInput, images);
    program->bind(nn::kLabelsInput, labels);
    program->run();
  }
  trained.loss = program->output(nn::kLossResult).at(0);
  for (const std::string& name : session.parameters().names()) {
    if (name != nn::kGlobalStep) trained.values[name] = session.parameters().get(name);
  }
  return trained;
}

// On `n` ranks, or one.
TrainedWhole train_over(int n, const Subject& subject, Numbers numbers, double off = 0) {
  // f64 is for the references, which are selected explicitly here.
  std::optional<ScopedVariable> references;
  if (numbers == Numbers::f64) references.emplace("RIDGELINE_KERNELS", "reference");
  if (n == 1) return train_whole(nullptr, subject, numbers, off);
  TrainedWhole of_main;
  const std::vector<std::string> ends = comm::run_ranks(
      n,
      [&](comm::Communicator& ranks) {
        TrainedWhole own = train_whole(&ranks, subject, numbers, off);
        if (ranks.rank() == 0) of_main = std::move(own);
      },
      kPatience);
  for (const std::string& end : ends) EXPECT_EQ(end, "");
  return of_main;
}

// The distance of the parameter that differs most, relative to its Euclidean norm.
struct Distance {
  double value = 0;
  std::string where;
};
Distance distance(const TrainedWhole& some, const TrainedWhole& other) {
  Distance worst;
  for (const auto& [name, b] : other.values) {
    if (name.ends_with("/momentum")) continue;
    const Tensor& a = some.values.at(name);
    double apart = 0, length = 0;
    for (std::int64_t i = 0; i < b.elements(); ++i) {
      const double x = a.at(i), y = b.at(i);
      apart += (x - y) * (x - y);
      length += y * y;
    }
    const double share = std::sqrt(apart / std::max(length, 1e-20));
    if (share > worst.value) worst = {share, name};
  }
  return worst;
}

constexpr char kLoss[] = "loss";  // in addition to the values in a file

// On `n` ranks over MPI, in f64: processes of this program, each with the test below.
TrainedWhole train_over_mpi(int n, std::size_t subject) {
  const std::string file = testing::temporary_directory() + "/whole_model.safetensors";
  std::filesystem::remove(file);
  const testing::Outcome outcome = testing::mpirun_this_test(
      n, "OnMpi.WholeModel", fmt::format("RIDGELINE_TEST_SUBJECT={} RIDGELINE_TEST_FILE={}", subject, file), "",
      kPatience);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  TrainedWhole trained;
  const SafetensorsFile left(file);
  for (const NamedTensor& value : left.tensors()) trained.values[value.name] = value.tensor;
  const auto loss = trained.values.extract(kLoss);
  trained.loss = loss.mapped().at(0);
  return trained;
}

TEST(OnMpi, WholeModel) {
  if (!testing::is_rank_of_mpirun()) GTEST_SKIP() << "a test of WholeModels runs it under mpirun";
  const Subject subject = subjects().at(std::stoul(std::getenv("RIDGELINE_TEST_SUBJECT")));
  const auto all = comm::connect(comm::rank_identity(comm::process_environment()), {.engine = comm::Engine::mpi});
  ASSERT_GT(all->size(), 1);
  const ScopedVariable references("RIDGELINE_KERNELS", "reference");
  const TrainedWhole own = train_whole(all.get(), subject, Numbers::f64);
  if (all->rank() != 0) return;
  std::vector<NamedTensor> values(own.values.size());
  std::ranges::transform(own.values, values.begin(),
                         [](const auto& value) { return NamedTensor{value.first, value.second}; });
  Tensor loss(DType::f64, {});
  loss.set(0, own.loss);
  values.push_back({kLoss, loss});
  write_safetensors(std::getenv("RIDGELINE_TEST_FILE"), values);
}

// The ranks differ from `exact` only by f64 rounding, amplified as much as f32 rounding is.
double expect_the_same(const TrainedWhole& ranks, const TrainedWhole& exact) {
  const Distance apart = distance(ranks, exact);
  EXPECT_LE(apart.value, 1e-9) << apart.where;
  EXPECT_NEAR(ranks.loss, exact.loss, 1e-9);
  return apart.value;
}

void expect_one_training(const Subject& subject, std::size_t number) {
  SCOPED_TRACE(subject.model);
  const TrainedWhole exact = train_over(1, subject, Numbers::f64);
  const TrainedWhole one = train_over(1, subject, Numbers::f32);
  // How much this training amplifies rounding by itself.
  const Distance shaken = distance(train_over(1, subject, Numbers::f64, kHalfAnUnit), exact);
  const Distance rounding = distance(one, exact);
  ASSERT_GT(rounding.value, 0);
  ASSERT_LT(rounding.value, 1) << "nothing is left of this training in f32";
  std::string table = fmt::format(
      "{}, {} images of {} pixels a step, rate {}, {} steps; distance of the parameters\n"
      "  f64, half a unit of f32 off at the start    {:.2e} ({})\n"
      "  f32 on one rank from f64                    {:.2e} ({})\n",
      subject.model, subject.images, subject.image_size, subject.rate, subject.steps, shaken.value, shaken.where,
      rounding.value, rounding.where);
  for (const int n : subject.ranks) {
    SCOPED_TRACE(fmt::format("{} ranks", n));
    const double wide = expect_the_same(train_over(n, subject, Numbers::f64), exact);
    const TrainedWhole narrow = train_over(n, subject, Numbers::f32);
    const Distance from_exact = distance(narrow, exact), from_one = distance(narrow, one);
    table += fmt::format("  {} ranks: f64 {:.2e}; f32 from f64 {:.2e} ({}), from one rank {:.2e}", n, wide,
                         from_exact.value, from_exact.where, from_one.value);
    EXPECT_LE(from_exact.value, 3 * std::max(rounding.value, shaken.value)) << from_exact.where;
    if (testing::has_mpirun())
      table += fmt::format("; f64 over MPI {:.2e}", expect_the_same(train_over_mpi(n, number), exact));
    table += "\n";
  }
  if (std::getenv("RIDGELINE_WHOLE_MODELS") != nullptr) fmt::print("{}", table);
}

TEST(WholeModels, RanksAreOneInF64AndRoundNoWorseInF32) {
  const std::vector<Subject> all = subjects();
  for (std::size_t i = 0; i < all.size(); ++i) expect_one_training(all[i], i);
}

}  // namespace
}  // namespace ridgeline::train
