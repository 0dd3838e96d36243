// The tail of most pipelines: flip, normalize and channels first, each alone or all in one pass over the pixels.
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ridgeline/data/runtime/steps/step.h"
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

// One row of an image to its place in the result: mirrored, channels last or first. `n` channels: a number, or a
// constant that the compiler unrolls.
template <class T, class N>
void move_pixels(const T* in, int y, image::Size size, N n, bool flip, bool planes, T* out) {
  const std::ptrdiff_t width = size.width, plane = planes ? size.height * width : 1, step = planes ? 1 : n;
  T* row = out + y * width * step;
  for (std::ptrdiff_t x = 0; x < width; ++x) {
    const T* pixel = in + (flip ? width - 1 - x : x) * n;
    for (int c = 0; c < n; ++c) row[x * step + c * plane] = pixel[c];
  }
}

template <class T>
void move_row(const T* in, int y, image::Size size, int channels, bool flip, bool planes, T* out) {
  if (channels == 3)
    move_pixels(in, y, size, std::integral_constant<int, 3>(), flip, planes, out);
  else
    move_pixels(in, y, size, channels, flip, planes, out);
}

// Flip, normalize and channels first, each alone or all of them: one pass over the pixels.
class Write : public Step, public RowTail {
 public:
  Write(PhiloxKey key, double p, const Reals& mean, const Reals& std, bool planes) : key_(key), p_(p), planes_(planes) {
    if (!mean.empty()) table_ = std::make_unique<image::NormalizeTable>(three(mean), three(std));
  }

  void run(Frame& frame, Scratch&) const override {
    const bool flip = draw_flip(key_, p_, frame);
    if (frame.cell.dtype == DType::f32) {
      if (flip || planes_) move_floats(frame, flip);
      return;
    }
    if (!flip && !planes_ && !table_) return;
    const image::ImageView in = frame.view();
    const RowPlace place = begin(frame, size_of(in), in.channels, flip);
    for (int y = 0; y < in.height; ++y) write_row(in.row(y), y, place);
  }

  void resample(Frame& frame, image::Resizer& resizer, const image::ImageView& part) const override {
    frame.tail = nullptr;
    const bool flip = draw_flip(key_, p_, frame);
    struct Sink : image::RowSink {
      const Write& write;
      RowPlace place;
      Sink(const Write& w, RowPlace p) : write(w), place(p) {}
      void take(int y, const std::uint8_t* row) override { write.write_row(row, y, place); }
    } sink(*this, begin(frame, resizer.result(), part.channels, flip));
    resizer.run(part, sink);
  }

 private:
  // Where the rows of an image go.
  struct RowPlace {
    image::Size size;
    int channels = 0;
    bool flip = false;
    std::uint8_t* out = nullptr;
  };

  static std::array<double, 3> three(const Reals& v) { return {v.front(), v[v.size() / 2], v.back()}; }

  // Asks for the memory of the result and points the frame at it.
  RowPlace begin(Frame& frame, image::Size size, int channels, bool flip) const {
    const DType dtype = table_ ? DType::f32 : DType::u8;
    std::uint8_t* out = frame.output(bytes_of(size, channels) * (table_ ? sizeof(float) : 1));
    if (planes_)
      frame.cell = dense_cell(out, dtype, {channels, size.height, size.width});
    else
      frame.cell = dense_cell(out, dtype, {size.height, size.width, channels});
    return {size, channels, flip, out};
  }

  void write_row(const std::uint8_t* in, int y, const RowPlace& place) const {
    if (!table_) return write_bytes(in, y, place);
    const auto width = static_cast<std::size_t>(place.size.width), row = static_cast<std::size_t>(y) * width;
    auto* out = reinterpret_cast<float*>(place.out);
    if (place.channels != 3) {  // one: the schema allows no other
      for (std::size_t x = 0; x < width; ++x) out[row + x] = table_->at(0, in[place.flip ? width - 1 - x : x]);
    } else if (planes_) {
      table_->planar_row(in, width, place.flip, out + row, width * static_cast<std::size_t>(place.size.height));
    } else {
      table_->row(in, width, place.flip, out + 3 * row);
    }
  }

  void write_bytes(const std::uint8_t* in, int y, const RowPlace& place) const {
    const auto width = static_cast<std::size_t>(place.size.width);
    const std::size_t bytes = width * static_cast<std::size_t>(place.channels);
    std::uint8_t* row = place.out + static_cast<std::size_t>(y) * bytes;
    if (planes_ || (place.flip && place.channels != 3)) {
      move_row(in, y, place.size, place.channels, place.flip, planes_, place.out);
    } else if (place.flip) {
      image::mirror_rgb(in, width, row);
    } else {
      std::memcpy(row, in, bytes);
    }
  }

  void move_floats(Frame& frame, bool flip) const {
    const Cell in = frame.cell;
    const image::Size size{static_cast<int>(in.dims[0]), static_cast<int>(in.dims[1])};
    const int channels = static_cast<int>(in.dims[2]);
    auto* out = reinterpret_cast<float*>(frame.output(in.bytes));
    const std::ptrdiff_t stride = in.row_bytes ? in.row_bytes : in.dims[1] * in.dims[2] * std::ptrdiff_t{sizeof(float)};
    for (int y = 0; y < size.height; ++y)
      move_row(reinterpret_cast<const float*>(in.data + y * stride), y, size, channels, flip, planes_, out);
    if (planes_)
      frame.cell = dense_cell(out, DType::f32, {in.dims[2], in.dims[0], in.dims[1]});
    else
      frame.cell = dense_cell(out, DType::f32, {in.dims[0], in.dims[1], in.dims[2]});
  }

  PhiloxKey key_;
  double p_;
  bool planes_;
  std::unique_ptr<image::NormalizeTable> table_;
};

std::unique_ptr<Write> make_write(const Transform& t, std::uint64_t seed) {
  return std::make_unique<Write>(philox_key(seed, t.name), arg<double>(t.args, "p"), arg<Reals>(t.args, "mean"),
                                 arg<Reals>(t.args, "std"), arg<std::string>(t.args, "layout") == "chw");
}

// A resize whose rows go through write one by one. Where the resize has to do something else last (pixels around a
// crop that is larger than the image), write follows it.
class ResizeWrite : public Step {
 public:
  ResizeWrite(const Transform& t, std::uint64_t seed)
      : resize_(make_geometry_step(t.operations[0], seed)), write_(make_write(t.operations[1], seed)) {}
  void run(Frame& frame, Scratch& scratch) const override {
    frame.tail = write_.get();
    resize_->run(frame, scratch);
    if (std::exchange(frame.tail, nullptr)) write_->run(frame, scratch);
  }

 private:
  std::unique_ptr<Step> resize_;
  std::unique_ptr<Write> write_;
};

}  // namespace

std::unique_ptr<Step> make_tail_step(const Transform& t, std::uint64_t seed) {
  const PhiloxKey key = philox_key(seed, t.name);
  if (t.op == "random_horizontal_flip")
    return std::make_unique<Write>(key, arg<double>(t.args, "p"), Reals{}, Reals{}, false);
  if (t.op == "normalize")
    return std::make_unique<Write>(key, 0.0, arg<Reals>(t.args, "mean"), arg<Reals>(t.args, "std"), false);
  if (t.op == "hwc_to_chw") return std::make_unique<Write>(key, 0.0, Reals{}, Reals{}, true);
  if (t.op == "draw_flip") return std::make_unique<DrawFlip>(t, seed);
  if (t.op == "write") return make_write(t, seed);
  return nullptr;
}

std::unique_ptr<Step> make_resize_write_step(const Transform& t, std::uint64_t seed) {
  return t.op == "resize_write" ? std::make_unique<ResizeWrite>(t, seed) : nullptr;
}

}  // namespace ridgeline::data
