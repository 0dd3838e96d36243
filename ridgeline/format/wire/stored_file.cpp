#include "ridgeline/format/wire/stored_file.h"

#include "ridgeline/core/random_access_file.h"

namespace ridgeline {
namespace {

class LocalFile : public StoredFile {
 public:
  explicit LocalFile(const std::string& path) : file_(path), indexed_(indexed_file(path, file_.size())) {}
  const std::string& path() const override { return file_.path(); }
  std::uint64_t size() const override { return file_.size(); }
  std::size_t read_some(std::uint64_t at, std::span<std::uint8_t> into) const override {
    return file_.read_some(at, into);
  }
  std::string cut_short(std::uint64_t at, std::size_t got) const override { return file_.cut_short(at, got); }
  std::optional<IndexedFile> indexed() const override { return indexed_; }
  std::uint64_t version() const override { return indexed_ ? indexed_->version : 0; }

 private:
  RandomAccessFile file_;
  // Stored now: the index of a file that is replaced meanwhile must not be kept as that of its successor.
  std::optional<IndexedFile> indexed_;
};

}  // namespace

std::unique_ptr<const StoredFile> local_file(const std::string& path) { return std::make_unique<LocalFile>(path); }

}  // namespace ridgeline
