// ridgeline/image/image.h
//
// Pixels in memory: 8 bits a channel, rows of interleaved channels (HWC). An ImageView borrows, an Image owns. Neither
// is synchronised: many threads may read one image, one may write it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridgeline::image {

// A rectangle of whole pixels.
struct Box {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

struct Size {
  int height = 0;
  int width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// Whether a box has pixels and all of them belong to an image of this size.
constexpr bool inside(const Box& box, Size image) {
  return box.top >= 0 && box.left >= 0 && box.height > 0 && box.width > 0 && box.height <= image.height - box.top &&
         box.width <= image.width - box.left;
}

// What pixels outside an image are filled with; grey images use the first value.
using Colour = std::array<std::uint8_t, 3>;

// Borrowed pixels; `stride` is the distance of two rows in bytes and may exceed width * channels.
struct ImageView {
  const std::uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  int channels = 0;
  std::ptrdiff_t stride = 0;

  const std::uint8_t* row(int y) const { return data + y * stride; }
  const std::uint8_t* pixel(int y, int x) const { return row(y) + static_cast<std::ptrdiff_t>(x) * channels; }
};

// Owned pixels without gaps between rows.
class Image {
 public:
  Image() = default;
  // All zero.
  Image(int height, int width, int channels = 3) { reset(height, width, channels); }

  // Another shape; keeps the memory when it is large enough, and then the pixels are unspecified.
  void reset(int height, int width, int channels = 3) {
    height_ = height;
    width_ = width;
    channels_ = channels;
    data_.resize(byte_size());
  }

  int height() const { return height_; }
  int width() const { return width_; }
  int channels() const { return channels_; }
  std::ptrdiff_t stride() const { return static_cast<std::ptrdiff_t>(width_) * channels_; }
  std::size_t byte_size() const { return static_cast<std::size_t>(height_) * static_cast<std::size_t>(stride()); }
  std::uint8_t* data() { return data_.data(); }
  const std::uint8_t* data() const { return data_.data(); }
  std::uint8_t* row(int y) { return data_.data() + y * stride(); }
  const std::uint8_t* row(int y) const { return data_.data() + y * stride(); }
  ImageView view() const { return {data_.data(), height_, width_, channels_, stride()}; }
  operator ImageView() const { return view(); }  // NOLINT(google-explicit-constructor): a view of what it owns
  friend bool operator==(const Image&, const Image&) = default;

 private:
  int height_ = 0;
  int width_ = 0;
  int channels_ = 0;
  std::vector<std::uint8_t> data_;
};

}  // namespace ridgeline::image
