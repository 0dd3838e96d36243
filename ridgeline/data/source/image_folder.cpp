#include "ridgeline/data/source/image_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/file.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {

namespace {

Args args_of(const std::string& dir, ImageFolderOptions options) {
  return {{"dir", dir},
          {"extensions", std::move(options.extensions)},
          {"recursive", options.recursive},
          {"classes", std::move(options.classes)},
          {"labels", std::move(options.labels)}};
}

Schema folder_columns() { return {encoded_image(), class_label()}; }

std::optional<SourceClasses> folder_classes_of(const Node& node) {
  const Texts& classes = arg<Texts>(node.args, "classes");
  const Integers& labels = arg<Integers>(node.args, "labels");
  if (classes.empty()) return std::nullopt;
  if (labels.empty()) return classes_in_order(classes);
  SourceClasses known;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    known.count = std::max(known.count, labels[i] + 1);
    known.indexing.emplace_back(classes[i], labels[i]);
  }
  std::sort(known.indexing.begin(), known.indexing.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  return known;
}

class ImageFolderSource : public Source {
 public:
  explicit ImageFolderSource(const Node& node)
      : ImageFolderSource(
            node, std::make_shared<const ClassFolders>(list_class_folders(
                      arg<std::string>(node.args, "dir"), arg<Texts>(node.args, "extensions"),
                      {.classes = arg<Texts>(node.args, "classes"), .recursive = arg<bool>(node.args, "recursive")}))) {
  }
  ImageFolderSource(const Node& node, std::shared_ptr<const ClassFolders> found)
      : found_(std::move(found)),
        labels_(arg<Integers>(node.args, "labels")),
        given_(folder_classes_of(node)),
        schema_(folder_columns()) {}

  std::uint64_t size() const override { return found_->files.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const ClassFolders::File& file = found_->files.at(index);
    read_file_into(file.path, record.storage);
    record.label = static_cast<std::int32_t>(label(file));
    record.objects.clear();
    record.cells = {bytes_cell(record.storage.data(), record.storage.size()),
                    dense_cell(&record.label, DType::i32, {})};
  }
  std::string origin(std::uint64_t index) const override { return "[image_folder] " + found_->files.at(index).path; }
  std::uint64_t fingerprint() const override {
    std::vector<std::string> files;
    for (const ClassFolders::File& file : found_->files) files.push_back(file.path);
    return fingerprint_of(files);
  }
  std::int64_t label_of(std::uint64_t index) const override { return label(found_->files.at(index)); }
  std::int64_t num_classes() const override {
    return given_ ? given_->count : static_cast<std::int64_t>(found_->classes.size());
  }
  // By label: labels of the user's own may leave gaps, which no list of names can show.
  std::vector<std::string> class_names() const override { return given_ ? given_->names : found_->classes; }
  ClassIndexing class_indexing() const override { return given_ ? given_->indexing : Source::class_indexing(); }

 private:
  std::int64_t label(const ClassFolders::File& file) const {
    return labels_.empty() ? file.label : labels_[static_cast<std::size_t>(file.label)];
  }

  std::shared_ptr<const ClassFolders> found_;
  Integers labels_;                     // by class; empty: its number
  std::optional<SourceClasses> given_;  // by the arguments classes and labels
  Schema schema_;
};

void check_image_folder(const Node& node) {
  not_empty(node, "dir");
  if (arg<Texts>(node.args, "extensions").empty())
    throw Error("[image_folder] extensions is empty: no file could match");
  const Texts& classes = arg<Texts>(node.args, "classes");
  const Integers& labels = arg<Integers>(node.args, "labels");
  if (!labels.empty() && labels.size() != classes.size())
    throw Error(fmt::format("[image_folder] has {} labels for {} classes", labels.size(), classes.size()));
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= INT32_MAX) throw Error(fmt::format("[image_folder] label {} is no i32 from 0 on", label));
  }
}

}  // namespace

Dataset ImageFolder(const std::string& dir, ImageFolderOptions options) {
  return source_dataset("image_folder", args_of(dir, std::move(options)));
}

Dataset ImageFolder(const std::string& dir, ImageFolderOptions options, std::shared_ptr<const ClassFolders> listed) {
  return source_dataset("image_folder", args_of(dir, std::move(options)),
                        [&](const Node& node) { return std::make_unique<ImageFolderSource>(node, std::move(listed)); });
}

SourceEntry image_folder_source() {
  return {
      .op = "image_folder",
      .doc = "class folders DIR/<class>/**/*; labels 0, 1, ... are those of the sorted class names",
      .args = {place_arg("dir", "folder with one folder per class"),
               hashed_as(texts_arg("extensions", "extensions of the files to read, in lower case", image_extensions()),
                         Texts{".jpg", ".jpeg", ".png"}),
               flag_arg("recursive", "also read files in folders below a class folder", true),
               texts_arg("classes", "class folders in the order of their labels; empty: all, sorted"),
               {.name = "labels",
                .type = ArgType::integers,
                .doc = "class indexing: the label of each of classes; empty: 0, 1, ...",
                .fallback = Integers{}}},
      .check = check_image_folder,
      .open = open_as<ImageFolderSource>,
      .columns = [](const Node&) { return std::optional(folder_columns()); },
      .classes = folder_classes_of};
}

}  // namespace ridgeline::data
