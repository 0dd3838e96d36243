#include "ridgeline/data/source/known.h"

#include <algorithm>

#include "ridgeline/data/source/example_columns.h"
#include "ridgeline/data/source/manifest_rows.h"
#include "ridgeline/format/cifar.h"
#include "ridgeline/format/class_names.h"
#include "ridgeline/format/dataset_recipes.h"

namespace ridgeline::data {
namespace {

const Column kEncodedImage{"image", DType::bytes, Shape{}};
const Column kLabel{"label", DType::i32, Shape{}};
const Schema kCifar{{"image", DType::u8, Shape{kCifarSide, kCifarSide, 3}}, kLabel};

std::optional<Schema> manifest(const Node& node) {
  const Texts& columns = arg<Texts>(node.args, "columns");
  if (columns.empty()) return std::nullopt;
  return manifest_schema(node.op, parse_manifest_columns(node.op, columns), arg<std::string>(node.args, "image"));
}

Schema tar(const Node& node) {
  Schema schema;
  if (!arg<Texts>(node.args, "image").empty()) schema.push_back(kEncodedImage);
  if (!arg<std::string>(node.args, "label").empty()) schema.push_back(kLabel);
  for (const std::string& field : arg<Texts>(node.args, "fields")) schema.push_back({field, DType::bytes, Shape{}});
  schema.push_back({"key", DType::bytes, Shape{}});
  return schema;
}

std::optional<Schema> example(const Node& node) {
  if (!schema_is_in_a_file(node)) return std::nullopt;
  return ExampleColumns(node, ExampleSchema::read(arg<std::string>(node.args, "schema"))).schema();
}

std::optional<Schema> named(const Node& node) {
  switch (dataset_recipe(arg<std::string>(node.args, "set")).reader) {
    case RecipeReader::idx: return std::nullopt;  // the extents of the pictures
    case RecipeReader::cifar10:
    case RecipeReader::cifar100: return kCifar;
    default: break;
  }
  Schema schema{kEncodedImage, kLabel};
  if (arg<bool>(node.args, "boxes")) {
    schema.push_back({"boxes", DType::f32, Shape{kVaries, 4}});
    schema.push_back({"box_labels", DType::i32, Shape{kVaries}});
  }
  return schema;
}

// Classes that are numbered without gaps.
KnownClasses in_order(std::vector<std::string> names) {
  KnownClasses known{.count = static_cast<std::int64_t>(names.size()), .names = std::move(names), .indexing = {}};
  for (const std::string& name : known.names)
    known.indexing.emplace_back(name, static_cast<std::int64_t>(known.indexing.size()));
  return known;
}

std::optional<KnownClasses> folders(const Node& node) {
  const Texts& classes = arg<Texts>(node.args, "classes");
  const Integers& labels = arg<Integers>(node.args, "labels");
  if (classes.empty()) return std::nullopt;
  if (labels.empty()) return in_order(classes);
  KnownClasses known;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    known.count = std::max(known.count, labels[i] + 1);
    known.indexing.emplace_back(classes[i], labels[i]);
  }
  std::sort(known.indexing.begin(), known.indexing.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  return known;
}

}  // namespace

Schema columns_as_schema(const Tensors& columns) {
  Schema schema;
  for (const NamedTensor& column : columns) {
    const std::vector<std::int64_t>& dims = column.values.shape().dims();
    schema.push_back(
        {column.name, column.values.dtype(), Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()))});
  }
  return schema;
}

std::optional<Schema> known_schema(const Node& node) {
  if (node.op == "tfrecord" || node.op == "image_folder") return Schema{kEncodedImage, kLabel};
  if (node.op == "files") return Schema{kEncodedImage, {"path", DType::bytes, Shape{}}};
  if (node.op == "cifar") return kCifar;
  if (node.op == "csv" || node.op == "json_lines") return manifest(node);
  if (node.op == "tar") return tar(node);
  if (node.op == "example") return example(node);
  if (node.op == "in_memory") return columns_as_schema(arg<Tensors>(node.args, "columns"));
  if (node.op == "named") return named(node);
  return std::nullopt;  // packed and idx hold theirs; a generator's source opens no file
}

Schema given_schema(const Node& node) {
  if (std::optional<Schema> schema = known_schema(node)) return *std::move(schema);
  throw InternalError("the arguments of " + node.op + " do not tell its columns");
}

bool schema_is_in_a_file(const Node& node) {
  return node.op == "example" && !arg<std::string>(node.args, "schema").empty();
}

std::optional<KnownClasses> known_classes(const Node& node) {
  if (node.args.contains("num_classes"))
    return KnownClasses{.count = arg<std::int64_t>(node.args, "num_classes"), .names = {}, .indexing = {}};
  if (node.op == "image_folder") return folders(node);
  if (node.op == "files") return KnownClasses{};
  if (node.op == "named") {
    // Files beside CIFAR's may name its classes otherwise.
    const DatasetRecipe& recipe = dataset_recipe(arg<std::string>(node.args, "set"));
    const bool cifar = recipe.reader == RecipeReader::cifar10 || recipe.reader == RecipeReader::cifar100;
    if (!recipe.class_names.empty() && !cifar) return in_order(known_class_names(recipe.class_names));
  }
  return std::nullopt;
}

std::optional<int> known_label_base(const Node& node) {
  if (node.op == "tfrecord") {
    const std::string& base = arg<std::string>(node.args, "label_base");
    if (base == "auto") return std::nullopt;
    return base == "1" ? 1 : 0;
  }
  if (!node.args.contains("label_base")) return 0;
  return static_cast<int>(arg<std::int64_t>(node.args, "label_base"));
}

KnownClasses classes_of(const Node& node) {
  if (auto known = known_classes(node)) return *known;
  const Source& source = source_of(node);
  return {source.num_classes(), source.class_names(), source.class_indexing()};
}

int label_base_of(const Node& node) {
  const auto known = known_label_base(node);
  return known ? *known : source_of(node).label_base();
}

}  // namespace ridgeline::data
