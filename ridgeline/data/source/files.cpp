// Whole files: one record a file, its bytes and its path.
#include "ridgeline/core/file.h"
#include "ridgeline/data/source/known.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/sources.h"

namespace ridgeline::data {
namespace {

class FilesSource : public Source {
 public:
  explicit FilesSource(const Node& node)
      : files_(expand_patterns("files", arg<Texts>(node.args, "files"))), schema_(given_schema(node)) {}

  std::uint64_t size() const override { return files_.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const std::string& path = files_.at(index);
    read_file_into(path, record.storage);
    record.objects.clear();
    record.cells = {bytes_cell(record.storage.data(), record.storage.size()), bytes_cell(path.data(), path.size())};
  }
  std::string origin(std::uint64_t index) const override { return "[files] " + files_.at(index); }
  std::uint64_t fingerprint() const override { return fingerprint_of(files_); }

 private:
  std::vector<std::string> files_;
  Schema schema_;
};

}  // namespace

std::unique_ptr<Source> open_files(const Node& node) { return std::make_unique<FilesSource>(node); }

}  // namespace ridgeline::data
