#include "ridgeline/data/transform/decode.h"

#include <fmt/format.h>

#include <utility>

#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/boxes.h"

namespace ridgeline::data {

Transform Decode(DecodeOptions options) {
  return {"decode", {{"exif_orientation", std::move(options.exif_orientation)}}, ""};
}

namespace {

// Calls decode(index) with the file's known index, and stores the new one.
template <class Decode>
image::ImageView with_index(Frame& frame, Scratch& scratch, Decode decode) {
  if (!scratch.indices) return decode(nullptr);
  const std::span<const std::uint8_t> bytes = frame.encoded();
  image::JpegIndex index = scratch.indices->find(frame.place, frame.row.record, bytes);
  const int known_rows = index.known_rows();
  if (known_rows == 0 && !scratch.indices->makes()) return decode(nullptr);
  const image::ImageView view = decode(&index);
  if (index.known_rows() > known_rows) scratch.indices->keep(frame.place, frame.row.record, bytes, index);
  return view;
}

class DecodeStep : public Step {
 public:
  explicit DecodeStep(const Transform& t) : orientation_(exif_orientation_of(t)) {}
  void run(Frame& frame, Scratch& scratch) const override {
    turn_upright(frame, orientation_);
    decode_whole(frame, scratch, orientation_);
  }

 private:
  image::ExifOrientation orientation_;
};

}  // namespace

image::ExifOrientation exif_orientation_of(const Transform& t) {
  return image::parse_exif_orientation(arg<std::string>(t.args, "exif_orientation"));
}

ArgSpec exif_orientation_arg() {
  return {.name = "exif_orientation",
          .type = ArgType::text,
          .doc =
              "apply: rotate and mirror images and their boxes as the Exif orientation says, as Pillow's "
              "exif_transpose does; ignore",
          .fallback = std::string("ignore"),
          .allowed = image::exif_orientation_names(),
          .newer = true};
}

void turn_upright(Frame& frame, image::ExifOrientation orientation) {
  const bool boxes = frame.boxes && !frame.boxes->empty();
  if (orientation == image::ExifOrientation::ignore || (!boxes && !frame.geometry)) return;
  const int stored = image::exif_orientation(frame.encoded());
  if (boxes) image::turn_boxes_upright(*frame.boxes, stored);
  if (stored > 1) record_geometry(frame, "exif", {static_cast<double>(stored)});
}

void decode_whole(Frame& frame, Scratch& scratch, image::ExifOrientation orientation) {
  frame.set(with_index(frame, scratch, [&](image::JpegIndex* index) {
    return scratch.decoder.decode(frame.encoded(), index, index, orientation);
  }));
  scratch.lap(Part::decode, bytes_of(size_of(frame.view()), frame.view().channels));
}

void decode_part(Frame& frame, Scratch& scratch, image::Box box, image::ExifOrientation orientation) {
  frame.set(with_index(frame, scratch, [&](image::JpegIndex* index) {
    return scratch.decoder.decode_region(frame.encoded(), box, index, index, orientation);
  }));
  scratch.lap(Part::decode, bytes_of({box.height, box.width}, frame.view().channels));
}

Column decode_schema(const Transform& t, const Column& column) {
  if (column.dtype != DType::bytes)
    throw Error(fmt::format("[{}] needs a column of encoded bytes, it gets {}", t.op, to_string({column})));
  return {column.name, DType::u8, Shape{kVaries, kVaries, 3}};
}

std::vector<TransformEntry> decode_transforms() {
  return {
      {.op = "decode",
       .doc = "decodes JPEG, PNG, WebP or BMP (recognised by content) to RGB",
       .args = {exif_orientation_arg()},
       .needs_pixels = false,
       .costly = true,
       .decodes = true,
       .check = {},
       .schema = each(decode_schema),
       .step = step<DecodeStep>},
  };
}

}  // namespace ridgeline::data
