// tests/train/doctor_subject.h
//
// The smallest correct set-up, in which tests of the doctor break one thing each: four classes, distinguished by colour
// (red or blue) and by the bright half of a 16 x 16 image; one convolution and one dense layer.
#pragma once

#include "ridgeline/core/random.h"
#include "ridgeline/data/source/in_memory.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/optim/schedules.h"
#include "ridgeline/train/doctor/subject.h"
#include "ridgeline/train/loop/loop.h"

namespace ridgeline::train {

struct BrokenParts {
  bool double_softmax = false, dead_relu = false, large_values = false;  // of the network
  bool shifted_labels = false, blue_first = false, normalized = true;    // of the data
  std::vector<std::int64_t> validation_resize = {16};
  int width = 16;  // of the stored images, whose height is 16
};

constexpr std::int64_t kPictures = 256, kPictureClasses = 4, kPictureRows = 16;

inline data::Dataset pictures(const BrokenParts& broken, std::uint64_t seed, bool training) {
  Tensor images(DType::u8, Shape{kPictures, 16, broken.width, 3}), labels(DType::i32, Shape{kPictures});
  SampleRandom random(philox_key(seed, "pictures"), 0, 0);
  auto* pixel = images.data<std::uint8_t>();
  for (std::int64_t n = 0; n < kPictures; ++n) {
    const std::int64_t label = random.integer(0, kPictureClasses - 1);
    const bool blue = label % 2 == 1, lower = label / 2 == 1;
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < broken.width; ++x, pixel += 3) {
        const std::int64_t light = (y >= 8) == lower ? 160 : 60;
        for (int c = 0; c < 3; ++c) {
          const bool lit = c == (blue != broken.blue_first ? 2 : 0);
          pixel[c] = static_cast<std::uint8_t>((lit ? light : light / 3) + random.integer(0, 40));
        }
      }
    }
    labels.set(n, static_cast<double>(broken.shifted_labels ? (label + 1) % kPictureClasses : label));
  }
  const data::Dataset source = data::InMemory({{"image", images}, {"label", labels}});
  const std::vector<double> none{0, 0, 0}, plain{1 / 255.0, 1 / 255.0, 1 / 255.0}, middle{0.4, 0.4, 0.4},
      spread{0.2, 0.2, 0.2};
  const data::Transform normalize =
      broken.normalized ? data::NormalizeWith(middle, spread) : data::NormalizeWith(none, plain);
  if (training) {
    return source.with_seed(seed)
        .shuffle()
        .map(data::Resize(16), data::CenterCrop(16), normalize)
        .batch(kPictureRows, {.drop_remainder = true});
  }
  const data::Size size = broken.validation_resize.size() == 1
                              ? data::Size(broken.validation_resize[0])
                              : data::Size(broken.validation_resize[0], broken.validation_resize[1]);
  return source.map(data::Resize(size), data::CenterCrop(16), normalize).batch(kPictureRows);
}

inline Value picture_logits(nn::ModelContext& context, const BrokenParts& broken) {
  Value x = context.builder.input(nn::kImagesInput, {DType::f32, {kPictureRows, 16, 16, 3}});
  x = nn::conv_layer(context, x,
                     {.name = "conv",
                      .out = 8,
                      .stride = 2,
                      .pad = 1,
                      .activation = nn::Activation::relu,
                      .bias_init = broken.dead_relu ? nn::InitRule([](const nn::Fans&) { return nn::constant(-50); })
                                                    : nn::zero_init});
  x = nn::flatten(x, nn::FlattenOrder::hwc);
  if (broken.large_values) x = x * 1e3 * 1e3;
  x = nn::dense_layer(context, x, {.name = "head", .out = kPictureClasses, .bias_init = nn::zero_init});
  if (broken.large_values) x = x * 1e-3 * 1e-3;
  return broken.double_softmax ? nn::softmax(x) : x;
}

inline Subject picture_subject(const BrokenParts& broken = {}) {
  nn::Network network{.name = "pictures",
                      .loss =
                          [broken](nn::ModelContext& context) {
                            const Value labels = context.builder.input("labels", {DType::i32, {kPictureRows}});
                            const Value logits = picture_logits(context, broken);
                            return nn::mean(nn::softmax_cross_entropy(logits, labels, {}).loss);
                          },
                      .evaluate = {},
                      .predict =
                          [broken](nn::ModelContext& context) {
                            context.builder.returns(infer::kLogits, picture_logits(context, broken));
                          },
                      .columns = {{nn::kImagesInput, "image"}, {nn::kLabelsInput, "label"}}};
  return {.network = std::move(network),
          .training = {.optimizer = optim::Momentum{}, .schedule = optim::Constant{.base = 0.01}, .weight_decay = 0},
          .rate = 0.01,
          .session = {.compute_threads = 1},
          .training_data = pictures(broken, 1, true),
          .validation_data = pictures(broken, 2, false),
          .image_height = 16,
          .image_width = broken.width};
}

// A file with weights that classify the four classes.
inline void train_pictures(const std::string& path) {
  const Subject sound = picture_subject();
  Session session(sound.session);
  Model model(session, sound.network, {.seed = sound.seed});
  model.prepare_training(sound.training);
  DatasetFeed feed(*sound.training_data, sound.network.columns);
  Loop(model, feed, {.total_steps = 120}).run({});
  write_safetensors(path, model.to_file());
}

}  // namespace ridgeline::train
