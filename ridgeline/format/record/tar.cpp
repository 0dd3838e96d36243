#include "ridgeline/format/record/tar.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/lfs_pointer.h"
#include "ridgeline/format/record/tar_header.h"
#include "ridgeline/format/remote/http_file.h"
#include "ridgeline/format/remote/url.h"
#include "ridgeline/format/wire/index_cache.h"

namespace ridgeline {
namespace {

// Payload: u64 count of members, the members (4 u64 each), their names one after the other.
constexpr IndexKind kIndex{"RDGTAR01", ".tar-index"};

// What follows the end of an archive is read in such pieces.
constexpr std::uint64_t kEndPiece = 1 << 20;

// Members that lie no further apart are read with one request.
constexpr std::uint64_t kGap = 64 << 10;

// Names and pax records longer than this are no names.
constexpr std::uint64_t kExtendedLimit = 1 << 20;

// The container of a file that is no tar archive, by its first bytes; "" if it is none that we know.
std::string_view compression_name(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\x1f\x8b"sv)) return "gzip";
  if (text.starts_with("\x28\xb5\x2f\xfd"sv)) return "zstd";
  if (text.starts_with("BZh"sv)) return "bzip2";
  if (text.starts_with("\xfd\x37zXZ"sv)) return "xz";
  if (text.starts_with("\x04\x22\x4d\x18"sv)) return "lz4";
  return text.starts_with("\x1f\x9d"sv) ? "compress" : "";
}

std::unique_ptr<const StoredFile> open_stored(const std::string& path, const std::shared_ptr<HttpClient>& http) {
  if (!is_url(path)) return local_file(path);
  return std::make_unique<HttpFile>(path, http ? http : std::make_shared<HttpClient>());
}

std::uint64_t blocks(std::uint64_t bytes) { return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock; }

}  // namespace

TarFile::TarFile(const std::string& path, const TarOptions& options) : file_(open_stored(path, options.http)) {
  const bool cache = !options.index_cache_directory.empty();
  if (cache && load_index(options.index_cache_directory)) {
    index_was_cached_ = true;
    return;
  }
  build_index(options);
  // An archive without its end is not remembered: with another option it is an Error.
  if (cache && !options.allow_missing_end) store_index(options.index_cache_directory);
}

void TarFile::fail(std::uint64_t header, const std::string& problem) const {
  throw Error("[tar] " + path() + ": header at byte " + std::to_string(header) + " " + problem);
}

// What GNU's 'L' and pax headers say about the member behind them.
struct TarFile::Announced {
  std::string name;  // "": nothing
  std::optional<std::uint64_t> size;
  bool any() const { return !name.empty() || size.has_value(); }
};

void TarFile::build_index(const TarOptions& options) {
  const std::uint64_t file_bytes = file_->size();
  Announced announced;
  Ahead ahead;
  std::uint64_t at = 0;
  while (true) {
    if (at == file_bytes) {
      if (announced.any()) fail(at, "is missing: the file ends behind an extended header");
      if (options.allow_missing_end) return;
      fail(at, "is missing: the file ends without the two blocks of zeros that mark the end; members may be missing");
    }
    const std::string block = checked_block(at, ahead);
    if (is_zero_block(as_bytes(block))) {
      if (announced.any()) fail(at, "is zero, behind an extended header");
      check_end(at, ahead);
      return;
    }
    TarHeader header;
    try {
      header = parse_tar_header(as_bytes(block));
    } catch (const Error& e) {
      fail(at, e.what());
    }
    const bool extended = header.type == 'L' || header.type == 'K' || header.type == 'x' || header.type == 'g';
    if (!extended && !announced.name.empty()) header.name = announced.name;
    if (!extended && announced.size) header.size = *announced.size;
    // Directories, links and devices may give a size, but no data follows.
    const std::uint64_t data = header.type >= '1' && header.type <= '6' ? 0 : header.size;
    const std::uint64_t left = file_bytes - at - kTarBlock;
    if (data > left) {
      fail(at, "(" + header.name + ") is cut short: it has " + std::to_string(data) +
                   " bytes of data, the file ends after " + std::to_string(left));
    }
    if (extended) {
      read_extended(at, header, announced, ahead);
    } else {
      if (header.type == 'S') fail(at, "(" + header.name + ") is a sparse member, which is not supported");
      if (header.type == '0' && !header.name.ends_with('/')) {
        if (header.name.empty()) fail(at, "has no name");
        members_.push_back({at, header.size, names_.size(), header.name.size()});
        names_ += header.name;
      }
      announced = {};
    }
    // The padding of the last member may be all that is missing: then so is the end.
    at = std::min(at + kTarBlock + blocks(data), file_bytes);
  }
}

// What the file has from byte `at` on, `most` bytes at most.
std::string TarFile::bytes_at(std::uint64_t at, std::uint64_t most, Ahead& ahead) const {
  const auto read = [&](std::uint64_t bytes) {
    std::string text(static_cast<std::size_t>(std::min(bytes, file_->size() - at)), '\0');
    const std::size_t got = file_->read_some(at, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    if (got < text.size()) throw Error("cannot read " + path() + ": " + file_->cut_short(at, got));
    return text;
  };
  const std::uint64_t piece = file_->read_ahead();
  if (most >= piece) return read(most);
  const std::uint64_t end = std::min(at + most, file_->size());
  if (at < ahead.at || end > ahead.at + ahead.bytes.size()) ahead = {at, read(piece)};
  return ahead.bytes.substr(static_cast<std::size_t>(at - ahead.at), static_cast<std::size_t>(end - at));
}

// The block at `at`: zeros, or a header whose checksum holds.
std::string TarFile::checked_block(std::uint64_t at, Ahead& ahead) const {
  std::string block = bytes_at(at, kTarBlock, ahead);
  if (block.size() == kTarBlock && (is_zero_block(as_bytes(block)) || tar_checksum_holds(as_bytes(block))))
    return block;
  const std::string_view packed = at == 0 ? compression_name(block) : std::string_view();
  if (!packed.empty()) {
    throw Error("[tar] " + path() + ": the file is " + std::string(packed) +
                "-compressed; unpack it first, a compressed archive has no random access");
  }
  if (at == 0 && is_lfs_pointer(as_bytes(block))) throw Error("[tar] " + path() + ": " + kLfsPointerText);
  if (block.size() < kTarBlock)
    fail(at, "is cut short: " + std::to_string(block.size()) + " bytes are left, it has 512");
  fail(at, std::string("has a wrong checksum") + (at == 0 ? "; is this a tar archive?" : ""));
}

void TarFile::read_extended(std::uint64_t at, const TarHeader& header, Announced& announced, Ahead& ahead) const {
  if (header.size > kExtendedLimit) fail(at, "(" + header.name + ") is an extended header of more than 1 MiB");
  if (header.type == 'K') return;  // the long target of a link
  const std::string data = bytes_at(at + kTarBlock, header.size, ahead);
  const std::string_view text = data;
  if (header.type == 'L') {
    announced.name = text.substr(0, text.find('\0'));
    if (announced.name.empty()) fail(at, "gives an empty long name");
    return;
  }
  PaxRecords records;
  try {
    records = parse_pax(text);
  } catch (const Error& e) {
    fail(at, "(" + header.name + "): " + e.what());
  }
  if (header.type == 'g' && (records.path || records.size)) fail(at, "gives one path or size to all members");
  if (records.sparse) fail(at, "announces a sparse member, which is not supported");
  if (records.path) announced.name = *records.path;
  if (records.size) announced.size = records.size;
}

// The end of the archive begins at `at` with a block of zeros. Another must follow, and nothing else.
void TarFile::check_end(std::uint64_t at, Ahead& ahead) const {
  const std::uint64_t left = file_->size() - at;
  if (left < 2 * kTarBlock) {
    fail(at, "begins the end of the archive, which is cut short: two blocks of zeros are 1024 bytes, " +
                 std::to_string(left) + " are left");
  }
  for (std::uint64_t from = at; from < file_->size(); from += kEndPiece) {
    const std::string rest = bytes_at(from, kEndPiece, ahead);
    if (const std::size_t more = rest.find_first_not_of('\0'); more != std::string::npos) {
      fail(at, "ends the archive, but there is more data at byte " + std::to_string(from + more) +
                   " (archives written one after the other?)");
    }
  }
}

const TarFile::Member& TarFile::at(std::size_t i) const {
  RIDGELINE_CHECK(i < members_.size(), "member number out of range");
  return members_[i];
}

std::string_view TarFile::name(std::size_t i) const {
  const Member& m = at(i);
  return std::string_view(names_).substr(static_cast<std::size_t>(m.name_at), static_cast<std::size_t>(m.name_bytes));
}

void TarFile::read_run(std::uint64_t at, std::span<std::uint8_t> into, std::size_t first_member) const {
  if (const std::size_t got = file_->read_some(at, into); got < into.size())
    fail(at, "of " + std::string(name(first_member)) + " cannot be read: " + file_->cut_short(at, got));
}

// The header held when the index was made; the index may come from a cache, and the file may have been changed since.
void TarFile::check_member(std::size_t i, std::span<const std::uint8_t> header) const {
  if (tar_checksum_holds(header)) return;
  fail(at(i).header, "of " + std::string(name(i)) + " is not where the " + (index_was_cached_ ? "cached " : "") +
                         "index says: the file has changed");
}

std::span<const std::uint8_t> TarFile::member(std::size_t i, std::string& storage) const {
  const Member& m = at(i);
  storage.resize(static_cast<std::size_t>(kTarBlock + m.bytes));
  const std::span bytes(reinterpret_cast<std::uint8_t*>(storage.data()), storage.size());
  read_run(m.header, bytes, i);
  check_member(i, bytes.first(kTarBlock));
  return bytes.subspan(kTarBlock);
}

void TarFile::members(std::span<const std::size_t> wanted, std::string& storage,
                      std::vector<std::span<const std::uint8_t>>& contents) const {
  struct Run {
    std::size_t first_member;
    std::uint64_t begin, end;  // in the file
    std::uint64_t place;       // in `storage`
  };
  std::vector<std::size_t> order(wanted.begin(), wanted.end());
  std::sort(order.begin(), order.end());
  std::vector<Run> runs;
  std::uint64_t total = 0;
  for (const std::size_t i : order) {
    const Member& m = at(i);
    const std::uint64_t end = m.header + kTarBlock + m.bytes;
    if (runs.empty() || m.header > runs.back().end + kGap) {
      runs.push_back({i, m.header, end, total});
      total += end - m.header;
    } else if (end > runs.back().end) {  // else a member that is wanted twice
      total += end - runs.back().end;
      runs.back().end = end;
    }
  }
  storage.resize(static_cast<std::size_t>(total));
  auto* bytes = reinterpret_cast<std::uint8_t*>(storage.data());
  for (const Run& run : runs)
    read_run(run.begin, {bytes + run.place, static_cast<std::size_t>(run.end - run.begin)}, run.first_member);
  contents.clear();
  for (const std::size_t i : wanted) {
    const Member& m = at(i);
    const auto run =
        std::prev(std::find_if(runs.begin(), runs.end(), [&](const Run& r) { return r.begin > m.header; }));
    const std::uint8_t* header = bytes + run->place + (m.header - run->begin);
    check_member(i, {header, kTarBlock});
    contents.emplace_back(header + kTarBlock, static_cast<std::size_t>(m.bytes));
  }
}

bool TarFile::load_index(const std::string& directory) {
  const std::uint64_t file_bytes = file_->size();
  const auto payload = load_index_cache(directory, file_->indexed(), kIndex);
  std::uint64_t count = 0;
  if (!payload || payload->size() < sizeof(count)) return false;
  std::memcpy(&count, payload->data(), sizeof(count));
  if (count > (payload->size() - sizeof(count)) / sizeof(Member)) return false;
  std::vector<Member> members(static_cast<std::size_t>(count));
  const std::size_t list = members.size() * sizeof(Member);
  if (list > 0) std::memcpy(members.data(), payload->data() + sizeof(count), list);
  std::string names = payload->substr(sizeof(count) + list);
  for (const Member& m : members) {
    if (m.header > file_bytes || file_bytes - m.header < kTarBlock || m.bytes > file_bytes - m.header - kTarBlock ||
        m.name_at > names.size() || m.name_bytes > names.size() - m.name_at) {
      return false;
    }
  }
  members_ = std::move(members);
  names_ = std::move(names);
  return true;
}

void TarFile::store_index(const std::string& directory) const {
  const std::uint64_t count = members_.size();
  std::string payload(reinterpret_cast<const char*>(&count), sizeof(count));
  payload.append(reinterpret_cast<const char*>(members_.data()), members_.size() * sizeof(Member));
  payload += names_;
  store_index_cache(directory, file_->indexed(), kIndex, payload);
}

}  // namespace ridgeline
