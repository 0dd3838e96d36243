#include "ridgeline/data/transform/decode.h"

#include <fmt/format.h>

#include "ridgeline/data/transform/rules.h"

namespace ridgeline::data {
namespace {

// Calls decode(index) with what is known of the file, and keeps what it learned.
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
  explicit DecodeStep(const Transform&) {}
  void run(Frame& frame, Scratch& scratch) const override { decode_whole(frame, scratch); }
};

}  // namespace

void decode_whole(Frame& frame, Scratch& scratch) {
  frame.set(with_index(frame, scratch,
                       [&](image::JpegIndex* index) { return scratch.decoder.decode(frame.encoded(), index, index); }));
  scratch.lap(Part::decode, bytes_of(size_of(frame.view()), frame.view().channels));
}

void decode_part(Frame& frame, Scratch& scratch, image::Box box) {
  frame.set(with_index(frame, scratch, [&](image::JpegIndex* index) {
    return scratch.decoder.decode_region(frame.encoded(), box, index, index);
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
       .doc = "JPEG or PNG, told by content, to RGB",
       .args = {},
       .needs_pixels = false,
       .costly = true,
       .decodes = true,
       .check = {},
       .schema = each(decode_schema),
       .step = step<DecodeStep>},
  };
}

}  // namespace ridgeline::data
