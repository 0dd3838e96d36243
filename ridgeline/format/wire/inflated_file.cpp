#include "ridgeline/format/wire/inflated_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ridgeline {
namespace {

constexpr std::size_t kInput = std::size_t{256} << 10, kOutput = std::size_t{64} << 10;
constexpr int kRaw = -15;  // zlib's window argument: a stream without its container

int container(Compression kind) { return kind == Compression::gzip ? 15 + 16 : 15; }

}  // namespace

// zlib's state and its input: used by members of InflatedFile, so not local to this file.
namespace inflating {

struct Stream {
  z_stream z{};
  explicit Stream(int window) { RIDGELINE_CHECK(inflateInit2(&z, window) == Z_OK, "zlib does not start"); }
  ~Stream() { inflateEnd(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

// The bytes of a file for zlib, one piece after the other.
class Input {
 public:
  Input(const RandomAccessFile& file, std::uint64_t at) : file_(file), next_(at), bytes_(kInput) {}
  // False at the end of the file.
  bool fill(z_stream& z) {
    if (z.avail_in > 0) return true;
    const std::size_t got = file_.read_some(next_, bytes_);
    next_ += got;
    z.next_in = bytes_.data();
    z.avail_in = static_cast<uInt>(got);
    return got > 0;
  }
  std::uint64_t consumed(const z_stream& z) const { return next_ - z.avail_in; }
  // The next bytes without taking them; fewer at the end of the file.
  std::span<const std::uint8_t> peek(z_stream& z, std::size_t count) {
    if (z.avail_in < count) {
      next_ -= z.avail_in;
      z.avail_in = 0;
      fill(z);
    }
    return {z.next_in, std::min<std::size_t>(count, z.avail_in)};
  }
  void skip(z_stream& z, std::size_t count) {
    const std::size_t here = std::min<std::size_t>(count, z.avail_in);
    z.next_in += here;
    z.avail_in -= static_cast<uInt>(here);
    next_ += count - here;
  }

 private:
  const RandomAccessFile& file_;
  std::uint64_t next_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace inflating

// ---- blocks

std::size_t InflatedBlocks::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::uint64_t InflatedBlocks::new_file() {
  const std::lock_guard lock(mutex_);
  return files_++;
}

InflatedBlocks::Block InflatedBlocks::find(std::uint64_t file, std::size_t block) {
  const std::lock_guard lock(mutex_);
  const auto found = found_.find(key_of(file, block));
  if (found == found_.end()) return nullptr;
  used_.splice(used_.begin(), used_, found->second);
  return found->second->block;
}

void InflatedBlocks::keep(std::uint64_t file, std::size_t number, Block block) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t key = key_of(file, number);
  if (block->size() > limit_ || found_.contains(key)) return;
  bytes_ += block->size();
  used_.push_front({key, std::move(block)});
  found_[key] = used_.begin();
  while (bytes_ > limit_) {
    bytes_ -= used_.back().block->size();
    found_.erase(used_.back().key);
    used_.pop_back();
  }
}

void InflatedBlocks::forget(std::uint64_t file) {
  const std::lock_guard lock(mutex_);
  for (auto entry = used_.begin(); entry != used_.end();) {
    const auto next = std::next(entry);
    if (entry->key >> 32 == file) {
      bytes_ -= entry->block->size();
      found_.erase(entry->key);
      used_.erase(entry);
    }
    entry = next;
  }
}

// ---- opening

// Goes through the file and notes points.
class InflatedFile::Opening {
 public:
  Opening(InflatedFile& file, const std::function<void(std::span<const std::uint8_t>)>& content, std::size_t block)
      : file_(file), content_(content), least_(block), stream_(container(file.kind_)), input_(file.file_, 0) {}

  // What is wrong with the file; "" for nothing.
  std::string run() {
    z_stream& z = stream_.z;
    file_.points_.emplace_back();
    std::vector<std::uint8_t> out(kOutput);
    while (true) {
      const bool more = input_.fill(z);
      z.next_out = out.data();
      z.avail_out = static_cast<uInt>(out.size());
      const int status = inflate(&z, Z_BLOCK);
      take({out.data(), out.size() - z.avail_out});
      if (status == Z_STREAM_END) {
        if (input_.peek(z, 1).empty()) return "";
        const bool member = file_.kind_ == Compression::gzip && guess_compression(input_.peek(z, 3)) == file_.kind_;
        if (!member) return "unexpected bytes after the compressed data" + place();
        if (block_.size() >= least_) begin_block({file_.size_, input_.consumed(z), 0, false, {}});
        inflateReset(&z);
        continue;
      }
      if (status != Z_OK && status != Z_BUF_ERROR)
        return std::string("damaged compressed data (") + (z.msg ? z.msg : "unknown") + ")" + place();
      if (!more && z.avail_out == out.size()) return "the compressed data is cut short" + place();
      // The end of a deflate block that is not the stream's last (zlib.h, inflate with Z_BLOCK).
      const bool boundary = (z.data_type & 128) != 0 && (z.data_type & 64) == 0;
      if (boundary && block_.size() >= least_)
        begin_block({file_.size_, input_.consumed(z), z.data_type & 7, true, {}});
    }
  }
  void end() { end_block(); }

 private:
  std::string place() const { return " at byte " + std::to_string(input_.consumed(stream_.z)); }
  void take(std::span<const std::uint8_t> bytes) {
    block_.insert(block_.end(), bytes.begin(), bytes.end());
    file_.size_ += bytes.size();
    if (block_.size() > kLargestBlock) {
      throw InflateLimitError("[gzip] " + file_.file_.path() + ": " + std::to_string(kLargestBlock) +
                              " bytes of content without a place at which inflating could begin");
    }
    content_(bytes);
  }
  void begin_block(Point point) {
    if (point.raw) point.window.assign(block_.end() - static_cast<std::ptrdiff_t>(window_bytes()), block_.end());
    end_block();
    file_.points_.push_back(std::move(point));
  }
  std::size_t window_bytes() const { return std::min(kWindow, block_.size()); }
  // Inflated content is kept as long as there is room.
  void end_block() {
    InflatedBlocks& blocks = *file_.blocks_;
    if (blocks.bytes() + block_.size() <= blocks.limit()) {
      block_.shrink_to_fit();
      blocks.keep(file_.id_, file_.points_.size() - 1, std::make_shared<const std::vector<std::uint8_t>>(block_));
    }
    block_.clear();
  }

  InflatedFile& file_;
  const std::function<void(std::span<const std::uint8_t>)>& content_;
  std::size_t least_;
  inflating::Stream stream_;
  inflating::Input input_;
  std::vector<std::uint8_t> block_;  // since the last point
};

InflatedFile::InflatedFile(const std::string& path, Compression kind, std::shared_ptr<InflatedBlocks> blocks,
                           const std::function<void(std::span<const std::uint8_t>)>& content,
                           std::optional<std::string>* damage, std::size_t block)
    : file_(path), kind_(kind), blocks_(std::move(blocks)), id_(blocks_->new_file()) {
  RIDGELINE_CHECK(block >= kWindow, "a block holds the window of the next");
  try {
    Opening opening(*this, content, block);
    const std::string problem = opening.run();
    opening.end();
    if (problem.empty()) return;
    const std::string message = "[gzip] " + path + ": " + problem;
    if (!damage) throw Error(message);
    *damage = message;
  } catch (...) {
    blocks_->forget(id_);
    throw;
  }
}

InflatedFile::~InflatedFile() { blocks_->forget(id_); }

// ---- reading

void InflatedFile::read(std::uint64_t at, std::span<std::uint8_t> into) const {
  RIDGELINE_CHECK(at <= size_ && into.size() <= size_ - at, "a place behind the content");
  auto point = std::upper_bound(points_.begin(), points_.end(), at,
                                [](std::uint64_t byte, const Point& p) { return byte < p.content; });
  for (auto number = static_cast<std::size_t>(point - points_.begin()) - 1; !into.empty(); ++number) {
    const InflatedBlocks::Block bytes = block(number);
    const std::size_t from = static_cast<std::size_t>(at - points_[number].content);
    const std::size_t count = std::min(into.size(), bytes->size() - from);
    std::memcpy(into.data(), bytes->data() + from, count);
    into = into.subspan(count);
    at += count;
  }
}

InflatedBlocks::Block InflatedFile::block(std::size_t number) const {
  if (InflatedBlocks::Block kept = blocks_->find(id_, number)) return kept;
  auto made = std::make_shared<const std::vector<std::uint8_t>>(inflate_block(number));
  blocks_->keep(id_, number, made);
  return made;
}

std::vector<std::uint8_t> InflatedFile::inflate_block(std::size_t number) const {
  const Point& point = points_[number];
  const std::uint64_t end = number + 1 < points_.size() ? points_[number + 1].content : size_;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(end - point.content));
  inflating::Stream stream(point.raw ? kRaw : container(kind_));
  z_stream& z = stream.z;
  inflating::Input input(file_, point.byte - (point.bits > 0 ? 1 : 0));
  const auto changed = [&] { return Error("[gzip] " + file_.path() + ": the file has changed since it was opened"); };
  if (point.bits > 0) {
    if (!input.fill(z)) throw changed();
    inflatePrime(&z, point.bits, *z.next_in >> (8 - point.bits));
    input.skip(z, 1);
  }
  if (point.raw) inflateSetDictionary(&z, point.window.data(), static_cast<uInt>(point.window.size()));
  std::size_t produced = 0;
  bool raw = point.raw;
  while (produced < out.size()) {
    const bool more = input.fill(z);
    const std::size_t room = std::min<std::size_t>(out.size() - produced, std::size_t{1} << 30);
    z.next_out = out.data() + produced;
    z.avail_out = static_cast<uInt>(room);
    const int status = inflate(&z, Z_NO_FLUSH);
    const std::size_t got = room - z.avail_out;
    produced += got;
    if (produced == out.size()) break;  // what comes behind may be damaged
    if (status == Z_STREAM_END) {
      // A stream without its container is followed by the container's end: a checksum and a length.
      if (raw) input.skip(z, 8);
      raw = false;
      RIDGELINE_CHECK(inflateReset2(&z, container(kind_)) == Z_OK, "zlib does not start again");
      if (input.peek(z, 1).empty()) throw changed();
      continue;
    }
    if ((status != Z_OK && status != Z_BUF_ERROR) || (got == 0 && !more)) throw changed();
  }
  return out;
}

}  // namespace ridgeline
