#include "ridgeline/image/png/png.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/image/png/chunks.h"
#include "ridgeline/image/png/rows.h"

namespace ridgeline::image {
namespace {

// Where the pixels of one pass lie: Adam7's seven, or the one of an image without passes.
struct Pass {
  std::uint32_t top, left, row_step, column_step;
};
constexpr std::array<Pass, 7> kAdam7{
    {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4}, {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}}};
constexpr Pass kWhole{0, 0, 1, 1};

// The stream of pixels, a row at a time.
class Inflater {
 public:
  explicit Inflater(PngChunks& chunks) : chunks_(chunks) {
    if (::inflateInit(&stream_) != Z_OK) throw Error("[png] zlib cannot start: no memory");
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // False when the stream has ended, with this row or before. A stream without an end is an Error, but for what lies
  // behind the last row asked for.
  bool read(std::span<std::uint8_t> row) {
    stream_.next_out = row.data();
    stream_.avail_out = static_cast<uInt>(row.size());
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        const std::span<const std::uint8_t> piece = chunks_.pixels();
        stream_.next_in = const_cast<Bytef*>(piece.data());
        stream_.avail_in = static_cast<uInt>(piece.size());
      }
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      if (status < 0)
        throw Error(std::string("[png] damaged pixels: ") + (stream_.msg ? stream_.msg : "the stream cannot be read"));
      if (status == Z_OK || stream_.avail_out == 0) {
        ended_ = status == Z_STREAM_END;
        continue;
      }
      stream_.avail_in = 0;  // the stream ends inside of the row, or wants a dictionary: Pillow looks for more in vain
    }
    return !ended_;
  }

 private:
  PngChunks& chunks_;
  z_stream stream_{};
  bool ended_ = false;
};

void read_pixels(PngChunks& chunks, const PngUnpacker& unpacker, Image& image) {
  const PngHeader& header = chunks.header();
  const int pixel_bytes = std::max(1, png_pixel_bits(header) / 8);
  const std::size_t longest = 1 + png_row_bytes(header, header.width);
  std::vector<std::uint8_t> row(longest), before(longest);
  Inflater inflater(chunks);
  const std::span<const Pass> passes = header.interlaced ? std::span<const Pass>(kAdam7) : std::span(&kWhole, 1);
  for (const Pass& pass : passes) {
    if (pass.left >= header.width) continue;
    const std::uint32_t width = (header.width - pass.left + pass.column_step - 1) / pass.column_step;
    const std::size_t bytes = png_row_bytes(header, width);
    std::fill(before.begin(), before.end(), 0);
    for (std::uint32_t y = pass.top; y < header.height; y += pass.row_step) {
      const bool more = inflater.read(std::span(row).first(1 + bytes));
      if (!undo_png_filter(row[0], std::span(row).subspan(1, bytes), std::span(before).subspan(1, bytes), pixel_bytes))
        throw Error("[png] damaged pixels: unknown filter " + std::to_string(row[0]) + " in row " + std::to_string(y));
      unpacker.unpack(row.data() + 1, width, image.row(static_cast<int>(y)) + 3 * std::size_t{pass.left},
                      static_cast<int>(pass.column_step));
      if (!more) return;  // what is missing behind a whole row stays as it is
      std::swap(row, before);
    }
  }
}

}  // namespace

Image decode_png(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  PngChunks chunks(bytes);
  const PngHeader& header = chunks.header();
  if (static_cast<std::int64_t>(header.width) * header.height > limits.max_pixels) {
    throw Error("[png] " + std::to_string(header.height) + "x" + std::to_string(header.width) +
                " pixels are more than the limit of " + std::to_string(limits.max_pixels));
  }
  // Deflate packs at most 1032 to 1: a file too short for its header is refused before memory is taken for it.
  if (const std::size_t wanted = png_row_bytes(header, header.width) * header.height; wanted / 1040 > bytes.size()) {
    throw Error("[png] premature end of PNG file: its " + std::to_string(bytes.size()) + " bytes cannot hold " +
                std::to_string(wanted) + " bytes of pixels");
  }
  Image image(static_cast<int>(header.height), static_cast<int>(header.width), 3);
  const PngUnpacker unpacker(header);
  const std::uint8_t* missing = unpacker.missing();
  if (std::any_of(missing, missing + 3, [](std::uint8_t v) { return v != 0; })) {
    for (std::size_t i = 0; i < image.byte_size(); i += 3) std::copy_n(missing, 3, image.data() + i);
  }
  read_pixels(chunks, unpacker, image);
  chunks.finish();
  return image;
}

}  // namespace ridgeline::image
