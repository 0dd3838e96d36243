#include "ridgeline/image/pixels.h"

#include <cstring>
#include <string>

#include "ridgeline/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/pixels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void mirror(const std::uint8_t* HWY_RESTRICT in, std::size_t pixels, std::uint8_t* HWY_RESTRICT out) {
  const std::uint8_t* end = in + 3 * pixels;
#if HWY_TARGET != HWY_SCALAR
  // Five pixels take the upper 15 of 16 bytes, so the load begins one byte early and the store ends one byte late: the
  // first pixels are done below.
  const hn::FixedTag<std::uint8_t, 16> d;
  alignas(16) static constexpr std::uint8_t kFive[16] = {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0};
  const auto order = hn::Load(d, kFive);
  for (; pixels > 5; pixels -= 5, end -= 15, out += 15) {
    hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, end - 16), order), d, out);
  }
#endif
  for (; pixels > 0; --pixels, out += 3) {
    end -= 3;
    out[0] = end[0];
    out[1] = end[1];
    out[2] = end[2];
  }
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(mirror);

void mirror_rgb(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(mirror)(in, pixels, out);
}

void check_inside(const Box& box, Size image) {
  if (inside(box, image)) return;
  throw Error("[crop] rows " + std::to_string(box.top) + "+" + std::to_string(box.height) + ", columns " +
              std::to_string(box.left) + "+" + std::to_string(box.width) + " are not inside an image of " +
              std::to_string(image.height) + "x" + std::to_string(image.width));
}

ImageView crop(const ImageView& image, Box box) {
  check_inside(box, {image.height, image.width});
  return {image.pixel(box.top, box.left), box.height, box.width, image.channels, image.stride};
}

Image copy(const ImageView& image) {
  Image result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(result.row(y), image.row(y), static_cast<std::size_t>(result.stride()));
  }
  return result;
}

void flip_vertical(const ImageView& in, std::uint8_t* out) {
  const auto bytes = static_cast<std::size_t>(in.width) * static_cast<std::size_t>(in.channels);
  for (int y = in.height - 1; y >= 0; --y, out += bytes) std::memcpy(out, in.row(y), bytes);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
