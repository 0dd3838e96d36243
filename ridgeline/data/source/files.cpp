#include "ridgeline/data/source/files.h"

#include "ridgeline/core/file.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {

Dataset Files(std::vector<std::string> patterns) { return source_dataset("files", {{"files", std::move(patterns)}}); }

namespace {

Schema file_columns() { return {encoded_image(), {"path", DType::bytes, Shape{}}}; }

class FilesSource : public Source {
 public:
  explicit FilesSource(const Node& node)
      : files_(expand_patterns("files", arg<Texts>(node.args, "files"))), schema_(file_columns()) {}

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

SourceEntry files_source() {
  return {.op = "files",
          .doc = "whole files: the columns image (their bytes) and path",
          .args = {files_arg()},
          .check = check_files,
          .open = open_as<FilesSource>,
          .columns = [](const Node&) { return std::optional(file_columns()); },
          .classes = [](const Node&) { return std::optional(SourceClasses{}); }};
}

}  // namespace ridgeline::data
