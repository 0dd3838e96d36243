#include "ridgeline/data/source/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/several_files.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/format/record/packed.h"

namespace ridgeline::data {

Dataset Packed(std::vector<std::string> files, std::vector<std::string> columns) {
  return source_dataset("packed", {{"files", std::move(files)}, {"columns", std::move(columns)}});
}

namespace {

struct PackedWork : Record::Work {
  PackedRow row;
};

class PackedSource : public Source {
 public:
  explicit PackedSource(const Node& node) {
    for (const std::string& path : expand_patterns("packed", arg<Texts>(node.args, "files"))) {
      files_.add(PackedFile(path));
      const PackedSchema &first = files_.files()[0].schema(), &last = files_.files().back().schema();
      if (first != last)
        throw Error(fmt::format("[packed] {} has other columns or classes than {}", path, files_.files()[0].path()));
    }
    const Texts& wanted = arg<Texts>(node.args, "columns");
    const PackedSchema& stored = files_.files()[0].schema();
    for (std::size_t i = 0; i < stored.columns.size(); ++i) {
      if (wanted.empty()) columns_.push_back(i);
    }
    for (const std::string& name : wanted) {
      columns_.push_back(stored.column(name));
      if (std::count(wanted.begin(), wanted.end(), name) > 1)
        throw Error(fmt::format("[packed] the column '{}' is wanted twice", name));
    }
    for (const std::size_t i : columns_)
      schema_.push_back({stored.columns[i].name, stored.columns[i].dtype, stored.columns[i].extents});
  }

  std::uint64_t size() const override { return files_.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    PackedRow& row = record.work_as<PackedWork>().row;
    const auto place = files_.at(index);
    place.file->read(place.record, row);
    record.objects.clear();
    record.cells.clear();
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const PackedField& field = row[columns_[k]];
      record.cells.push_back(schema_[k].dtype == DType::bytes
                                 ? bytes_cell(field.bytes.data(), field.bytes.size())
                                 : dense_cell(field.bytes.data(), schema_[k].dtype, field.extents.dims()));
    }
  }
  std::string origin(std::uint64_t index) const override {
    const auto place = files_.at(index);
    const std::string row = fmt::format("[packed] {}: row {}", place.file->path(), place.record);
    if (!place.file->has(place.record)) return row;  // never written, it lies nowhere
    return row + fmt::format(" at byte {}", place.file->offset(place.record));
  }
  std::int64_t num_classes() const override { return static_cast<std::int64_t>(class_names().size()); }
  std::vector<std::string> class_names() const override { return files_.files()[0].schema().class_names; }
  std::uint64_t fingerprint() const override { return fingerprint_of(files_.paths()); }

 private:
  SeveralFiles<PackedFile> files_;
  std::vector<std::size_t> columns_;
  Schema schema_;
};

}  // namespace

SourceEntry packed_source() {
  return {.op = "packed",
          .doc = "Ridgeline's own files of rows, read by memory map (ridgeline dataset pack)",
          .args = {files_arg(), texts_arg("columns", "columns to read; empty: all")},
          .check = check_files,
          .open = open_as<PackedSource>,
          .choose_columns = [](Node& node, Texts wanted) { node.args.at("columns") = std::move(wanted); }};
}

}  // namespace ridgeline::data
