#include "ridgeline/format/wire/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

// zlib's window argument: 15 bits, and 16 more asks for the gzip container.
int window_bits(Compression kind) {
  RIDGELINE_CHECK(kind != Compression::none, "nothing to inflate or deflate");
  return kind == Compression::gzip ? 15 + 16 : 15;
}

// zlib counts its buffers in unsigned int.
constexpr std::size_t kPiece = std::numeric_limits<uInt>::max();

struct InflateStream {
  z_stream z{};
  explicit InflateStream(Compression kind) {
    RIDGELINE_CHECK(inflateInit2(&z, window_bits(kind)) == Z_OK, "zlib does not start");
  }
  ~InflateStream() { inflateEnd(&z); }
};

}  // namespace

Compression guess_compression(std::span<const std::uint8_t> bytes) {
  if (bytes.size() >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8) return Compression::gzip;
  // Method 8 with a window of at most 32 KiB, no preset dictionary, and the header's check.
  if (bytes.size() >= 2 && (bytes[0] & 0x0f) == 8 && (bytes[0] >> 4) <= 7 && (bytes[1] & 0x20) == 0 &&
      (bytes[0] * 256 + bytes[1]) % 31 == 0) {
    return Compression::zlib;
  }
  return Compression::none;
}

std::vector<std::uint8_t> inflate_bytes(std::span<const std::uint8_t> bytes, Compression kind, std::string_view where,
                                        std::size_t limit, std::optional<std::string>* damage) {
  InflateStream stream(kind);
  z_stream& z = stream.z;
  std::vector<std::uint8_t> out;
  std::size_t consumed = 0;
  std::size_t produced = 0;
  // Limits count memory: only the content is kept.
  const auto content = [&] {
    out.resize(produced);
    out.shrink_to_fit();
    return std::move(out);
  };
  const auto finish = [&](const std::string& problem) {
    const std::string message =
        "[gzip] " + std::string(where) + ": " + problem + " at byte " + std::to_string(consumed);
    if (damage == nullptr) throw Error(message);
    *damage = message;
    return content();
  };

  while (true) {
    if (produced == out.size() && produced < limit) {
      const std::size_t room = std::min(limit, std::max<std::size_t>({out.size() * 2, bytes.size() * 3, 4096}));
      out.reserve(room);  // resize() alone takes twice the old size where less is wanted
      out.resize(room);
    }
    // At the limit one spare byte is offered: the end of the stream is fine there, one byte more is not.
    const std::size_t room = std::min(out.size() - produced, kPiece);
    std::uint8_t spare = 0;
    z.next_out = room > 0 ? out.data() + produced : &spare;
    z.avail_out = room > 0 ? static_cast<uInt>(room) : 1;
    const uInt offered_out = z.avail_out;
    const std::size_t offered_in = std::min(bytes.size() - consumed, kPiece);
    z.next_in = const_cast<Bytef*>(bytes.data() + consumed);
    z.avail_in = static_cast<uInt>(offered_in);

    const int status = inflate(&z, Z_NO_FLUSH);
    consumed += offered_in - z.avail_in;
    const std::size_t got = offered_out - z.avail_out;
    if (room == 0 && got > 0) {
      throw InflateLimitError("[gzip] " + std::string(where) + ": the content is larger than the limit of " +
                              std::to_string(limit) + " bytes");
    }
    produced += got;

    if (status == Z_STREAM_END) {
      if (consumed == bytes.size()) break;
      if (kind == Compression::gzip && guess_compression(bytes.subspan(consumed)) == Compression::gzip) {
        inflateReset(&z);  // the next member of the same file
        continue;
      }
      return finish("unexpected bytes after the compressed data");
    }
    if (status != Z_OK && status != Z_BUF_ERROR) {
      return finish(std::string("damaged compressed data (") + (z.msg ? z.msg : "unknown") + ")");
    }
    if (consumed == bytes.size() && got < offered_out) return finish("the compressed data is cut short");
  }
  return content();
}

std::vector<std::uint8_t> deflate_bytes(std::span<const std::uint8_t> bytes, Compression kind, int level) {
  z_stream z{};
  RIDGELINE_CHECK(deflateInit2(&z, level, Z_DEFLATED, window_bits(kind), 8, Z_DEFAULT_STRATEGY) == Z_OK,
                  "zlib does not start");
  std::vector<std::uint8_t> out(deflateBound(&z, bytes.size()));
  std::size_t consumed = 0;
  std::size_t produced = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const std::size_t in = std::min(bytes.size() - consumed, kPiece);
    const std::size_t room = std::min(out.size() - produced, kPiece);
    z.next_in = const_cast<Bytef*>(bytes.data() + consumed);
    z.avail_in = static_cast<uInt>(in);
    z.next_out = out.data() + produced;
    z.avail_out = static_cast<uInt>(room);
    status = deflate(&z, consumed + in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    consumed += in - z.avail_in;
    produced += room - z.avail_out;
  }
  deflateEnd(&z);
  out.resize(produced);
  return out;
}

}  // namespace ridgeline
