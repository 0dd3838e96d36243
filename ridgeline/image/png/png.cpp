#include "ridgeline/image/png/png.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/image/png/chunks.h"
#include "ridgeline/image/png/rows.h"

namespace ridgeline::image {
namespace {

// Where the pixels of one pass are: Adam7's seven, or the one of an image without passes.
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

  // False when the stream has ended, with this row or before. A stream without an end is an Error, except after the
  // last requested row.
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

// The filtered rows of all passes, one after the other as the stream has them.
class Rows {
 public:
  explicit Rows(const PngHeader& header) {
    for (const Pass& pass : header.interlaced ? std::span<const Pass>(kAdam7) : std::span(&kWhole, 1)) {
      if (pass.left >= header.width || pass.top >= header.height) continue;
      const std::uint32_t width = (header.width - pass.left + pass.column_step - 1) / pass.column_step;
      const std::uint32_t rows = (header.height - pass.top + pass.row_step - 1) / pass.row_step;
      const std::size_t bytes = png_row_bytes(header, width);
      parts_.push_back({pass, width, rows, bytes});
      size_ += rows * (1 + bytes);
      rows_ += rows;
    }
    memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(size_);
  }

  // Reads as many as the stream gives. It has at most `most` bytes.
  void read(PngChunks& chunks, std::size_t most) {
    if (read_at_once(chunks, most)) return;
    Inflater inflater(chunks);
    std::uint8_t* to = memory_.get();
    read_ = 0;
    for (const Part& part : parts_) {
      for (std::uint32_t y = 0; y < part.rows; ++y, to += 1 + part.bytes) {
        ++read_;
        if (!inflater.read({to, 1 + part.bytes})) return;
      }
    }
  }

  // Whether the stream gave all of them.
  bool complete() const { return read_ == rows_; }

  // Calls put(row, its pixels, y, x of the first pixel, distance of pixels) for all that were read.
  template <class Put>
  void unpack(const PngHeader& header, const Put& put) {
    const int pixel_bytes = std::max(1, png_pixel_bits(header) / 8);
    const std::vector<std::uint8_t> zeros(png_row_bytes(header, header.width));
    std::uint8_t* row = memory_.get();
    for (const Part& part : parts_) {
      std::span<const std::uint8_t> before = std::span(zeros).first(part.bytes);
      std::uint32_t y = part.pass.top;
      for (std::uint32_t k = 0; k < part.rows; ++k, y += part.pass.row_step, row += 1 + part.bytes) {
        if (read_-- == 0) return;
        if (!undo_png_filter(row[0], {row + 1, part.bytes}, before, pixel_bytes))
          throw Error("[png] damaged pixels: unknown filter " + std::to_string(row[0]) + " in row " +
                      std::to_string(y));
        put(row + 1, part.width, y, part.pass.left, static_cast<int>(part.pass.column_step));
        before = {row + 1, part.bytes};
      }
    }
  }

 private:
  struct Part {
    Pass pass;
    std::uint32_t width, rows;
    std::size_t bytes;  // of a row, behind its filter
  };

  // A complete stream of the right size, in about half of zlib's time; else false, and `chunks` is where it was.
  bool read_at_once(PngChunks& chunks, std::size_t most) {
    std::vector<std::uint8_t> stream;
    stream.reserve(most);
    PngChunks ahead = chunks;
    for (auto piece = ahead.more_pixels(); !piece.empty(); piece = ahead.more_pixels())
      stream.insert(stream.end(), piece.begin(), piece.end());
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflater(
        libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
    if (!inflater) throw Error("[png] libdeflate cannot start: no memory");
    std::size_t taken = 0;
    if (libdeflate_zlib_decompress_ex(inflater.get(), stream.data(), stream.size(), memory_.get(), size_, &taken,
                                      nullptr) != LIBDEFLATE_SUCCESS) {
      return false;
    }
    PngChunks behind = chunks;
    for (std::size_t bytes = 0; bytes < taken;) bytes += behind.pixels().size();
    // Whether the last chunk may be cut short depends on how much of it zlib asks for to fill the last row.
    if (behind.cut_short()) return false;
    chunks = behind;
    read_ = rows_;
    return true;
  }

  std::vector<Part> parts_;
  std::size_t size_ = 0;
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t rows_ = 0;
  std::size_t read_ = 0;  // of the rows
};

void check_size(const PngHeader& header, std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  if (static_cast<std::int64_t>(header.width) * header.height > limits.max_pixels) {
    throw Error("[png] " + std::to_string(header.height) + "x" + std::to_string(header.width) +
                " pixels are more than the limit of " + std::to_string(limits.max_pixels));
  }
  // Deflate packs at most 1032 to 1: a file too short for its header is refused before memory is taken for it.
  if (const std::size_t wanted = png_row_bytes(header, header.width) * header.height; wanted / 1040 > bytes.size()) {
    throw Error("[png] premature end of PNG file: its " + std::to_string(bytes.size()) + " bytes cannot hold " +
                std::to_string(wanted) + " bytes of pixels");
  }
}

}  // namespace

Image decode_png(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  PngChunks chunks(bytes);
  const PngHeader& header = chunks.header();
  check_size(header, bytes, limits);
  Image image(static_cast<int>(header.height), static_cast<int>(header.width), 3);
  const PngUnpacker unpacker(header);
  const std::uint8_t* missing = unpacker.missing();
  if (std::any_of(missing, missing + 3, [](std::uint8_t v) { return v != 0; })) {
    for (std::size_t i = 0; i < image.byte_size(); i += 3) std::copy_n(missing, 3, image.data() + i);
  }
  Rows rows(header);
  rows.read(chunks, bytes.size());
  // What is missing after a complete row keeps its colour.
  rows.unpack(header, [&](const std::uint8_t* row, std::uint32_t width, std::uint32_t y, std::uint32_t x, int step) {
    unpacker.unpack(row, width, image.row(static_cast<int>(y)) + 3 * std::size_t{x}, step);
  });
  chunks.finish();
  return image;
}

PngValues decode_png_values(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  PngChunks chunks(bytes);
  const PngHeader& header = chunks.header();
  if (png_pixel_bits(header) != header.depth)
    throw Error("[png] " + std::to_string(png_pixel_bits(header) / header.depth) +
                " values a pixel, a mask has one (allowed: grey, palette)");
  check_size(header, bytes, limits);
  PngValues values{static_cast<int>(header.height), static_cast<int>(header.width), header.depth == 16 ? 2 : 1, {}};
  const std::size_t each = static_cast<std::size_t>(values.bytes), row_bytes = header.width * each;
  values.memory.resize(row_bytes * header.height);
  Rows rows(header);
  rows.read(chunks, bytes.size());
  if (!rows.complete()) throw Error("[png] premature end of PNG file: rows are missing");
  rows.unpack(header, [&](const std::uint8_t* row, std::uint32_t width, std::uint32_t y, std::uint32_t x, int step) {
    unpack_png_values(header, row, width, values.memory.data() + y * row_bytes + x * each, step);
  });
  chunks.finish();
  return values;
}

}  // namespace ridgeline::image
