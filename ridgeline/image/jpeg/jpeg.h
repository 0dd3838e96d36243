// ridgeline/image/jpeg/jpeg.h
//
// JPEG to RGB, bit-equal to libjpeg with its accurate integer DCT (ISLOW) and fancy upsampling, and back.
// Grey becomes three equal channels; CMYK and YCCK are converted as Pillow's convert("RGB") does, with Adobe's
// inversion; the orientation tag is ignored. A file whose data end early is an error, other warnings of libjpeg are
// counted.
//
// Common files (baseline, one scan, grey or YCbCr 4:4:4, 4:2:2, 4:4:0 or 4:2:0) go through our own decoder, all others
// and every damaged file through libjpeg; only the time differs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/index.h"

namespace ridgeline::image {

// What a decoder accepts. Without limits, a file of 200 bytes may ask for 12 GB.
struct DecodeLimits {
  std::int64_t max_pixels = std::int64_t{1} << 28;
  int max_scans = 500;  // of a progressive JPEG; real ones have about 10, scan bombs thousands
};

enum class JpegPath {
  own,         // our decoder if it supports the file, else libjpeg
  one_stream,  // the same without a second stream ahead of the first, for comparison
  libjpeg,     // always libjpeg, for comparison; uses and makes no index
};
// The value of the environment variable RIDGELINE_JPEG, by these names; own if it is not set. An Error for other
// values.
JpegPath jpeg_path_from_environment();

// Owned by one thread at a time; keeps libjpeg's state and its buffers from image to image.
// After an Error it is ready for the next image.
class JpegDecoder {
 public:
  explicit JpegDecoder(DecodeLimits limits = {}, JpegPath path = jpeg_path_from_environment());
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  // The whole image as RGB. The view lives until the next call.
  // `known`, if given, is an index of these same bytes; another one is ignored. `made`, if given (it may be the same
  // object), receives the index as far as it is known after the call. It is empty for a file that has none: one with
  // restart markers, or one that our decoder does not support.
  ImageView decode(std::span<const std::uint8_t> bytes, const JpegIndex* known = nullptr, JpegIndex* made = nullptr);
  // The pixels of `box`, which must be inside the image, equal to those of decode(). Skips what it can: inverse DCT,
  // upsampling and colour of everything more than one iMCU outside the box, and all data below it. Faults in skipped
  // data are not noticed. With an index that knows its rows it also skips the data above and beside the box. The view
  // lives until the next call.
  ImageView decode_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known = nullptr,
                          JpegIndex* made = nullptr);

  // Of the latest image: libjpeg's warnings (such as extraneous bytes), and whether the region needed a full decode.
  int warnings() const;
  bool decoded_fully() const;
  bool decoded_by_libjpeg() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class Subsampling { s444, s422, s420, s440, s411, s410 };

// Baseline JPEG of a grey (1 channel) or RGB view with libjpeg's standard tables; the same input gives the same bytes.
// quality 1 to 100. Subsampling is ignored for grey.
std::vector<std::uint8_t> encode_jpeg(const ImageView& image, int quality, Subsampling subsampling = Subsampling::s420);

}  // namespace ridgeline::image
