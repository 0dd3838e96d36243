#include "ridgeline/infer/model_file.h"

#include <array>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"

namespace ridgeline::infer {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr const char* kVersionKey = "ridgeline_model";
constexpr const char* kExifOrientation = "exif_orientation";  // absent: ignore
constexpr const char* kGraphColumn = "__graph__";             // no param is called so: parameters are named by layers

struct RuleName {
  ResizeRule rule;
  std::string_view name;
};
constexpr std::array<RuleName, 2> kRules{{{ResizeRule::exact, "exact"}, {ResizeRule::short_side, "short_side"}}};

std::string_view name_of(ResizeRule rule) {
  for (const RuleName& row : kRules) {
    if (row.rule == rule) return row.name;
  }
  throw InternalError("a resize rule without a name");
}

std::string metadata_of(const Model& model) {
  JsonValue::Object all{{kVersionKey, kVersion}, {"name", model.name}};
  if (model.preprocessing) {
    const EvaluationTransform& t = *model.preprocessing;
    JsonValue::Object preprocessing{
        {"rule", std::string(name_of(t.rule))}, {"resize", std::int64_t{t.resize}}, {"crop", std::int64_t{t.crop}}};
    if (t.exif_orientation != image::ExifOrientation::ignore)
      preprocessing.push_back({kExifOrientation, image::name_of(t.exif_orientation)});
    all.push_back({"preprocessing", std::move(preprocessing)});
  }
  return to_json_text(JsonValue(std::move(all)));
}

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw Error("[model] " + path + ": " + problem);
}

int side_of(const JsonValue& preprocessing, const char* key, const std::string& path) {
  const JsonValue* member = preprocessing.find(key);
  const std::int64_t* side = member == nullptr ? nullptr : member->integer();
  if (side == nullptr || *side < 1 || *side > (1 << 20)) {
    fail(path, std::string("the metadata's preprocessing has no '") + key + "' from 1 to 2^20");
  }
  return static_cast<int>(*side);
}

EvaluationTransform transform_of(const JsonValue& value, const std::string& path) {
  EvaluationTransform transform{.resize = side_of(value, "resize", path), .crop = side_of(value, "crop", path)};
  if (const JsonValue* orientation = value.find(kExifOrientation)) {
    if (orientation->text() == nullptr) fail(path, "the metadata's exif_orientation is no text");
    transform.exif_orientation = image::parse_exif_orientation(*orientation->text());
  }
  const JsonValue* rule = value.find("rule");
  for (const RuleName& row : kRules) {
    if (rule == nullptr || rule->text() == nullptr || *rule->text() != row.name) continue;
    transform.rule = row.rule;
    return transform;
  }
  fail(path, "the metadata's preprocessing has no 'rule' exact or short_side");
}

// Sets name and preprocessing.
void read_metadata(const PackedFile& file, Model& model) {
  const std::string& path = file.path();
  if (file.metadata().empty()) fail(path, "a packed file of data, not of a model");
  const JsonValue value = parse_json(file.metadata(), "[model] " + path + ": the metadata", {.max_depth = 8});
  const JsonValue* version = value.find(kVersionKey);
  if (version == nullptr) fail(path, "a packed file of data, not of a model");
  if (version->integer() == nullptr || *version->integer() != kVersion) {
    fail(path, "the model's version is another than " + std::to_string(kVersion) + ", which this program reads");
  }
  const JsonValue* name = value.find("name");
  if (name == nullptr || name->text() == nullptr) fail(path, "the metadata has no 'name'");
  model.name = *name->text();
  if (const JsonValue* preprocessing = value.find("preprocessing")) {
    model.preprocessing = transform_of(*preprocessing, path);
  }
}

}  // namespace

void write_model(const std::string& path, const Model& model) {
  check(model);
  PackedSchema schema{.columns = {{kGraphColumn, DType::bytes, {}}}, .class_names = model.class_names};
  const std::string text = to_text(model.graph, {.locations = false});
  std::vector<PackedValue> values = {{as_bytes(text)}};
  for (const auto& [name, tensor] : model.tensors) {
    schema.columns.push_back({name, tensor.dtype(), tensor.shape()});
    values.push_back({{static_cast<const std::uint8_t*>(tensor.raw()), tensor.byte_size()}});
  }
  PackedWriter writer(path, std::move(schema), metadata_of(model));
  writer.add(0, values);
  writer.finish(1);
}

Model read_model(const std::string& path) {
  const PackedFile file(path);
  Model model;
  read_metadata(file, model);
  if (file.size() != 1) fail(path, "it has " + std::to_string(file.size()) + " rows; a model has one");
  model.class_names = file.schema().class_names;
  const auto row = std::make_shared<PackedRow>(file.row(0));
  for (std::size_t i = 0; i < row->size(); ++i) {
    const PackedColumn& column = file.schema().columns[i];
    const PackedField& field = (*row)[i];
    if (column.name == kGraphColumn && column.dtype == DType::bytes) {
      model.graph = parse_graph(as_text(field.bytes), "[model] " + path + ": the graph");
      continue;
    }
    if (column.dtype == DType::bytes) fail(path, "the column '" + column.name + "' holds no numbers");
    // Read only: values are copied into the store of a session.
    auto* bytes = const_cast<std::uint8_t*>(field.bytes.data());
    model.tensors.push_back({column.name, Tensor::view(bytes, column.dtype, field.extents, row)});
  }
  if (model.graph.returns.empty()) fail(path, "there is no graph, or one that returns nothing");
  try {
    verify(model.graph);
    check(model);
  } catch (const Error& error) {
    fail(path, error.what());
  }
  return model;
}

bool is_model_file(const std::string& path) {
  if (!is_regular_file(path)) return false;
  try {
    std::array<std::uint8_t, packed_layout::kMagic.size()> start{};
    const RandomAccessFile file(path);
    return file.read_some(0, start) == start.size() && as_text(start) == packed_layout::kMagic;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ridgeline::infer
