#include "ridgeline/image/webp/webp.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"

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

  void decode_into(Image& canvas) const {
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) throw Error("[webp] libwebp is another version than was compiled for");
    const Bytes bytes{place_.fragment.bytes, place_.fragment.size};
    check(WebPGetFeatures(bytes.data(), bytes.size(), &config.input));
    if (place_.x_offset + place_.width > canvas.width() || place_.y_offset + place_.height > canvas.height() ||
        config.input.width != place_.width || config.input.height != place_.height)
      throw Error("[webp] damaged file: a picture that does not fit its canvas");
    std::uint8_t* to = canvas.row(place_.y_offset) + 3 * static_cast<std::ptrdiff_t>(place_.x_offset);
    // Alpha is read, too, where there is any: its errors count, as in Pillow.
    const int channels = config.input.has_alpha != 0 ? 4 : 3;
    std::vector<std::uint8_t> with_alpha;
    config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    WebPRGBABuffer& out = config.output.u.RGBA;
    if (channels == 4) {
      with_alpha.resize(static_cast<std::size_t>(place_.width) * static_cast<std::size_t>(place_.height) * 4);
      out = {with_alpha.data(), place_.width * 4, with_alpha.size()};
    } else {
      const std::ptrdiff_t rows = place_.height - 1;
      out = {to, static_cast<int>(canvas.stride()),
             static_cast<std::size_t>(rows * canvas.stride() + static_cast<std::ptrdiff_t>(place_.width) * 3)};
    }
    const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
    WebPFreeDecBuffer(&config.output);
    check(status);
    const std::uint8_t* from = with_alpha.data();
    for (int y = 0; channels == 4 && y < place_.height; ++y, to += canvas.stride()) {
      for (int x = 0; x < place_.width; ++x, from += 4) std::copy_n(from, 3, to + std::ptrdiff_t{3} * x);
    }
  }

 private:
  static void check(VP8StatusCode status) {
    if (status != VP8_STATUS_OK) throw Error("[webp] " + reason_of(status));
  }

  WebPIterator place_{};
  bool found_ = false;
};

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

Image decode_webp(Bytes bytes, const DecodeLimits& limits) {
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
  Image image(header.height, header.width, 3);
  picture.decode_into(image);
  return image;
}

std::vector<std::uint8_t> webp_exif(Bytes bytes) {
  const Parts parts = parts_of(bytes);
  WebPChunkIterator chunk;
  if (!parts || WebPDemuxGetChunk(parts.get(), "EXIF", 1, &chunk) == 0) return {};
  std::vector<std::uint8_t> exif(chunk.chunk.bytes, chunk.chunk.bytes + chunk.chunk.size);
  WebPDemuxReleaseChunkIterator(&chunk);
  return exif;
}

}  // namespace ridgeline::image
