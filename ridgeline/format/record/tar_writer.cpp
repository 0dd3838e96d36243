#include <algorithm>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/error.h"
#include "ridgeline/format/record/tar.h"
#include "ridgeline/format/record/tar_header.h"

namespace ridgeline {
namespace {

constexpr std::uint64_t kRecord = 20 * kTarBlock;  // archives are padded to whole records, as tar programs write them

}  // namespace

struct TarWriter::State {
  explicit State(const std::string& path) : file(path) {}

  void write(std::string_view bytes) {
    file.write(bytes.data(), bytes.size());
    written += bytes.size();
  }
  // Zeros up to the next multiple of `to`.
  void pad(std::uint64_t to) { write(std::string(static_cast<std::size_t>((to - written % to) % to), '\0')); }
  void entry(std::string_view header, std::string_view content) {
    write(header);
    write(content);
    pad(kTarBlock);
  }

  AtomicFile file;
  std::uint64_t written = 0;
};

TarWriter::TarWriter(const std::string& path) : state_(std::make_unique<State>(path)) {}
TarWriter::~TarWriter() = default;
TarWriter::TarWriter(TarWriter&&) noexcept = default;
TarWriter& TarWriter::operator=(TarWriter&&) noexcept = default;

void TarWriter::add(std::string_view name, std::string_view content) {
  RIDGELINE_CHECK(state_ != nullptr, "add() comes before finish()");
  if (name.empty() || name.ends_with('/') || name.find('\0') != std::string_view::npos) {
    throw Error("[tar] " + state_->file.path() + ": '" + std::string(name.substr(0, name.find('\0'))) +
                "' is no name of a member (empty, with NUL or '/' at its end)");
  }
  std::string records;
  std::string_view short_name = name;
  std::uint64_t size = content.size();
  if (!tar_name_fits(name)) {
    records += pax_record("path", name);
    short_name = name.substr(0, 100);
    // For readers without pax support; it must not look like a directory.
    while (short_name.ends_with('/')) short_name.remove_suffix(1);
    if (short_name.empty()) short_name = "member";
  }
  if (size > kTarSizeLimit) {
    records += pax_record("size", std::to_string(size));
    size = 0;
  }
  if (!records.empty()) state_->entry(make_tar_header("pax_header", records.size(), 'x'), records);
  state_->entry(make_tar_header(short_name, size, '0'), content);
}

void TarWriter::add(std::string_view name, std::span<const std::uint8_t> content) {
  add(name, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

void TarWriter::finish() {
  RIDGELINE_CHECK(state_ != nullptr, "finish() is called once");
  state_->write(std::string(2 * kTarBlock, '\0'));
  state_->pad(kRecord);
  state_->file.commit();
  state_.reset();
}

}  // namespace ridgeline
