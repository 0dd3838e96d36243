#include "ridgeline/train/loop/synthetic.h"

#include <algorithm>
#include <span>

#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/train/loop/bind_batch.h"

namespace ridgeline::train {

namespace {

// to[i] = value(word i%4 of Philox block i/4): the team fills it in parallel.
template <class T, class F>
void fill(std::span<T> to, PhiloxKey key, F&& value) {
  const auto count = static_cast<std::int64_t>(to.size());
  parallel_for((count + 3) / 4, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const PhiloxBlock words =
          philox4x32(key, {static_cast<std::uint32_t>(block),
                           static_cast<std::uint32_t>(static_cast<std::uint64_t>(block) >> 32), 0, 0});
      for (std::int64_t i = 4 * block; i < std::min(4 * block + 4, count); ++i)
        to[static_cast<std::size_t>(i)] = value(words[static_cast<std::size_t>(i % 4)]);
    }
  });
}

Tensor room_for(DType dtype, const Shape& shape, Device* device) {
  if (device == nullptr || device->host_memory()) return {dtype, shape};
  const std::shared_ptr<DeviceMemory> pinned = device->allocate_pinned(ValueType{dtype, shape}.bytes());
  return Tensor::view(pinned->address(), dtype, shape, pinned);
}

}  // namespace

SyntheticBatch::SyntheticBatch(const nn::StepOptions& options, std::int64_t num_classes, std::uint64_t seed,
                               Device* device)
    : raw_(options.images == nn::ImageForm::u8) {
  const Shape shape{options.batch_size, options.image_size, options.image_size, 3};
  images_ = room_for(raw_ ? DType::u8 : DType::f32, shape, device);
  labels_ = room_for(DType::i32, Shape{options.batch_size}, device);
  flip_ = room_for(DType::u8, Shape{options.batch_size}, device);
  const PhiloxKey pixels = philox_key(seed, "synthetic/pixels");
  if (raw_)
    fill(images_.span<std::uint8_t>(), pixels,
         [](std::uint32_t bits) { return static_cast<std::uint8_t>(bits >> 24); });
  else
    fill(images_.span<float>(), pixels, [](std::uint32_t bits) { return 4.0f * uniform_float(bits) - 2.0f; });
  SampleRandom random(philox_key(seed, "synthetic"), 0, 0);
  for (std::int32_t& label : labels_.span<std::int32_t>())
    label = static_cast<std::int32_t>(random.integer(0, num_classes - 1));
  for (std::uint8_t& flip : flip_.span<std::uint8_t>()) flip = static_cast<std::uint8_t>(random.bits() & 1u);
}

void SyntheticBatch::bind(Program& program) const { bind_batch(program, images_, labels_, raw_ ? &flip_ : nullptr); }

Tensor SyntheticBatch::input(const std::string& name) const {
  if (name == nn::kImagesInput) return images_;
  if (name == nn::kLabelsInput) return labels_;
  return raw_ && name == nn::kFlipInput ? flip_ : Tensor();
}

}  // namespace ridgeline::train
