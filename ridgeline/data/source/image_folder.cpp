#include "ridgeline/core/file.h"
#include "ridgeline/data/source/class_folders.h"
#include "ridgeline/data/source/known.h"
#include "ridgeline/data/source/sources.h"

namespace ridgeline::data {
namespace {

class ImageFolderSource : public Source {
 public:
  explicit ImageFolderSource(const Node& node)
      : found_(list_class_folders(arg<std::string>(node.args, "dir"), arg<Texts>(node.args, "extensions"),
                                  {.classes = arg<Texts>(node.args, "classes"),
                                   .labels = arg<Integers>(node.args, "labels"),
                                   .recursive = arg<bool>(node.args, "recursive")})),
        given_(known_classes(node)),
        schema_(given_schema(node)) {}

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
  std::optional<KnownClasses> given_;  // by the arguments classes and labels
  Schema schema_;
};

}  // namespace

std::unique_ptr<Source> open_image_folder(const Node& node) { return std::make_unique<ImageFolderSource>(node); }

}  // namespace ridgeline::data
