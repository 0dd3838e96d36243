// ridgeline/image/decode.h
//
// Any supported file to RGB, by its content: a PNG called .JPEG works. One Decoder a worker thread.
#pragma once

#include <cstdint>
#include <span>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::image {

// Not thread-safe; reuses its buffers. Errors are Error with the format and the library's reason:
// "[decode] not a JPEG or PNG: GIF", "[jpeg] premature end of JPEG file". The caller adds file or record.
class Decoder {
 public:
  explicit Decoder(DecodeLimits limits = {}, JpegPath path = jpeg_path_from_environment())
      : limits_(limits), jpeg_(limits, path) {}

  // The whole image. The view lives until the next call. About the index see JpegDecoder; a PNG has none.
  ImageView decode(std::span<const std::uint8_t> bytes, const JpegIndex* known = nullptr, JpegIndex* made = nullptr);
  // The pixels of `box`, equal to those of decode(); for JPEG without decoding the rest.
  ImageView decode_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known = nullptr,
                          JpegIndex* made = nullptr);

 private:
  DecodeLimits limits_;
  JpegDecoder jpeg_;
  Image png_;
};

// The same with a decoder of their own, for single images.
Image decode(std::span<const std::uint8_t> bytes);
Image decode_region(std::span<const std::uint8_t> bytes, Box box);

}  // namespace ridgeline::image
