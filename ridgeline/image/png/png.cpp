#include "ridgeline/image/png/png.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/chunks.h"
#include "ridgeline/image/png/predictions.h"
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
    memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(size_ + kPngSlack);
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

  // Undoes the predictions of what `box` needs, of an image of several passes of all, and calls put(row, its pixels, y,
  // x of the first pixel, distance of pixels) for the rows that were read, from the box's first one on.
  template <class Put>
  void unpack(const PngHeader& header, const Box& box, const Put& put) {
    constexpr std::uint32_t kBand = 16;  // rows that are still in the cache when they are put
    const int pixel_bytes = std::max(1, png_pixel_bits(header) / 8);
    const std::vector<std::uint8_t> zeros(png_row_bytes(header, header.width) + kPngSlack);
    std::uint8_t* first = memory_.get();
    for (const Part& part : parts_) {
      const bool whole = header.interlaced;
      const auto there = static_cast<std::uint32_t>(std::min<std::size_t>(read_, part.rows));
      const std::uint32_t bottom = whole ? there : std::min(there, static_cast<std::uint32_t>(box.top + box.height));
      const std::size_t wanted =
          whole ? part.bytes : png_row_bytes(header, static_cast<std::uint32_t>(box.left + box.width));
      const auto known = [&](std::uint32_t row, std::size_t rows, std::size_t good) {
        if (good == rows) return;
        const std::uint32_t k = row + static_cast<std::uint32_t>(good);
        throw Error("[png] damaged pixels: unknown filter " + std::to_string(first[k * (1 + part.bytes)]) + " in row " +
                    std::to_string(part.pass.top + k * part.pass.row_step));
      };
      for (std::uint32_t k = 0; k < bottom; k += kBand) {
        const PngRows band{first + k * (1 + part.bytes), std::min(kBand, bottom - k), part.bytes};
        const std::uint8_t* above = k == 0 ? zeros.data() : band.first - part.bytes;
        known(k, band.count, undo_png_predictions(band, wanted, above, pixel_bytes));
        for (std::uint32_t i = 0; i < band.count; ++i) {
          const std::uint32_t y = part.pass.top + (k + i) * part.pass.row_step;
          if (whole || y >= static_cast<std::uint32_t>(box.top))
            put(band.row(i) + 1, part.width, y, part.pass.left, static_cast<int>(part.pass.column_step));
        }
      }
      for (std::uint32_t k = bottom; k < there; ++k) known(k, 1, first[k * (1 + part.bytes)] <= 4);
      first += there * (1 + part.bytes);
      read_ -= there;
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

Box whole_of(const PngHeader& header) {
  return {0, 0, static_cast<int>(header.height), static_cast<int>(header.width)};
}

Image decode(std::span<const std::uint8_t> bytes, std::optional<Box> wanted, const DecodeLimits& limits) {
  PngChunks chunks(bytes);
  const PngHeader& header = chunks.header();
  check_size(header, bytes, limits);
  const Box all = whole_of(header);
  const Box box = wanted.value_or(all);
  check_inside(box, {all.height, all.width});
  // Pixels of less than a byte, or in several passes, are cut out of the whole image.
  if (box != all && (header.interlaced || png_pixel_bits(header) < 8))
    return copy(crop(decode(bytes, std::nullopt, limits), box));
  Image image(box.height, box.width, 3);
  const PngUnpacker unpacker(header);
  const std::uint8_t* missing = unpacker.missing();
  if (std::any_of(missing, missing + 3, [](std::uint8_t v) { return v != 0; })) {
    for (std::size_t i = 0; i < image.byte_size(); i += 3) std::copy_n(missing, 3, image.data() + i);
  }
  Rows rows(header);
  rows.read(chunks, bytes.size());
  // What is missing after a complete row keeps its colour.
  if (header.interlaced) {
    rows.unpack(header, box,
                [&](const std::uint8_t* row, std::uint32_t width, std::uint32_t y, std::uint32_t x, int step) {
                  unpacker.unpack(row, width, image.row(static_cast<int>(y)) + 3 * std::size_t{x}, step);
                });
  } else {
    const std::size_t left = png_row_bytes(header, static_cast<std::uint32_t>(box.left));
    rows.unpack(header, box, [&](const std::uint8_t* row, std::uint32_t, std::uint32_t y, std::uint32_t, int) {
      unpacker.unpack(row + left, static_cast<std::uint32_t>(box.width), image.row(static_cast<int>(y) - box.top));
    });
  }
  chunks.finish();
  return image;
}

}  // namespace

Image decode_png(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  return decode(bytes, std::nullopt, limits);
}

Image decode_png_region(std::span<const std::uint8_t> bytes, Box box, const DecodeLimits& limits) {
  return decode(bytes, box, limits);
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
  rows.unpack(header, whole_of(header),
              [&](const std::uint8_t* row, std::uint32_t width, std::uint32_t y, std::uint32_t x, int step) {
                unpack_png_values(header, row, width, values.memory.data() + y * row_bytes + x * each, step);
              });
  chunks.finish();
  return values;
}

}  // namespace ridgeline::image
