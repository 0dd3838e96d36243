#include <zlib.h>

#include <array>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/wire/crc32c.h"

namespace ridgeline {
namespace {

// Small records are gathered up to this before they go to the system or to zlib.
constexpr std::size_t kBuffer = 1 << 18;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_record(std::string& out, std::span<const std::uint8_t> data) {
  std::string length;
  put(length, std::uint64_t{data.size()});
  out += length;
  put(out, masked_crc32c(as_bytes(length)));
  out.append(reinterpret_cast<const char*>(data.data()), data.size());
  put(out, masked_crc32c(data));
}

}  // namespace

std::string frame_record(std::span<const std::uint8_t> data) {
  std::string framed;
  framed.reserve(data.size() + TFRecordFile::kOverhead);
  append_record(framed, data);
  return framed;
}

struct TFRecordWriter::State {
  AtomicFile file;
  Compression compression;
  z_stream z{};
  std::string pending;

  State(const std::string& path, Compression kind) : file(path), compression(kind) {
    if (kind == Compression::none) return;
    const int window = kind == Compression::gzip ? 15 + 16 : 15;
    RIDGELINE_CHECK(deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK,
                    "zlib does not start");
  }
  ~State() {
    if (compression != Compression::none) deflateEnd(&z);
  }

  // Empties `pending`, into the file or through zlib. `last` ends the compressed stream.
  void drain(bool last) {
    if (compression == Compression::none) {
      file.write(pending.data(), pending.size());
      pending.clear();
      return;
    }
    std::array<std::uint8_t, 1 << 16> out;
    std::string_view in = pending;
    do {  // pieces, since zlib counts in unsigned int
      const std::string_view piece = in.substr(0, std::size_t{1} << 30);
      in.remove_prefix(piece.size());
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      z.avail_in = static_cast<uInt>(piece.size());
      do {
        z.next_out = out.data();
        z.avail_out = static_cast<uInt>(out.size());
        deflate(&z, last && in.empty() ? Z_FINISH : Z_NO_FLUSH);
        file.write(out.data(), out.size() - z.avail_out);
      } while (z.avail_out == 0);
    } while (!in.empty());
    pending.clear();
  }
};

TFRecordWriter::TFRecordWriter(const std::string& path, Compression compression)
    : state_(std::make_unique<State>(path, compression)) {}
TFRecordWriter::~TFRecordWriter() = default;
TFRecordWriter::TFRecordWriter(TFRecordWriter&&) noexcept = default;
TFRecordWriter& TFRecordWriter::operator=(TFRecordWriter&&) noexcept = default;

void TFRecordWriter::write(std::span<const std::uint8_t> data) {
  RIDGELINE_CHECK(state_ != nullptr, "write() after close()");
  append_record(state_->pending, data);
  ++records_;
  if (state_->pending.size() >= kBuffer) state_->drain(false);
}

void TFRecordWriter::write(std::string_view data) { write(as_bytes(data)); }

void TFRecordWriter::close() {
  RIDGELINE_CHECK(state_ != nullptr, "close() is called once");
  state_->drain(true);
  state_->file.commit();
  state_.reset();
}

}  // namespace ridgeline
