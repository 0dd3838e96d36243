// Training with random disturbances between runs of the step: evaluations and predictions, with parameters or their
// averages; saving and loading, in the same or a new session; recompiling the step; writing stored values back
// unchanged. The bits must be those of undisturbed training. RIDGELINE_RANDOM_SESSIONS=N tries N sessions,
// RIDGELINE_RANDOM_SEED=S begins at S.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "ridgeline/core/random.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/train/model.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kRuns = 6, kSessionClasses = 10;

struct Plan {
  nn::TrainingOptions training;
  PrecisionPolicy precision;
  std::string text;
};

Plan draw_plan(SampleRandom& random) {
  const auto chance = [&] { return random.integer(0, 1) == 1; };
  Plan plan;
  const bool adam = chance();
  if (adam) plan.training.optimizer = optim::Adam{};
  if (chance()) plan.training.average = 0.9;
  if (chance()) plan.training.gradients.accumulate = 2;
  if (chance()) plan.training.gradients.clip_norm = 0.5;
  const auto modes = precision_modes();
  const auto& mode = modes[static_cast<std::size_t>(random.integer(0, std::ssize(modes) - 1))];
  plan.precision = PrecisionPolicy::of(mode);
  plan.text = std::string(adam ? "adam" : "momentum") + ", average " + std::to_string(plan.training.average) +
              ", accumulate " + std::to_string(plan.training.gradients.accumulate) + ", " + std::string(mode.name);
  return plan;
}

// A session with its model; replaced as a whole if the run continues in a new one.
struct Place {
  explicit Place(const Plan& plan)
      : session({.compute_threads = 2}),
        model(session,
              nn::image_classifier({.model = &nn::model_named("resnet20"),
                                    .model_options = {.num_classes = kSessionClasses},
                                    .batch_size = 2,
                                    .image_size = 32}),
              {.compile = {.precision = plan.precision}}) {
    model.prepare_training(plan.training);
  }
  Session session;
  Model model;
};

// Binds values that depend only on the number, and runs.
void run(Program& program, std::uint64_t number) {
  for (const ValueId id : program.graph().arguments) {
    const ValueInfo& info = program.graph().value(id);
    if (info.kind != ValueKind::input) continue;
    Tensor t(info.type.dtype, info.type.shape);
    SampleRandom random(philox_key(number, info.name), 0, 0);
    const std::int64_t most = info.name == "images" ? 255 : info.name == "labels" ? kSessionClasses - 1 : 1;
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, static_cast<double>(random.integer(0, most)));
    program.bind(info.name, t);
  }
  ASSERT_TRUE(program.run());
}

class Disturber {
 public:
  Disturber(const Plan& plan, std::unique_ptr<Place>& place, SampleRandom& random)
      : plan_(plan), place_(place), random_(random) {}

  std::string disturb() {
    Model& model = place_->model;
    switch (random_.integer(0, 8)) {
      case 0: evaluate(); return "evaluation";
      case 1: model.with_averages([&] { evaluate(); }); return "evaluation with averages";
      case 2: try { model.with_averages([] { throw std::runtime_error("in the middle"); });
        } catch (const std::runtime_error&) {
        }
        return "an error with averages";
      case 3:
        model.prepare_prediction();
        run(model.prediction(), 77);
        return "prediction";
      case 4: save_and_load(model); return "saved and loaded";
      case 5: {
        auto next = std::make_unique<Place>(plan_);
        if (random_.integer(0, 1) == 1) next->model.prepare_evaluation();
        write_safetensors(file(), model.to_file());
        next->model.load(SafetensorsFile(file()));
        place_ = std::move(next);
        return "a new session";
      }
      case 6: model.recompile_training(plan_.precision); return "compiled again";
      case 7: {
        model.recompile_training(PrecisionPolicy::of(
            precision_modes()[static_cast<std::size_t>(random_.integer(0, std::ssize(precision_modes()) - 1))]));
        evaluate();
        model.recompile_training(plan_.precision);
        return "compiled in another precision and back";
      }
      default: {
        ParameterStore& store = place_->session.parameters();
        for (const std::string& name : store.names()) {
          if (random_.integer(0, 3) == 0) store.set(name, store.get(name), store.entry(name).kind);
        }
        return "values written again";
      }
    }
  }

 private:
  void evaluate() {
    place_->model.prepare_evaluation();
    run(place_->model.evaluation(), 99);
  }
  static std::string file() { return testing::temporary_directory() + "/session.safetensors"; }
  static void save_and_load(Model& model) {
    write_safetensors(file(), model.to_file());
    model.load(SafetensorsFile(file()));
  }

  const Plan& plan_;
  std::unique_ptr<Place>& place_;
  SampleRandom& random_;
};

std::vector<NamedTensor> copies(const Model& model) {
  std::vector<NamedTensor> all = model.to_file();
  for (NamedTensor& t : all) t.tensor = t.tensor.clone();
  return all;
}

std::string first_difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  if (a.size() != b.size()) return "another number of tensors";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].tensor.raw(), b[i].tensor.raw(), a[i].tensor.byte_size()) != 0) return a[i].name;
  }
  return "";
}

TEST(RandomSessions, WhatHappensBetweenRunsLeavesTheBitsOfTraining) {
  const std::int64_t first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  const std::int64_t count = number_from_environment("RIDGELINE_RANDOM_SESSIONS", 4);
  for (std::int64_t seed = first; seed < first + count; ++seed) {
    SampleRandom random(philox_key(static_cast<std::uint64_t>(seed), "sessions"), 0, 0);
    const Plan plan = draw_plan(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + plan.text);
    std::vector<std::vector<NamedTensor>> straight;
    {
      Place place(plan);
      for (std::uint64_t i = 0; i < kRuns; ++i) {
        run(place.model.training(), i);
        straight.push_back(copies(place.model));
      }
    }
    auto place = std::make_unique<Place>(plan);
    std::string story;
    for (std::uint64_t i = 0; i < kRuns; ++i) {
      Disturber disturber(plan, place, random);
      for (std::int64_t n = random.integer(0, 2); n > 0; --n) story += disturber.disturb() + "; ";
      run(place->model.training(), i);
      story += "run; ";
      ASSERT_EQ(first_difference(copies(place->model), straight[i]), "") << story;
    }
  }
}

}  // namespace
}  // namespace ridgeline::train
