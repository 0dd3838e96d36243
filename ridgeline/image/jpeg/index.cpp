#include "ridgeline/image/jpeg/index.h"

#include <algorithm>

namespace ridgeline::image {
namespace {

// "RJI" and the version of the layout.
constexpr std::array<std::uint8_t, 4> kMagic = {'R', 'J', 'I', 1};
constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 26;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;  // 2^64 over the golden ratio
  return hash ^ hash >> 29;
}

// 8 bytes, the first the lowest.
std::uint64_t load_word(const std::uint8_t* p) {
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= std::uint64_t{p[i]} << (8 * i);
  return word;
}

void put_number(std::vector<std::uint8_t>& out, std::uint64_t value) {  // 7 bits a byte, low ones first
  for (; value >= 128; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 128));
  out.push_back(static_cast<std::uint8_t>(value));
}

std::uint64_t fold(std::int64_t v) { return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63); }
std::int64_t unfold(std::uint64_t v) { return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1); }

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      const std::uint64_t byte = next();
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    good_ = false;
    return 0;
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 8) value |= std::uint64_t{next()} << shift;
    return value;
  }
  std::uint8_t next() {
    if (at_ < bytes_.size()) return bytes_[at_++];
    good_ = false;
    return 0;
  }
  bool good() const { return good_; }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::vector<std::uint8_t> JpegIndex::serialize() const {
  std::vector<std::uint8_t> out(kMagic.begin(), kMagic.end());
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<std::uint8_t>(fingerprint_ >> shift));
  put_number(out, static_cast<std::uint64_t>(columns_));
  put_number(out, static_cast<std::uint64_t>(known_rows_));
  Entry before;
  for (const Entry& entry : entries_) {
    const auto bits = [](const Entry& e) { return static_cast<std::int64_t>(e.byte) * 8 + e.bit; };
    put_number(out, fold(bits(entry) - bits(before)));
    for (std::size_t c = 0; c < 3; ++c) put_number(out, fold(entry.dc[c] - before.dc[c]));
    before = entry;
  }
  return out;
}

std::optional<JpegIndex> JpegIndex::parse(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) return {};
  Reader reader(bytes.subspan(kMagic.size()));
  JpegIndex index;
  index.fingerprint_ = reader.word();
  const std::uint64_t columns = reader.number(), rows = reader.number();
  if (!reader.good() || columns > kMaxEntries || rows > kMaxEntries || columns * rows > reader.left() / 4) return {};
  index.columns_ = static_cast<int>(columns);
  index.known_rows_ = static_cast<int>(rows);
  index.entries_.resize(columns * rows);
  std::int64_t bits = 0;
  std::array<std::int64_t, 3> dc{};
  for (Entry& entry : index.entries_) {
    bits += unfold(reader.number());
    if (bits < 0 || bits >> 35 != 0) return {};
    entry.byte = static_cast<std::uint32_t>(bits >> 3);
    entry.bit = static_cast<std::uint8_t>(bits & 7);
    for (std::size_t c = 0; c < 3; ++c) {
      dc[c] += unfold(reader.number());
      if (dc[c] != static_cast<std::int16_t>(dc[c])) return {};
      entry.dc[c] = static_cast<std::int16_t>(dc[c]);
    }
  }
  if (!reader.good() || reader.left() != 0) return {};
  return index;
}

std::uint64_t jpeg_fingerprint(std::span<const std::uint8_t> bytes, std::size_t scan_begin) {
  std::uint64_t hash = mix(bytes.size(), scan_begin);
  const std::size_t header = std::min(scan_begin, bytes.size());
  // Four chains: each step waits for the one before, and a header with a thumbnail is long.
  std::array<std::uint64_t, 4> chain = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 32 <= header; at += 32) {
    for (std::size_t i = 0; i < 4; ++i) chain[i] = mix(chain[i], load_word(bytes.data() + at + 8 * i));
  }
  for (std::uint64_t part : chain) hash = mix(hash, part);
  for (; at < header; ++at) hash = mix(hash, bytes[at]);
  // Up to 64 samples: a scan of another picture with this very header and length differs in nearly all of them.
  const std::size_t scan = bytes.size() - header, stride = std::max<std::size_t>(8, scan / 64);
  for (at = header; at + 8 <= bytes.size(); at += stride) hash = mix(hash, load_word(bytes.data() + at));
  return hash;
}

}  // namespace ridgeline::image
