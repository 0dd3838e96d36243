// The tail of most pipelines: flip and normalize, each alone or both in one pass over the pixels.
#include <array>
#include <cstring>

#include "ridgeline/data/runtime/step.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/normalize.h"
#include "ridgeline/image/pixels.h"

namespace ridgeline::data {
namespace {

// The boxes are flipped here, the pixels by the caller (or by the consumer of raw images).
bool draw_flip(PhiloxKey key, double p, const Frame& frame) {
  if (p <= 0) return false;
  SampleRandom random = frame.random(key);
  const bool flip = random.uniform() < p;
  if (flip && frame.boxes) image::flip_boxes_horizontal(*frame.boxes);
  return flip;
}

class DrawFlip : public Step {
 public:
  DrawFlip(const Transform& t, std::uint64_t seed) : key_(philox_key(seed, t.name)), p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override { frame.work->flip = draw_flip(key_, p_, frame) ? 1 : 0; }
  bool writes() const override { return false; }

 private:
  PhiloxKey key_;
  double p_;
};

// Flip and normalize, each alone or both: one pass over the pixels.
class Write : public Step {
 public:
  Write(PhiloxKey key, double p, const Reals& mean, const Reals& std) : key_(key), p_(p) {
    if (!mean.empty()) table_ = std::make_unique<image::NormalizeTable>(three(mean), three(std));
  }

  void run(Frame& frame, Scratch&) const override {
    const bool flip = draw_flip(key_, p_, frame);
    if (frame.cell.dtype == DType::f32) {
      if (flip) mirror_floats(frame);
    } else if (table_) {
      normalize(frame, flip);
    } else if (flip) {
      mirror(frame);
    }
  }

 private:
  static std::array<double, 3> three(const Reals& v) { return {v.front(), v[v.size() / 2], v.back()}; }

  void normalize(Frame& frame, bool flip) const {
    const image::ImageView in = frame.view();
    auto* out = reinterpret_cast<float*>(frame.output(bytes_of(size_of(in), in.channels) * sizeof(float)));
    if (in.channels == 3) {
      table_->tail(in, flip, out);
    } else {  // one channel: the schema allows no other
      for (int y = 0; y < in.height; ++y) {
        for (int x = 0; x < in.width; ++x) {
          out[static_cast<std::ptrdiff_t>(y) * in.width + x] = table_->at(0, *in.pixel(y, flip ? in.width - 1 - x : x));
        }
      }
    }
    frame.cell = dense_cell(out, DType::f32, {in.height, in.width, in.channels});
  }

  static void mirror(Frame& frame) {
    const image::ImageView in = frame.view();
    const std::size_t row = static_cast<std::size_t>(in.width) * static_cast<std::size_t>(in.channels);
    std::uint8_t* out = frame.output(row * static_cast<std::size_t>(in.height));
    for (int y = 0; y < in.height; ++y) std::memcpy(out + static_cast<std::size_t>(y) * row, in.row(y), row);
    image::flip_horizontal(out, in.height, in.width, in.channels, static_cast<std::ptrdiff_t>(row));
    frame.set(packed(out, size_of(in), in.channels));
  }

  static void mirror_floats(Frame& frame) {
    const std::int64_t height = frame.cell.dims[0], width = frame.cell.dims[1], channels = frame.cell.dims[2];
    const auto* in = reinterpret_cast<const float*>(frame.cell.data);
    auto* out = reinterpret_cast<float*>(frame.output(frame.cell.bytes));
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        std::memcpy(out + (y * width + x) * channels, in + (y * width + width - 1 - x) * channels,
                    static_cast<std::size_t>(channels) * sizeof(float));
      }
    }
    frame.cell.data = reinterpret_cast<const std::uint8_t*>(out);
  }

  PhiloxKey key_;
  double p_;
  std::unique_ptr<image::NormalizeTable> table_;
};

}  // namespace

std::unique_ptr<Step> make_tail_step(const Transform& t, std::uint64_t seed) {
  const PhiloxKey key = philox_key(seed, t.name);
  if (t.op == "random_horizontal_flip") return std::make_unique<Write>(key, arg<double>(t.args, "p"), Reals{}, Reals{});
  if (t.op == "normalize")
    return std::make_unique<Write>(key, 0.0, arg<Reals>(t.args, "mean"), arg<Reals>(t.args, "std"));
  if (t.op == "draw_flip") return std::make_unique<DrawFlip>(t, seed);
  if (t.op == "write")
    return std::make_unique<Write>(key, arg<double>(t.args, "p"), arg<Reals>(t.args, "mean"),
                                   arg<Reals>(t.args, "std"));
  return nullptr;
}

}  // namespace ridgeline::data
