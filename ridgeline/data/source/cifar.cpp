#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/data/source/known.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/several_files.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/format/cifar.h"
#include "ridgeline/format/class_names.h"

namespace ridgeline::data {
namespace {

class CifarSource : public Source {
 public:
  explicit CifarSource(const Node& node)
      : hundred_(arg<std::string>(node.args, "kind") == "cifar100"),
        coarse_(arg<bool>(node.args, "coarse")),
        schema_(given_schema(node)) {
    const CifarKind kind = hundred_ ? CifarKind::cifar100 : CifarKind::cifar10;
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

}  // namespace

std::unique_ptr<Source> open_cifar(const Node& node) { return std::make_unique<CifarSource>(node); }

}  // namespace ridgeline::data
