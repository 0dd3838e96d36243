#include "ridgeline/image/resample/resample.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/resample/passes.h"
#include "ridgeline/image/resample/weights.h"

namespace ridgeline::image {
namespace {

constexpr int kMaxSide = 1 << 20;  // keeps every position exact in float and every index in an int

std::string text(Size size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

void check_spec(const ResizeSpec& spec, const FloatBox& box, const Box& window) {
  for (Size size : {spec.in, spec.out}) {
    if (size.height < 1 || size.width < 1 || size.height > kMaxSide || size.width > kMaxSide) {
      throw Error("[resize] sides must be 1 to " + std::to_string(kMaxSide) + ", not " + text(size));
    }
  }
  const bool box_good = box.left >= 0 && box.top >= 0 && box.left < box.right && box.top < box.bottom &&
                        box.right <= static_cast<float>(spec.in.width) &&
                        box.bottom <= static_cast<float>(spec.in.height);
  if (!box_good) {
    throw Error("[resize] the box (left " + std::to_string(box.left) + ", top " + std::to_string(box.top) + ", right " +
                std::to_string(box.right) + ", bottom " + std::to_string(box.bottom) +
                ") is empty or not inside an image of " + text(spec.in));
  }
  if (spec.box && !is_pillow(spec.filter) && spec.filter != Filter::tf1_bilinear) {
    throw Error("[resize] " + std::string(name_of(spec.filter)) + " knows no box: crop the image first");
  }
  if (!inside(window, spec.out))
    throw Error("[resize] the window is empty or not inside a result of " + text(spec.out));
}

bool same(const std::optional<FloatBox>& a, const std::optional<FloatBox>& b) {
  if (!a || !b) return !a && !b;
  return a->left == b->left && a->top == b->top && a->right == b->right && a->bottom == b->bottom;
}

// One axis: its weights, and the sources begin..begin+count-1 that they touch; positions become relative to `begin`.
struct Touched {
  int begin = 0, count = 0;
};

Touched prepare_axis(Filter filter, int in, float box_begin, float box_end, int out, int begin, int end,
                     Resizer::Axis& axis) {
  axis.needed = in != out || box_begin != 0 || box_end != static_cast<float>(out);
  if (!axis.needed) return {begin, end - begin};
  switch (filter) {
    case Filter::nearest: nearest_positions(in, box_begin, box_end, out, begin, end, axis); break;
    case Filter::tf1_bilinear: tf1_positions(in, box_begin, box_end, out, begin, end, axis); break;
    case Filter::torch_bilinear:
    case Filter::torch_bicubic: torch_weights(filter, in, out, begin, end, axis); break;
    default: antialiased_weights(filter, in, box_begin, box_end, out, begin, end, axis);
  }
  int low = in, high = 0;
  for (std::size_t i = 0; i < axis.first.size(); ++i) {
    low = std::min(low, axis.first[i]);
    high = std::max(high, axis.first[i] + axis.count[i]);
  }
  for (int& first : axis.first) first -= low;
  return {low, high - low};
}

AxisWeights view_of(const Resizer::Axis& axis) {
  return {.positions = static_cast<int>(axis.first.size()),
          .taps = axis.taps,
          .first = axis.first.data(),
          .count = axis.count.data(),
          .weight = axis.weight.data()};
}

void copy_rows(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) {
  const auto bytes = static_cast<std::size_t>(part.width) * static_cast<std::size_t>(part.channels);
  for (int y = 0; y < part.height; ++y) std::memcpy(out + y * out_stride, part.row(y), bytes);
}

}  // namespace

void Resizer::prepare(const ResizeSpec& spec) {
  if (prepared_ && spec.in == spec_.in && spec.out == spec_.out && spec.filter == spec_.filter &&
      same(spec.box, spec_.box) && spec.window == spec_.window) {
    return;
  }
  prepared_ = false;
  const FloatBox box =
      spec.box.value_or(FloatBox{0, 0, static_cast<float>(spec.in.width), static_cast<float>(spec.in.height)});
  const Box window = spec.window.value_or(Box{0, 0, spec.out.height, spec.out.width});
  check_spec(spec, box, window);
  window_ = window;
  spec_ = spec;
  if (is_opencv(spec.filter)) {
    source_ = opencv_.prepare(spec.filter, spec.in, spec.out, window);
    prepared_ = true;
    return;
  }
  const Touched columns = prepare_axis(spec.filter, spec.in.width, box.left, box.right, spec.out.width, window.left,
                                       window.left + window.width, across_);
  const Touched rows = prepare_axis(spec.filter, spec.in.height, box.top, box.bottom, spec.out.height, window.top,
                                    window.top + window.height, down_);
  source_ = {rows.begin, columns.begin, rows.count, columns.count};
  across_forms_.weights_changed();
  down_forms_.weights_changed();
  prepared_ = true;
}

bool Resizer::two_passes() const {
  return !is_opencv(spec_.filter) && spec_.filter != Filter::nearest && spec_.filter != Filter::tf1_bilinear;
}

void Resizer::check(const ImageView& part) const {
  RIDGELINE_CHECK(prepared_, "prepare() before run()");
  RIDGELINE_CHECK(part.height == source_.height && part.width == source_.width, "not the part that source() names");
  RIDGELINE_CHECK(part.channels >= 1 && part.channels <= 4, "1 to 4 channels");
}

void Resizer::run(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) {
  check(part);
  if (is_opencv(spec_.filter)) return opencv_.run(part, out, out_stride);
  if (copies()) return copy_rows(part, out, out_stride);
  if (spec_.filter == Filter::nearest) return run_nearest(part, out, out_stride);
  if (spec_.filter == Filter::tf1_bilinear) return run_tf1(part, out, out_stride);
  const ImageView between = run_across(part);
  if (!down_.needed) return copy_rows(between, out, out_stride);
  for (int y = 0; y < window_.height; ++y) run_down(between, y, out + y * out_stride);
}

void Resizer::run(const ImageView& part, RowSink& sink) {
  check(part);
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(window_.width) * part.channels;
  if (two_passes() && down_.needed) {
    const ImageView between = run_across(part);
    row_.resize(static_cast<std::size_t>(stride));
    for (int y = 0; y < window_.height; ++y) {
      run_down(between, y, row_.data());
      sink.take(y, row_.data());
    }
    return;
  }
  ImageView whole = part;
  if (is_opencv(spec_.filter) || !copies()) {
    row_.resize(static_cast<std::size_t>(stride) * static_cast<std::size_t>(window_.height));
    run(part, row_.data(), stride);
    whole = {row_.data(), window_.height, window_.width, part.channels, stride};
  }
  for (int y = 0; y < window_.height; ++y) sink.take(y, whole.row(y));
}

ImageView Resizer::run_across(const ImageView& part) {
  if (!across_.needed) return part;
  // Rows begin at a cache line, so that the pass down loads full ones.
  constexpr std::ptrdiff_t kLine = 64;
  const std::ptrdiff_t bytes = static_cast<std::ptrdiff_t>(window_.width) * part.channels + kRowSlack;
  const std::ptrdiff_t stride = (bytes + kLine - 1) / kLine * kLine;
  between_.resize(static_cast<std::size_t>(stride * part.height + kLine));
  void* first = between_.data();
  std::size_t space = between_.size();
  auto* const between = static_cast<std::uint8_t*>(std::align(kLine, space - kLine, first, space));
  const AcrossRows job{.weights = view_of(across_),
                       .in = part.data,
                       .in_stride = part.stride,
                       .rows = part.height,
                       .in_width = part.width,
                       .out = between,
                       .out_stride = stride};
  if (part.channels == 3) {
    resample_across_rgb(job, across_forms_);
  } else {
    resample_across_plain(job, part.channels, 0, window_.width);
  }
  return {between, part.height, window_.width, part.channels, stride};
}

void Resizer::run_down(const ImageView& between, int y, std::uint8_t* out) {
  resample_down({.weights = view_of(down_),
                 .y = y,
                 .in = between.row(down_.first[static_cast<std::size_t>(y)]),
                 .stride = between.stride,
                 .n = static_cast<std::size_t>(between.width) * static_cast<std::size_t>(between.channels),
                 .out = out},
                down_forms_);
}

void Resizer::run_nearest(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const {
  for (int y = 0; y < window_.height; ++y) {
    const std::uint8_t* in = part.row(down_.needed ? down_.first[static_cast<std::size_t>(y)] : y);
    std::uint8_t* to = out + y * out_stride;
    for (int x = 0; x < window_.width; ++x, to += part.channels) {
      const int from = across_.needed ? across_.first[static_cast<std::size_t>(x)] : x;
      std::memcpy(to, in + static_cast<std::ptrdiff_t>(from) * part.channels, static_cast<std::size_t>(part.channels));
    }
  }
}

// TensorFlow's legacy ResizeBilinear in float, then rounded to nearest (values are not negative).
void Resizer::run_tf1(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const {
  for (int y = 0; y < window_.height; ++y) {
    const auto i = static_cast<std::size_t>(y);
    const int row = down_.needed ? down_.first[i] : y;
    const float down = down_.needed ? down_.fraction[i] : 0.0f;
    const std::uint8_t* top = part.row(row);
    const std::uint8_t* bottom = part.row(std::min(row + 1, part.height - 1));
    std::uint8_t* to = out + y * out_stride;
    for (int x = 0; x < window_.width; ++x) {
      const auto j = static_cast<std::size_t>(x);
      const int column = across_.needed ? across_.first[j] : x;
      const float across = across_.needed ? across_.fraction[j] : 0.0f;
      const int left = column * part.channels, right = std::min(column + 1, part.width - 1) * part.channels;
      for (int c = 0; c < part.channels; ++c) {
        const float above = top[left + c] + (static_cast<float>(top[right + c]) - top[left + c]) * across;
        const float below = bottom[left + c] + (static_cast<float>(bottom[right + c]) - bottom[left + c]) * across;
        *to++ = static_cast<std::uint8_t>(above + (below - above) * down + 0.5f);
      }
    }
  }
}

void Resizer::resize(const ImageView& image, const ResizeSpec& spec, std::uint8_t* out, std::ptrdiff_t out_stride) {
  RIDGELINE_CHECK(image.height == spec.in.height && image.width == spec.in.width, "the spec is for another image");
  prepare(spec);
  run(crop(image, source_), out, out_stride);
}

Image resize(const ImageView& image, const ResizeSpec& spec) {
  Resizer resizer;
  resizer.prepare(spec);
  Image result(resizer.result().height, resizer.result().width, image.channels);
  resizer.resize(image, spec, result.data(), result.stride());
  return result;
}

Image resize(const ImageView& image, Size out, Filter filter) {
  return resize(image, ResizeSpec{{image.height, image.width}, out, filter, std::nullopt, std::nullopt});
}

}  // namespace ridgeline::image
