#include "ridgeline/image/decode.h"

#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"

namespace ridgeline::image {

ImageView Decoder::decode(std::span<const std::uint8_t> bytes, const JpegIndex* known, JpegIndex* made) {
  const Sniffed found = sniff(bytes);
  if (made && found.format != Format::jpeg) *made = JpegIndex();
  switch (found.format) {
    case Format::jpeg: return jpeg_.decode(bytes, known, made);
    case Format::png: png_ = decode_png(bytes, limits_); return png_;
    case Format::other: break;
  }
  throw Error("[decode] not a JPEG or PNG: " + std::string(found.name));
}

ImageView Decoder::decode_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known,
                                 JpegIndex* made) {
  if (sniff(bytes).format == Format::jpeg) return jpeg_.decode_region(bytes, box, known, made);
  return crop(decode(bytes, nullptr, made),
              box);  // PNG predicts every row from the one above: there is nothing to skip
}

Image decode(std::span<const std::uint8_t> bytes) {
  Decoder decoder;
  return copy(decoder.decode(bytes));
}

Image decode_region(std::span<const std::uint8_t> bytes, Box box) {
  Decoder decoder;
  return copy(decoder.decode_region(bytes, box));
}

}  // namespace ridgeline::image
