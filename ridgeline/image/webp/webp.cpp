#include "ridgeline/image/webp/webp.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/image/pixels.h"

namespace ridgeline::image {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Parts = std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)>;

std::string reason_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "no memory";
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the file is cut short";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "a feature that libwebp does not know";
    default: return "damaged file";
  }
}

// The chunks of a file; null where they are not in order. The bytes are borrowed.
Parts parts_of(Bytes bytes) {
  const WebPData data{bytes.data(), bytes.size()};
  return {WebPDemux(&data), WebPDemuxDelete};
}

// One picture of a file, at its position on the canvas.
class Picture {
 public:
  Picture(const WebPDemuxer* parts, int number) { found_ = WebPDemuxGetFrame(parts, number, &place_) != 0; }
  ~Picture() { WebPDemuxReleaseIterator(&place_); }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  bool found() const { return found_; }
  Box place() const { return {place_.y_offset, place_.x_offset, place_.height, place_.width}; }

  // The pixels of `part`, which is inside the picture; its top and left are even.
  Image decode(const Box& part) const {
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) throw Error("[webp] libwebp is another version than was compiled for");
    const Bytes bytes{place_.fragment.bytes, place_.fragment.size};
    check(WebPGetFeatures(bytes.data(), bytes.size(), &config.input));
    if (config.input.width != place_.width || config.input.height != place_.height)
      throw Error("[webp] damaged file: a picture that does not fit its canvas");
    WebPDecoderOptions& options = config.options;
    options.use_cropping = part != Box{0, 0, place_.height, place_.width} ? 1 : 0;
    options.crop_left = part.left;
    options.crop_top = part.top;
    options.crop_width = part.width;
    options.crop_height = part.height;
    // Alpha is read, too, where there is any: its errors count, as in Pillow.
    const int channels = config.input.has_alpha != 0 ? 4 : 3;
    Image image(part.height, part.width, channels);
    config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {image.data(), static_cast<int>(image.stride()), image.byte_size()};
    const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
    WebPFreeDecBuffer(&config.output);
    check(status);
    if (channels == 3) return image;
    Image rgb(part.height, part.width, 3);
    for (std::size_t i = 0, pixels = rgb.byte_size() / 3; i < pixels; ++i)
      std::copy_n(image.data() + 4 * i, 3, rgb.data() + 3 * i);
    return rgb;
  }

 private:
  static void check(VP8StatusCode status) {
    if (status != VP8_STATUS_OK) throw Error("[webp] " + reason_of(status));
  }

  WebPIterator place_{};
  bool found_ = false;
};

// A box around this one whose inner pixels libwebp gives as in the whole picture: it begins at even pixels only, and
// the colours of its border are not mixed with those outside, which are up to two pixels away.
Box with_neighbours(const Box& box, Size image) {
  const int top = std::max(0, (box.top - 2) & ~1), left = std::max(0, (box.left - 2) & ~1);
  return {top, left, std::min(image.height, box.top + box.height + 2) - top,
          std::min(image.width, box.left + box.width + 2) - left};
}

void copy_into(Image& canvas, const ImageView& picture, int top, int left) {
  for (int y = 0; y < picture.height; ++y)
    std::copy_n(picture.row(y), picture.stride, canvas.row(top + y) + 3 * static_cast<std::ptrdiff_t>(left));
}

// `wanted`, or the canvas with its first picture.
Image decode(Bytes bytes, std::optional<Box> wanted, const DecodeLimits& limits) {
  const Header header = webp_header(bytes);
  if (static_cast<std::int64_t>(header.height) * header.width > limits.max_pixels) {
    throw Error("[webp] " + std::to_string(header.height) + "x" + std::to_string(header.width) +
                " pixels are more than the limit of " + std::to_string(limits.max_pixels));
  }
  const Parts parts = parts_of(bytes);
  if (!parts) throw Error("[webp] the file is cut short, or damaged between its chunks");
  const Picture picture(parts.get(), 1);
  if (!picture.found() ||
      WebPDemuxGetI(parts.get(), WEBP_FF_CANVAS_HEIGHT) != static_cast<std::uint32_t>(header.height) ||
      WebPDemuxGetI(parts.get(), WEBP_FF_CANVAS_WIDTH) != static_cast<std::uint32_t>(header.width))
    throw Error("[webp] damaged file: its header and its pictures do not fit");
  const Box canvas{0, 0, header.height, header.width}, place = picture.place();
  const Box box = wanted.value_or(canvas);
  check_inside(box, header.size());
  if (!inside(place, header.size())) throw Error("[webp] damaged file: a picture that does not fit its canvas");
  if (place == canvas) {
    const Box part = with_neighbours(box, header.size());
    Image image = picture.decode(part);
    if (part == box) return image;
    return copy(crop(image, {box.top - part.top, box.left - part.left, box.height, box.width}));
  }
  Image image(header.height, header.width, 3);
  copy_into(image, picture.decode({0, 0, place.height, place.width}), place.top, place.left);
  return box == canvas ? image : copy(crop(image, box));
}

}  // namespace

Header webp_header(Bytes bytes) {
  WebPBitstreamFeatures found;
  if (const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &found); status != VP8_STATUS_OK)
    throw Error("[webp] " +
                (status == VP8_STATUS_NOT_ENOUGH_DATA ? "the file ends inside its header" : reason_of(status)));
  return {.format = Format::webp,
          .height = found.height,
          .width = found.width,
          .components = found.has_alpha != 0 ? 4 : 3,
          .animated = found.has_animation != 0};
}

Image decode_webp(Bytes bytes, const DecodeLimits& limits) { return decode(bytes, std::nullopt, limits); }

Image decode_webp_region(Bytes bytes, Box box, const DecodeLimits& limits) { return decode(bytes, box, limits); }

std::vector<std::uint8_t> webp_exif(Bytes bytes) {
  const Parts parts = parts_of(bytes);
  WebPChunkIterator chunk;
  if (!parts || WebPDemuxGetChunk(parts.get(), "EXIF", 1, &chunk) == 0) return {};
  std::vector<std::uint8_t> exif(chunk.chunk.bytes, chunk.chunk.bytes + chunk.chunk.size);
  WebPDemuxReleaseChunkIterator(&chunk);
  return exif;
}

}  // namespace ridgeline::image
