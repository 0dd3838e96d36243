#include "ridgeline/train/synthetic.h"

#include "ridgeline/core/random.h"
#include "ridgeline/train/bind_batch.h"

namespace ridgeline::train {

SyntheticBatch::SyntheticBatch(const nn::StepOptions& options, std::int64_t num_classes, std::uint64_t seed)
    : raw_(options.images == nn::ImageForm::u8),
      labels_(DType::i32, Shape{options.batch_size}),
      flip_(DType::u8, Shape{options.batch_size}) {
  const Shape shape{options.batch_size, options.image_size, options.image_size, 3};
  SampleRandom random(philox_key(seed, "synthetic"), 0, 0);
  images_ = Tensor(raw_ ? DType::u8 : DType::f32, shape);
  if (raw_) {
    for (std::uint8_t& pixel : images_.span<std::uint8_t>()) pixel = static_cast<std::uint8_t>(random.bits() >> 24);
  } else {
    for (float& pixel : images_.span<float>()) pixel = 4.0f * uniform_float(random.bits()) - 2.0f;
  }
  for (std::int32_t& label : labels_.span<std::int32_t>())
    label = static_cast<std::int32_t>(random.integer(0, num_classes - 1));
  for (std::uint8_t& flip : flip_.span<std::uint8_t>()) flip = static_cast<std::uint8_t>(random.bits() & 1u);
}

void SyntheticBatch::bind(Program& program) const { bind_batch(program, images_, labels_, raw_ ? &flip_ : nullptr); }

}  // namespace ridgeline::train
