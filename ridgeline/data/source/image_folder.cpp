#include "ridgeline/data/source/image_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/file.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {

Dataset ImageFolder(const std::string& dir, ImageFolderOptions options) {
  return source_dataset("image_folder", {{"dir", dir},
                                         {"extensions", std::move(options.extensions)},
                                         {"recursive", options.recursive},
                                         {"classes", std::move(options.classes)},
                                         {"labels", std::move(options.labels)}});
}

namespace {

Schema columns() { return {encoded_image(), class_label()}; }

std::optional<SourceClasses> classes_of(const Node& node) {
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
      : found_(list_class_folders(arg<std::string>(node.args, "dir"), arg<Texts>(node.args, "extensions"),
                                  {.classes = arg<Texts>(node.args, "classes"),
                                   .labels = arg<Integers>(node.args, "labels"),
                                   .recursive = arg<bool>(node.args, "recursive")})),
        given_(classes_of(node)),
        schema_(columns()) {}

  std::uint64_t size() const override { return found_.files.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const ClassFolders::File& file = found_.files.at(index);
    read_file_into(file.path, record.storage);
    record.label = file.label;
    record.objects.clear();
    record.cells = {bytes_cell(record.storage.data(), record.storage.size()),
                    dense_cell(&record.label, DType::i32, {})};
  }
  std::string origin(std::uint64_t index) const override { return "[image_folder] " + found_.files.at(index).path; }
  std::uint64_t fingerprint() const override {
    std::vector<std::string> files;
    for (const ClassFolders::File& file : found_.files) files.push_back(file.path);
    return fingerprint_of(files);
  }
  std::int64_t label_of(std::uint64_t index) const override { return found_.files.at(index).label; }
  std::int64_t num_classes() const override {
    return given_ ? given_->count : static_cast<std::int64_t>(found_.classes.size());
  }
  // By label: labels of the user's own may leave gaps, which no list of names can show.
  std::vector<std::string> class_names() const override { return given_ ? given_->names : found_.classes; }
  ClassIndexing class_indexing() const override { return given_ ? given_->indexing : Source::class_indexing(); }

 private:
  ClassFolders found_;
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

SourceEntry image_folder_source() {
  return {.op = "image_folder",
          .doc = "class folders DIR/<class>/**/*; sorted classes give labels 0, 1, ...",
          .args = {place_arg("dir", "folder that holds one folder a class"),
                   texts_arg("extensions", "lower-case ends of the file names that are read", image_extensions()),
                   flag_arg("recursive", "files in folders below a class folder, too", true),
                   texts_arg("classes", "class folders in the order of their labels; empty: all, sorted"),
                   {.name = "labels",
                    .type = ArgType::integers,
                    .doc = "class indexing: the label of each of classes; empty: 0, 1, ...",
                    .fallback = Integers{}}},
          .check = check_image_folder,
          .open = open_as<ImageFolderSource>,
          .columns = [](const Node&) { return std::optional(columns()); },
          .classes = classes_of};
}

}  // namespace ridgeline::data
