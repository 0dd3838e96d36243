#include "ridgeline/data/tool/items.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/record_keys.h"
#include "ridgeline/data/source/source.h"
#include "ridgeline/data/source/tar.h"
#include "ridgeline/data/standard/archive_classes.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/data/tool/picture_extents.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/tar_samples.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

class FileItems : public Items {
 public:
  FileItems(const DataPart& part, std::string root) : root_(std::move(root)), found_(part.folders) {
    files = static_cast<std::int64_t>(found_->files.size());
    class_names = found_->classes;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(found_->files.size()); }
  void read(std::int64_t index, Item& item) const override {
    const ClassFolders::File& found = found_->files[static_cast<std::size_t>(index)];
    item = Item{};
    if (found.label >= 0) item.label = found.label;
    item.extension = ending_of(found.path);
    read_file_into(found.path, item.storage);
    item.bytes = {reinterpret_cast<const std::uint8_t*>(item.storage.data()), item.storage.size()};
  }
  std::string place(std::int64_t index) const override {
    return place_below(found_->files[static_cast<std::size_t>(index)].path, root_);
  }

 private:
  std::string root_;
  std::shared_ptr<const ClassFolders> found_;
};

// Rows of several files, one after the other.
template <class File>
class ShardItems : public Items {
 public:
  std::int64_t size() const override { return starts_.back(); }

 protected:
  void add(File file) {
    starts_.push_back(starts_.back() + static_cast<std::int64_t>(file.size()));
    files_.push_back(std::move(file));
    ++files;
  }
  std::pair<const File*, std::size_t> at(std::int64_t index) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
    const auto file = static_cast<std::size_t>(after - starts_.begin()) - 1;
    return {&files_[file], static_cast<std::size_t>(index - starts_[file])};
  }
  static std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

 private:
  std::vector<File> files_;
  std::vector<std::int64_t> starts_{0};
};

class RecordItems : public ShardItems<TFRecordFile> {
 public:
  explicit RecordItems(const DataPart& part) {
    for (const std::string& path : part.files) {
      try {
        TFRecordFile file(path, {.keep_readable_prefix = true});
        if (const std::optional<TFRecordDamage>& damage = file.damage(); damage)
          faults.push_back({name_of(path), damage->message});
        add(std::move(file));
      } catch (const Error& e) {
        faults.push_back({name_of(path), e.what()});
      }
    }
  }
  void read(std::int64_t index, Item& item) const override {
    const auto [file, record] = at(index);
    item = Item{};
    std::string fault;
    const auto data = file->record(record, item.storage, fault);
    if (!data) throw Error(fault);
    const Example example(*data);
    const RecordKeys& keys = keys_of(example);
    item.from_zero = keys.from_zero;
    if (example.has(keys.label)) item.label = example.one_int64(keys.label);
    if (const auto* text = example.find("image/class/text"); text && text->kind == FeatureKind::bytes)
      item.class_name = std::string(example.one_bytes("image/class/text"));
    const std::string_view bytes = example.one_bytes(keys.image);
    item.bytes = {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  }
  std::string place(std::int64_t index) const override {
    const auto [file, record] = at(index);
    return fmt::format("{}: record {} at byte {}", name_of(file->path()), record, file->offset(record));
  }
};

// The header of an image that is stored as numbers.
image::Header header_of(const Shape& extents) {
  const std::optional<PictureExtents> picture = picture_extents(extents);
  if (!picture)
    throw Error("the column 'image' is " + extents.to_string() + ", which is no picture of 1 or 3 channels");
  return {.format = image::Format::other,
          .height = static_cast<int>(picture->height),
          .width = static_cast<int>(picture->width),
          .components = static_cast<int>(picture->channels)};
}

class PackedItems : public ShardItems<PackedFile> {
 public:
  explicit PackedItems(const DataPart& part) {
    for (const std::string& path : part.files) {
      try {
        PackedFile file(path);
        file.schema().column(kImageColumn);
        if (class_names.empty()) class_names = file.schema().class_names;
        add(std::move(file));
      } catch (const Error& e) {
        faults.push_back({name_of(path), e.what()});
      }
    }
  }
  void read(std::int64_t index, Item& item) const override {
    const auto [file, row] = at(index);
    item = Item{};
    const PackedRow columns = file->row(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const PackedColumn& column = file->schema().columns[i];
      const PackedField& field = columns[i];
      if (column.name == kLabelColumn && column.dtype == DType::i32 && column.extents.rank() == 0) {
        std::int32_t label = 0;
        std::memcpy(&label, field.bytes.data(), sizeof label);
        item.label = label;
      }
      if (column.name != kImageColumn) continue;
      item.storage.assign(reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size());
      item.bytes = {reinterpret_cast<const std::uint8_t*>(item.storage.data()), item.storage.size()};
      if (column.dtype != DType::bytes) item.pixels = header_of(field.extents);
    }
  }
  std::string place(std::int64_t index) const override {
    const auto [file, row] = at(index);
    return fmt::format("{}: row {}", name_of(file->path()), row);
  }
};

// Samples of tar archives, as training reads them.
class ArchiveItems : public Items {
 public:
  explicit ArchiveItems(const DataPart& part) {
    std::vector<std::string> readable;
    for (const std::string& path : part.files) {
      try {
        const TarSamples samples(path, {.index_cache_directory = index_directory(path)});
        if (samples.size() == 0) throw Error("it holds no samples");
        readable.push_back(path);
      } catch (const Error& e) {
        faults.push_back({fs::path(path).filename().string(), e.what()});
      }
    }
    bound_index_directory();
    files = static_cast<std::int64_t>(readable.size());
    if (readable.empty()) return;
    TarOptions options{.label = ""};
    try {
      const std::string label = archive_label_field(readable, "auto");
      options.class_names = class_names = find_archive_classes(readable, label).names;
      options.label = label;
      labelled_ = true;
    } catch (const Error& e) {
      faults.push_back({part.place, e.what()});
    }
    dataset_ = Tar(readable, options);
    source_ = &source_of(*sources_of(dataset_->graph()).front());
  }
  std::int64_t size() const override { return source_ ? static_cast<std::int64_t>(source_->size()) : 0; }
  void read(std::int64_t index, Item& item) const override {
    item = Item{};
    Record record;
    const auto at = static_cast<std::size_t>(index);
    if (labelled_) item.label = source_->label_of(at);
    source_->read(at, record);
    item.storage.assign(reinterpret_cast<const char*>(record.cells[0].data), record.cells[0].bytes);
    item.bytes = {reinterpret_cast<const std::uint8_t*>(item.storage.data()), item.storage.size()};
  }
  std::string place(std::int64_t index) const override { return source_->origin(static_cast<std::size_t>(index)); }

 private:
  std::optional<Dataset> dataset_;
  const Source* source_ = nullptr;  // the dataset's
  bool labelled_ = false;
};

}  // namespace

std::unique_ptr<Items> list_items(const DataPart& part, const std::string& root) {
  const auto list = [&]() -> std::unique_ptr<Items> {
    switch (part.layout) {
      case Layout::class_folders:
      case Layout::loose_files: return std::make_unique<FileItems>(part, root);
      case Layout::records: return std::make_unique<RecordItems>(part);
      case Layout::packed: return std::make_unique<PackedItems>(part);
      case Layout::archives: return std::make_unique<ArchiveItems>(part);
    }
    throw InternalError("a layout without items");
  };
  std::unique_ptr<Items> items = list();
  items->faults.insert(items->faults.begin(), part.faults.begin(), part.faults.end());
  for (const auto& [ending, count] : part.other_files) items->not_read += count;
  items->not_read_example = part.first_other_file;
  return items;
}

}  // namespace ridgeline::data
