// ridgeline/image/decode.h
//
// Any supported file to RGB, by its content: a PNG called .JPEG works. One Decoder for each worker thread.
#pragma once

#include <cstdint>
#include <span>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/orientation.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::image {

// Not thread-safe; reuses its buffers. Errors are Error with the format and the library's reason:
// "[decode] not a JPEG, PNG, WebP or BMP: GIF", "[jpeg] premature end of JPEG file". The caller adds file or record.
class Decoder {
 public:
  explicit Decoder(DecodeLimits limits = {}, JpegPath path = jpeg_path_from_environment())
      : limits_(limits), jpeg_(limits, path) {}

  // The whole image. The view lives until the next call. For the index see JpegDecoder; other formats have none.
  ImageView decode(std::span<const std::uint8_t> bytes, const JpegIndex* known = nullptr, JpegIndex* made = nullptr,
                   ExifOrientation orientation = ExifOrientation::ignore);
  // The pixels of `box`, equal to those of decode(), which may be turned. What can be skipped is: of a PNG and of a
  // WebP less than of a JPEG, of a BMP nothing. Faults in what a JPEG's or a WebP's box does not need are not noticed.
  ImageView decode_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known = nullptr,
                          JpegIndex* made = nullptr, ExifOrientation orientation = ExifOrientation::ignore);

 private:
  ImageView decode_stored(std::span<const std::uint8_t> bytes, const JpegIndex* known, JpegIndex* made);
  ImageView decode_stored_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known, JpegIndex* made);
  ImageView upright(const ImageView& stored, int orientation);

  DecodeLimits limits_;
  JpegDecoder jpeg_;
  Image whole_;   // the latest image, or region, that was not a JPEG
  Image turned_;  // the latest image that was turned upright
};

// The same with a temporary decoder, for single images.
Image decode(std::span<const std::uint8_t> bytes, ExifOrientation orientation = ExifOrientation::ignore);
Image decode_region(std::span<const std::uint8_t> bytes, Box box,
                    ExifOrientation orientation = ExifOrientation::ignore);

}  // namespace ridgeline::image
