#include "ridgeline/data/tool/items.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/source/class_folders.h"
#include "ridgeline/data/source/walk_folder.h"
#include "ridgeline/data/tool/picture_extents.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return extension;
}

std::string below(const std::string& path, const std::string& root) {
  const fs::path relative = fs::path(path).lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

bool named_as_image(const std::string& path) {
  const std::vector<std::string>& known = image_extensions();
  return std::find(known.begin(), known.end(), lower_extension(path)) != known.end();
}

class FileItems : public Items {
 public:
  FileItems(const DataPart& part, std::string root) : root_(std::move(root)) {
    if (part.layout == Layout::loose_files) {
      list(part.dir, part.dir, -1, false);
      return;
    }
    walk_folder(part.dir, part.dir, false, [&](const FolderEntry& entry) {
      const std::string name = fs::path(entry.path).filename().string();
      if (name.starts_with('.')) return;
      switch (entry.kind) {
        case FolderEntry::Kind::folder: class_names.push_back(name); break;
        case FolderEntry::Kind::file: pass_over(entry.path); break;
        default: faults.push_back({below(entry.path, root_), entry.problem});
      }
    });
    std::sort(class_names.begin(), class_names.end());
    for (std::size_t label = 0; label < class_names.size(); ++label) {
      const std::size_t before = found_.size();
      const std::string dir = (fs::path(part.dir) / class_names[label]).string();
      list(dir, part.dir, static_cast<std::int32_t>(label), true);
      if (found_.size() == before) faults.push_back({below(dir, root_) + "/", "no images in class folder"});
    }
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(found_.size()); }
  void read(std::int64_t index, Item& item) const override {
    const Found& found = found_[static_cast<std::size_t>(index)];
    item = Item{};
    if (found.label >= 0) item.label = found.label;
    item.extension = lower_extension(found.path);
    read_file_into(found.path, item.storage);
    item.bytes = {reinterpret_cast<const std::uint8_t*>(item.storage.data()), item.storage.size()};
  }
  std::string place(std::int64_t index) const override {
    return below(found_[static_cast<std::size_t>(index)].path, root_);
  }

 private:
  struct Found {
    std::string path;
    std::int32_t label;
  };

  // As list_class_folders does, but what cannot be listed is a fault and no end, and so is what has an image's name and
  // is none: training passes over it without a word.
  void list(const std::string& dir, const std::string& within, std::int32_t label, bool recursive) {
    std::vector<std::string> paths;
    const std::size_t before = faults.size();
    walk_folder(dir, within, recursive, [&](const FolderEntry& entry) {
      using Kind = FolderEntry::Kind;
      const std::string place = below(entry.path, root_);
      if (entry.kind == Kind::closed) faults.push_back({place + "/", entry.problem});
      if (entry.kind == Kind::closed || fs::path(entry.path).filename().string().starts_with('.')) return;
      const bool image = named_as_image(entry.path);
      if (image && entry.kind == Kind::file) {
        paths.push_back(entry.path);
      } else if (image && entry.kind == Kind::folder) {
        faults.push_back({place + "/", "is a folder with the name of an image"});
      } else if (image) {
        faults.push_back({place, entry.problem});
      } else if (entry.kind != Kind::folder) {
        pass_over(entry.path);
      }
    });
    std::sort(faults.begin() + static_cast<std::ptrdiff_t>(before), faults.end(),
              [](const ListingFault& a, const ListingFault& b) { return a.place < b.place; });
    std::sort(paths.begin(), paths.end());
    files += static_cast<std::int64_t>(paths.size());
    for (std::string& path : paths) found_.push_back({std::move(path), label});
  }

  void pass_over(const fs::path& path) {
    std::string place = below(path.string(), root_);
    if (not_read++ == 0 || place < not_read_example) not_read_example = std::move(place);
  }

  std::string root_;
  std::vector<Found> found_;
};

// Rows of several files, one after the other.
template <class File>
class ShardItems : public Items {
 public:
  std::int64_t size() const override { return starts_.back(); }

 protected:
  void add(File file) {
    starts_.push_back(starts_.back() + static_cast<std::int64_t>(file.size()));
    if (file.size() > 0) file_ends.push_back(starts_.back());
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
    if (example.has("image/class/label")) item.label = example.one_int64("image/class/label");
    if (const auto* text = example.find("image/class/text"); text && text->kind == FeatureKind::bytes)
      item.class_name = std::string(example.one_bytes("image/class/text"));
    const std::string_view bytes = example.one_bytes("image/encoded");
    item.bytes = {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  }
  std::string place(std::int64_t index) const override {
    const auto [file, record] = at(index);
    return fmt::format("{}: record {} at byte {}", name_of(file->path()), record, file->offset(record));
  }
};

// What a header would say of an image that is stored as numbers.
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

}  // namespace

std::unique_ptr<Items> list_items(const DataPart& part, const std::string& root) {
  switch (part.layout) {
    case Layout::class_folders:
    case Layout::loose_files: return std::make_unique<FileItems>(part, root);
    case Layout::records: return std::make_unique<RecordItems>(part);
    case Layout::packed: return std::make_unique<PackedItems>(part);
  }
  throw InternalError("a layout without items");
}

}  // namespace ridgeline::data
