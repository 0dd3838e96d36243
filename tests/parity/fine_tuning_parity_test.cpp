// Fine-tuning beside PyTorch's: torchvision's models with weights that PyTorch drew and wrote, loaded as the command
// line loads them; the same logits, and with a new head, frozen layers and rates by layer the same losses. PyTorch runs
// in a process of its own, tests/parity/torch_fine_tuning.py.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ridgeline/compile/weights.h"
#include "ridgeline/core/random.h"
#include "ridgeline/infer/predictor.h"
#include "ridgeline/train/bind_batch.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/restore_weights.h"
#include "ridgeline/train/recipe/saved_model.h"
#include "tests/parity/torch.h"

namespace ridgeline::train {
namespace {

constexpr int kSteps = 20;
constexpr std::int64_t kRows = 8, kClasses = 10;

struct Case {
  std::string model;
  std::int64_t image_size;
  double rate;         // 0: only logits are compared
  std::string frozen;  // pattern of parameters
};

Recipe recipe_of(const Case& c, const std::string& weights) {
  Recipe r;
  r.model = c.model;
  r.image_size = c.image_size;
  r.batch_size = kRows;
  r.restore_path = weights;
  r.num_classes = kClasses;
  r.reset_head = true;
  r.lr = c.rate;
  r.warmup_epochs = 0;
  r.seed = 20;
  r.model_options.dropout_keep = 1.0;
  r.optimization.schedule = "constant";
  r.optimization.groups = {{.pattern = "*", .rate_factor = 0.1},
                           {.pattern = nn::head_of(nn::model_named(c.model)) + ".*"},
                           {.pattern = c.frozen, .frozen = true}};
  return r;
}

void compare_logits(const Recipe& tuned, const Tensor& images, const Tensor& expected) {
  Recipe published = tuned;
  published.num_classes = 0;
  published.reset_head = false;
  infer::Predictor predictor(saved_model(published), {.batch_size = kRows});
  const Tensor logits = predictor.predict(images).logits;
  ASSERT_EQ(logits.shape(), expected.shape());
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < logits.elements(); ++i) {
    largest = std::max(largest, std::fabs(expected.at(i)));
    difference = std::max(difference, std::fabs(logits.at(i) - expected.at(i)));
  }
  EXPECT_LE(difference, 1e-4 * largest);
  std::printf("%s: logits up to %.3f, largest difference %.1e\n", tuned.model.c_str(), largest, difference);
}

void compare_with_torch(const Case& c) {
  if (testing::torch_python() == nullptr) GTEST_SKIP() << testing::kNoTorch;
  const testing::TemporaryFolder folder;
  const Recipe recipe = recipe_of(c, folder.file("weights.safetensors"));
  const nn::ModelInfo& info = nn::model_named(c.model);
  Tensor images(DType::u8, {kRows, c.image_size, c.image_size, 3}), labels(DType::i32, {kRows}),
      flip = Tensor::zeros(DType::u8, {kRows});
  SampleRandom random(philox_key(20, "fine-tuning"), 0, 0);
  for (std::uint8_t& v : images.span<std::uint8_t>()) v = static_cast<std::uint8_t>(random.integer(0, 255));
  for (std::int32_t& v : labels.span<std::int32_t>()) v = static_cast<std::int32_t>(random.integer(0, kClasses - 1));

  // PyTorch gets the head that a run of this seed draws.
  const std::string head = nn::head_of(info);
  std::vector<NamedTensor> input = {{"images", images}, {"labels", labels}};
  for (const nn::ParameterSpec& spec :
       nn::parameters_of(info, {.num_classes = kClasses, .dropout_keep = 1.0}, c.image_size)) {
    if (spec.name.starts_with(head + "."))
      input.push_back({spec.name, to_file(spec, nn::initialize(spec, recipe.seed))});
  }
  const auto text = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", value);
    return std::string(digits);
  };
  write_safetensors(folder.file("input.safetensors"), input,
                    {{"model", c.model},
                     {"weights", recipe.restore_path},
                     {"head", head},
                     {"frozen", c.frozen},
                     {"steps", std::to_string(kSteps)},
                     {"rate", text(static_cast<float>(c.rate))},
                     {"body_factor", "0.1"},
                     {"momentum", "0.9"},
                     {"weight_decay", text(recipe.weight_decay)},
                     {"label_smoothing", text(recipe.label_smoothing)}});
  ASSERT_EQ(testing::run_torch("torch_fine_tuning.py", folder), "");
  const SafetensorsFile torch(folder.file("output.safetensors"));
  compare_logits(recipe, images, torch.tensor("logits"));
  if (c.rate == 0) return;

  Session session;
  const std::unique_ptr<Model> model = model_of(session, recipe, kClasses);
  model->prepare_training(training_options(recipe, schedule_of(recipe, 1)));
  std::string log;
  restore_weights(*model, recipe, [&](const std::string& line) { log += line + "\n"; });
  EXPECT_NE(log.find("left out, drawn anew: " + head + ".weight, " + head + ".bias"), std::string::npos) << log;
  Program& program = model->training();
  const Tensor& losses = torch.tensor("losses");
  double worst = 0;
  for (int i = 0; i < kSteps; ++i) {
    bind_batch(program, images, labels, &flip);
    ASSERT_TRUE(program.run());
    const double loss = program.output("loss").at(0);
    EXPECT_NEAR(loss, losses.at(i), 1e-3) << "step " << i;
    worst = std::max(worst, std::fabs(loss - losses.at(i)));
  }
  std::printf("%s: loss %.6f to %.6f, largest difference %.1e\n", c.model.c_str(), losses.at(0), losses.at(kSteps - 1),
              worst);
  // Steps too small to change anything would agree, too.
  EXPECT_GT(losses.at(0) - losses.at(kSteps - 1), 100 * worst);
}

TEST(FineTuningParity, AlexNet) { compare_with_torch({"alexnet_torchvision", 96, 0.01, "features.0.*"}); }
TEST(FineTuningParity, Resnet18) { compare_with_torch({"resnet18", 64, 0.002, "layer1.*"}); }
// Its losses are not compared: at rate 0.002 PyTorch's own f32 leaves its f64 by 9.5e-2 within these steps, ours by
// 1.1e-1. Of the gradients of the first step 152 of 155 lie within 16 times the distance of PyTorch's f32 from f64. The
// other three (12 % of the largest element of a bias's gradient) are near relu6 over maps of 2 x 2: it looks like
// single elements on the other side of its bend, which was not followed further.
TEST(FineTuningParity, MobileNetV2) { compare_with_torch({"mobilenet_v2", 64, 0, "features.0.*"}); }

}  // namespace
}  // namespace ridgeline::train
