// A training step that was written to a file continues from there with the same bits.
#include <gtest/gtest.h>

#include "ridgeline/infer/loaded_model.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/optim/adam.h"
#include "tests/infer/support.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::infer {
namespace {

constexpr std::int64_t kRows = 4;

nn::Step step_of(const std::string& name, std::int64_t image_size, const optim::Optimizer& optimizer) {
  nn::StepOptions options{.model = &nn::model_named(name), .batch_size = kRows, .image_size = image_size};
  options.model_options.num_classes = 5;
  options.seed = 7;
  return nn::build_training_step(
      options, {.optimizer = optimizer, .schedule = optim::WarmupCosine{.base = 0.05, .steps_per_epoch = 3}});
}

// Runs steps first..last and returns the losses' bits.
std::vector<float> train(Program& program, std::int64_t image_size, std::uint32_t first, std::uint32_t last) {
  std::vector<float> losses;
  const Tensor labels = Tensor::of(std::vector<std::int32_t>{0, 3, 2, 4}, {kRows});
  Tensor flip = Tensor::zeros(DType::u8, {kRows});
  flip.set(1, 1);
  for (std::uint32_t step = first; step <= last; ++step) {
    const Tensor pixels = drawn_pixels({kRows, image_size, image_size, 3}, step);
    program.bind(nn::kImagesInput, pixels);
    program.bind(nn::kLabelsInput, labels);
    program.bind(nn::kFlipInput, flip);
    EXPECT_TRUE(program.run());
    losses.push_back(program.output("loss").data<float>()[0]);
  }
  return losses;
}

TEST(ExportedStep, GoesOnBitwiseWithoutTheModelsSource) {
  const std::tuple<const char*, std::int64_t, optim::Optimizer> cases[] = {
      {"resnet20", 32, optim::Momentum{.nesterov = true}}, {"mobilenet_v2", 32, optim::Adam{}}};
  for (const auto& [name, size, optimizer] : cases) {
    const nn::Step step = step_of(name, size, optimizer);
    const std::string path = testing::temporary_directory() + "/" + name + ".rdgm";
    // Six steps without interruption; the file is written in the middle.
    Session session;
    Model start{.name = name, .graph = step.graph, .tensors = drawn_values(step.parameters)};
    LoadedModel built(session, start);
    train(built.program(), size, 1, 3);
    write_model(path, built.current());
    const std::vector<float> expected = train(built.program(), size, 4, 6);

    Session other;
    LoadedModel loaded(other, read_model(path));
    const std::vector<float> losses = train(loaded.program(), size, 4, 6);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(losses[i], expected[i]) << name << " " << i;
    const Model a = built.current(), b = loaded.current();
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
      EXPECT_TRUE(same_bits(a.tensors[i].tensor, b.tensors[i].tensor)) << name << " " << a.tensors[i].name;
    }
    EXPECT_EQ(other.parameters().get(nn::kGlobalStep).at(0), 6);
  }
}

}  // namespace
}  // namespace ridgeline::infer
