#include "ridgeline/image/decode.h"

#include "ridgeline/image/bmp/bmp.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"
#include "ridgeline/image/webp/webp.h"

namespace ridgeline::image {

ImageView Decoder::decode_stored(std::span<const std::uint8_t> bytes, const JpegIndex* known, JpegIndex* made) {
  const Sniffed found = sniff(bytes);
  if (made && found.format != Format::jpeg) *made = JpegIndex();
  switch (found.format) {
    case Format::jpeg: return jpeg_.decode(bytes, known, made);
    case Format::png: whole_ = decode_png(bytes, limits_); return whole_;
    case Format::webp: whole_ = decode_webp(bytes, limits_); return whole_;
    case Format::bmp: whole_ = decode_bmp(bytes, limits_); return whole_;
    case Format::other: break;
  }
  refuse_format(found);
}

ImageView Decoder::decode_stored_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known,
                                        JpegIndex* made) {
  switch (sniff(bytes).format) {
    case Format::jpeg: return jpeg_.decode_region(bytes, box, known, made);
    case Format::png: whole_ = decode_png_region(bytes, box, limits_); break;
    case Format::webp: whole_ = decode_webp_region(bytes, box, limits_); break;
    default: return crop(decode_stored(bytes, known, made), box);  // cheap to read completely
  }
  if (made) *made = JpegIndex();
  return whole_;
}

ImageView Decoder::upright(const ImageView& stored, int orientation) {
  if (orientation == 1) return stored;
  turn_upright(stored, orientation, turned_);
  return turned_;
}

ImageView Decoder::decode(std::span<const std::uint8_t> bytes, const JpegIndex* known, JpegIndex* made,
                          ExifOrientation orientation) {
  const ImageView stored = decode_stored(bytes, known, made);
  return orientation == ExifOrientation::ignore ? stored : upright(stored, exif_orientation(bytes));
}

ImageView Decoder::decode_region(std::span<const std::uint8_t> bytes, Box box, const JpegIndex* known, JpegIndex* made,
                                 ExifOrientation orientation) {
  const int turn = orientation == ExifOrientation::ignore ? 1 : exif_orientation(bytes);
  const Box there = turn == 1 ? box : stored_box(box, read_header(bytes).size(), turn);
  return upright(decode_stored_region(bytes, there, known, made), turn);
}

Image decode(std::span<const std::uint8_t> bytes, ExifOrientation orientation) {
  Decoder decoder;
  return copy(decoder.decode(bytes, nullptr, nullptr, orientation));
}

Image decode_region(std::span<const std::uint8_t> bytes, Box box, ExifOrientation orientation) {
  Decoder decoder;
  return copy(decoder.decode_region(bytes, box, nullptr, nullptr, orientation));
}

}  // namespace ridgeline::image
