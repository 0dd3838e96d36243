// ridgeline/image/jpeg.h
//
// JPEG to RGB, bit-equal to libjpeg with its accurate integer DCT (ISLOW) and fancy upsampling, and back.
// Grey becomes three equal channels; CMYK and YCCK are converted as Pillow's convert("RGB") does, with Adobe's
// inversion; the orientation tag is ignored. A file whose data end early is an error, other warnings of libjpeg are
// counted.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// What a decoder accepts. A header costs nothing to write: without limits 200 bytes may ask for 12 GB.
struct DecodeLimits {
  std::int64_t max_pixels = std::int64_t{1} << 28;
  int max_scans = 500;  // of a progressive JPEG; real ones have about 10, scan bombs thousands
};

// Owned by one thread at a time; keeps libjpeg's state and its buffers from image to image.
// After an Error it is ready for the next image.
class JpegDecoder {
 public:
  explicit JpegDecoder(DecodeLimits limits = {});
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  // The whole image as RGB. The view lives until the next call.
  ImageView decode(std::span<const std::uint8_t> bytes);
  // The pixels of `box`, which must lie inside the image, equal to those of decode(). Skips what it can: inverse DCT,
  // upsampling and colour of everything more than one iMCU outside the box, and all data below it. Faults in the data
  // that it skips stay unseen. The view lives until the next call.
  ImageView decode_region(std::span<const std::uint8_t> bytes, Box box);

  // Of the latest image: libjpeg's warnings (such as extraneous bytes), and whether the region needed a full decode.
  int warnings() const;
  bool decoded_fully() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class Subsampling { s444, s422, s420, s440, s411, s410 };

// Baseline JPEG of a grey (1 channel) or RGB view with libjpeg's standard tables; the same input gives the same bytes.
// quality 1 to 100. Subsampling is ignored for grey.
std::vector<std::uint8_t> encode_jpeg(const ImageView& image, int quality, Subsampling subsampling = Subsampling::s420);

}  // namespace ridgeline::image
