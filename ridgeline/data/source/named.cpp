#include "ridgeline/data/source/named.h"

#include <fmt/format.h>

#include "ridgeline/core/file.h"
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/data/set/dataset_recipes.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/cifar.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/format/tensor/idx.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::data {

Dataset NamedSet(const std::string& set, const std::string& split, const std::string& root, bool boxes) {
  return source_dataset("named", {{"set", set}, {"split", split}, {"root", root}, {"boxes", boxes}});
}

namespace {

std::optional<Schema> named_columns_of(const Node& node) {
  switch (dataset_recipe(arg<std::string>(node.args, "set")).reader) {
    case RecipeReader::idx: return std::nullopt;  // the extents of the pictures
    case RecipeReader::cifar10:
    case RecipeReader::cifar100: return cifar_columns();
    default: break;
  }
  Schema schema{encoded_image(), class_label()};
  if (arg<bool>(node.args, "boxes")) {
    schema.push_back({kBoxesColumn, DType::f32, Shape{kVaries, 4}});
    schema.push_back({kBoxLabelsColumn, DType::i32, Shape{kVaries}});
  }
  return schema;
}

// Files beside CIFAR's may name its classes otherwise.
std::optional<SourceClasses> named_classes_of(const Node& node) {
  const DatasetRecipe& recipe = dataset_recipe(arg<std::string>(node.args, "set"));
  const bool cifar = recipe.reader == RecipeReader::cifar10 || recipe.reader == RecipeReader::cifar100;
  if (recipe.class_names.empty() || cifar) return std::nullopt;
  return classes_in_order(known_class_names(recipe.class_names));
}

class AnnotatedSource : public Source {
 public:
  AnnotatedSource(const Node& node, AnnotatedFiles found)
      : set_(arg<std::string>(node.args, "set")),
        found_(std::move(found)),
        boxes_(arg<bool>(node.args, "boxes")),
        schema_(*named_columns_of(node)) {}

  std::uint64_t size() const override { return found_.files.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const AnnotatedFile& file = found_.files.at(index);
    read_file_into(file.path, record.storage);
    record.label = static_cast<std::int32_t>(label_of(index));
    record.cells = {bytes_cell(record.storage.data(), record.storage.size()),
                    dense_cell(&record.label, DType::i32, {})};
    put_boxes(file, record);
  }
  std::string origin(std::uint64_t index) const override {
    return fmt::format("[{}] {}", set_, found_.files.at(index).path);
  }
  // The first of its labels.
  std::int64_t label_of(std::uint64_t index) const override {
    const AnnotatedFile& file = found_.files.at(index);
    if (file.labels.empty()) throw Error(origin(index) + ": the annotation has no label");
    return file.labels[0];
  }
  std::int64_t num_classes() const override { return static_cast<std::int64_t>(found_.class_names.size()); }
  std::vector<std::string> class_names() const override { return found_.class_names; }
  std::uint64_t fingerprint() const override {
    std::vector<std::string> files = found_.annotations;
    for (const AnnotatedFile& file : found_.files) files.push_back(file.path);
    return fingerprint_of(files);
  }

 private:
  // Annotations count pixels, columns fractions of the image.
  void put_boxes(const AnnotatedFile& file, Record& record) const {
    record.objects.clear();
    record.numbers.resize(2);
    for (auto& numbers : record.numbers) numbers.clear();
    if (!file.boxes.empty()) {
      float height = static_cast<float>(file.height), width = static_cast<float>(file.width);
      if (file.height == 0 || file.width == 0) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(record.storage.data());
        const image::Size size = image::read_header({bytes, record.storage.size()}).size();
        height = static_cast<float>(size.height);
        width = static_cast<float>(size.width);
      }
      for (const AnnotatedBox& box : file.boxes)
        record.objects.push_back({box.ymin / height, box.xmin / width, box.ymax / height, box.xmax / width});
    }
    if (!boxes_) return;
    const auto append = [](std::vector<std::uint8_t>& out, const void* data, std::size_t bytes) {
      out.insert(out.end(), static_cast<const std::uint8_t*>(data), static_cast<const std::uint8_t*>(data) + bytes);
    };
    for (const image::ObjectBox& box : record.objects) {
      for (const float side : {box.ymin, box.xmin, box.ymax, box.xmax}) append(record.numbers[0], &side, sizeof side);
    }
    for (const AnnotatedBox& box : file.boxes) append(record.numbers[1], &box.label, sizeof box.label);
    const auto count = static_cast<std::int64_t>(file.boxes.size());
    record.cells.push_back(dense_cell(record.numbers[0].data(), DType::f32, {count, 4}));
    record.cells.push_back(dense_cell(record.numbers[1].data(), DType::i32, {count}));
  }

  std::string set_;
  AnnotatedFiles found_;
  bool boxes_;
  Schema schema_;
};

// A source node of another kind, complete, over the recipe's files.
std::unique_ptr<Source> delegate(const char* op, Args args) {
  Node node{.op = op, .args = std::move(args)};
  complete(node);
  return open_source(node);
}

std::unique_ptr<Source> open_named(const Node& node) {
  const DatasetRecipe& recipe = dataset_recipe(arg<std::string>(node.args, "set"));
  const std::string &split = arg<std::string>(node.args, "split"), &root = arg<std::string>(node.args, "root");
  switch (recipe.reader) {
    case RecipeReader::class_folders:
    case RecipeReader::cifar10:
    case RecipeReader::cifar100:
    case RecipeReader::idx:
      if (arg<bool>(node.args, "boxes")) throw Error(fmt::format("[named] {} has no boxes", recipe.name));
      break;
    default: return std::make_unique<AnnotatedSource>(node, read_annotated_split(recipe, split, root));
  }
  const RecipeFiles found = find_recipe_files(recipe, split, root);
  if (recipe.reader == RecipeReader::class_folders) return delegate("image_folder", {{"dir", found.files.at(0)}});
  if (recipe.reader == RecipeReader::idx) {
    return delegate("idx",
                    {{"images", found.files.at(0)},
                     {"labels", found.files.at(1)},
                     {"label_base", static_cast<std::int64_t>(recipe.label_base)},
                     {"transposed", recipe.transposed},
                     {"class_names", recipe.class_names.empty() ? Texts{} : known_class_names(recipe.class_names)}});
  }
  const bool hundred = recipe.reader == RecipeReader::cifar100;
  return delegate("cifar", {{"files", found.files}, {"kind", std::string(hundred ? "cifar100" : "cifar10")}});
}

void check_named(const Node& node) {
  dataset_recipe(arg<std::string>(node.args, "set"));
  not_empty(node, "root");
}

}  // namespace

SourceEntry named_source() {
  return {
      .op = "named",
      .doc = "a standard data set: cifar10, mnist, flowers102, voc, coco, ...",
      .args = {{.name = "set", .type = ArgType::text, .doc = "its name"},
               {.name = "split", .type = ArgType::text, .doc = "train, val, test"},
               place_arg("root", "folder of the data set"),
               flag_arg("boxes", "the columns boxes (f32, fractions: top, left, bottom, right) and box_labels", false)},
      .check = check_named,
      .open = open_named,
      .columns = named_columns_of,
      .classes = named_classes_of};
}

}  // namespace ridgeline::data
