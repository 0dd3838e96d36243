#include "ridgeline/data/source/cifar.h"

#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/data/set/cifar.h"
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/several_files.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {

Dataset Cifar(std::vector<std::string> files, CifarKind kind) {
  return source_dataset("cifar", {{"files", std::move(files)},
                                  {"kind", std::string(kind == CifarKind::cifar10 ? "cifar10" : "cifar100")},
                                  {"coarse", kind == CifarKind::cifar100_coarse}});
}

Schema cifar_columns() { return {{kImageColumn, DType::u8, Shape{kCifarSide, kCifarSide, 3}}, class_label()}; }

namespace {

class CifarSource : public Source {
 public:
  explicit CifarSource(const Node& node)
      : hundred_(arg<std::string>(node.args, "kind") == "cifar100"),
        coarse_(arg<bool>(node.args, "coarse")),
        schema_(cifar_columns()) {
    const auto kind = hundred_ ? ridgeline::CifarKind::cifar100 : ridgeline::CifarKind::cifar10;
    for (const std::string& path : expand_patterns("cifar", arg<Texts>(node.args, "files")))
      files_.add(CifarFile(path, kind));
    const std::string directory = std::filesystem::path(files_.files()[0].path()).parent_path().string();
    names_ = coarse_ ? cifar_coarse_names(directory) : cifar_class_names(directory, kind);
    if (names_.empty()) names_ = known_class_names(coarse_ ? "cifar100_coarse" : hundred_ ? "cifar100" : "cifar10");
  }

  std::uint64_t size() const override { return files_.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const auto place = files_.at(index);
    record.objects.clear();
    record.label = label(place);
    record.storage.resize(kCifarImageBytes);
    place.file->read(place.record, {reinterpret_cast<std::uint8_t*>(record.storage.data()), kCifarImageBytes});
    record.cells = {dense_cell(record.storage.data(), DType::u8, schema_[0].shape.dims()),
                    dense_cell(&record.label, DType::i32, {})};
  }
  std::string origin(std::uint64_t index) const override {
    const auto place = files_.at(index);
    return fmt::format("[cifar] {}: record {} at byte {}", place.file->path(), place.record,
                       place.record * place.file->record_bytes());
  }
  std::int64_t label_of(std::uint64_t index) const override { return label(files_.at(index)); }
  std::int64_t num_classes() const override { return !hundred_ ? 10 : coarse_ ? 20 : 100; }
  std::vector<std::string> class_names() const override { return names_; }
  std::uint64_t fingerprint() const override { return fingerprint_of(files_.paths()); }

 private:
  std::int32_t label(const SeveralFiles<CifarFile>::Place& place) const {
    return coarse_ ? place.file->coarse_label(place.record) : place.file->label(place.record);
  }
  bool hundred_, coarse_;
  Schema schema_;
  SeveralFiles<CifarFile> files_;
  std::vector<std::string> names_;
};

void check_cifar(const Node& node) {
  check_files(node);
  if (arg<bool>(node.args, "coarse") && arg<std::string>(node.args, "kind") == "cifar10")
    throw Error("[cifar] CIFAR-10 has no coarse classes");
}

}  // namespace

SourceEntry cifar_source() {
  return {.op = "cifar",
          .doc = "the binary files of CIFAR-10 and CIFAR-100",
          .args = {files_arg(),
                   {.name = "kind",
                    .type = ArgType::text,
                    .doc = "layout of the records",
                    .fallback = std::string("cifar10"),
                    .allowed = {"cifar10", "cifar100"}},
                   flag_arg("coarse", "the 20 superclasses of CIFAR-100 instead of its classes", false)},
          .check = check_cifar,
          .open = open_as<CifarSource>,
          .columns = [](const Node&) { return std::optional(cifar_columns()); }};
}

}  // namespace ridgeline::data
