// MindData's tree as a data graph: children first, so that the graph is in topological order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/minddata_forms.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {
namespace {

using nlohmann::json;
using Law = MindDataLaw;

// Tuning of MindData's own, in any node: checked, not taken over.
const std::vector<std::string> kTuning{"num_parallel_workers", "connector_queue_size"};

Error wrong(const std::string& what, const std::string& message) {
  return Error(fmt::format("[MindData JSON] {}: {}", what, message));
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(word, known);
  return fmt::format("{} (known: {})", nearest.empty() ? "" : ": did you mean '" + nearest + "'?",
                     fmt::join(known, ", "));
}

const json& member(const json& object, const std::string& what, const std::string& key) {
  if (!object.is_object()) throw wrong(what, "is " + object.dump() + ", it must be an object");
  const auto found = object.find(key);
  if (found == object.end()) throw wrong(what, "Failed to find " + key);
  return *found;
}

void check_keys(const json& object, const std::string& what, const std::vector<std::string>& known) {
  if (!object.is_object()) throw wrong(what, "is " + object.dump() + ", it must be an object");
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw wrong(what, fmt::format("unknown key '{}'{}", key, did_you_mean(key, known)));
  }
}

Value plain(const json& value, ArgType type, const std::string& what, const std::string& key) {
  const auto all = [&](auto test) { return value.is_array() && std::all_of(value.begin(), value.end(), test); };
  switch (type) {
    case ArgType::boolean:
      if (value.is_boolean()) return value.get<bool>();
      break;
    case ArgType::integer:
      if (value.is_number_integer()) return value.get<std::int64_t>();
      break;
    case ArgType::real:
      if (value.is_number()) return value.get<double>();
      break;
    case ArgType::text:
      if (value.is_string()) return value.get<std::string>();
      break;
    case ArgType::integers:
      if (all([](const json& v) { return v.is_number_integer(); })) return value.get<Integers>();
      break;
    case ArgType::reals:
      if (all([](const json& v) { return v.is_number(); })) return value.get<Reals>();
      break;
    case ArgType::texts:
      if (all([](const json& v) { return v.is_string(); })) return value.get<Texts>();
      break;
    case ArgType::tensors: break;
  }
  throw wrong(what, fmt::format("{} is {}, it must be a {}", key, value.dump(), name_of(type)));
}

template <class T>
T get(const json& object, const std::string& what, const std::string& key) {
  const auto type = static_cast<ArgType>(Value(T{}).index());
  return std::get<T>(plain(member(object, what, key), type, what, key));
}

const MindDataForm& form_named(const std::vector<MindDataForm>& forms, const std::string& name, const char* kind) {
  std::vector<std::string> names;
  for (const MindDataForm& form : forms) {
    if (form.name == name) return form;
    names.push_back(form.name);
  }
  throw Error(fmt::format("[MindData JSON] unknown {} '{}'{}", kind, name, did_you_mean(name, names)));
}

class Reader {
 public:
  explicit Reader(const MindDataOptions& options) : options_(options) {}

  DataGraph read(const json& root) {
    node(root);
    // MindData's crop knows no bounding boxes, which only TFRecords have.
    const bool boxes =
        std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& n) { return n.op == "tfrecord"; });
    for (Node& n : graph_.nodes) {
      for (Transform& t : n.operations) {
        if (boxes && t.args.contains("min_object_covered")) t.args["min_object_covered"] = 0.0;
      }
    }
    check_structure(graph_);
    return std::move(graph_);
  }

 private:
  // Adds the node and all below it; returns its id.
  std::string node(const json& object) {
    const std::string op_type = get<std::string>(object, "a node", "op_type");
    const json& children = member(object, op_type, "children");
    if (!children.is_array()) throw wrong(op_type, "children is no list");
    const bool many = op_type == "Zip" || op_type == "Concat";
    if (const std::string reason = minddata_refusal(op_type); !reason.empty())
      throw wrong(op_type, "cannot be read: " + reason);
    if (op_type == "ImageFolderDataset" || op_type == "MnistDataset" || op_type == "TFRecordDataset") {
      if (!children.empty()) throw wrong(op_type, "has children, but is a source");
      return op_type == "ImageFolderDataset" ? image_folder(object)
             : op_type == "MnistDataset"     ? mnist(object)
                                             : tfrecord(object, {});
    }
    if (op_type == "Rename" && children.size() == 1 && children[0].value("op_type", json()) == "TFRecordDataset")
      return renamed_tfrecord(object, children[0]);
    const MindDataForm* form = many || op_type == "Map" ? nullptr : &known_node(op_type);
    if (many ? children.size() < 2 : children.size() != 1)
      throw wrong(op_type, fmt::format("has {} children, it must have {}", children.size(), many ? "2 or more" : "1"));
    std::vector<std::string> inputs;
    for (const json& child : children) inputs.push_back(node(child));
    if (op_type == "Map") return map(object, inputs[0]);
    if (many) return join(object, op_type, std::move(inputs));
    const Args args = fields(object, *form, node_entry(form->op).args, op_type, {"op_type", "children"}, true);
    check_values(op_type, args);
    return graph_.add({.op = form->op, .inputs = std::move(inputs), .args = args});
  }

  static const MindDataForm& known_node(const std::string& op_type) {
    std::vector<MindDataForm> forms = minddata_nodes();
    for (const MindDataForm& form : minddata_nodes()) {
      if (form.name == op_type) return form;
    }
    for (const char* name : {"Map", "Zip", "Concat", "ImageFolderDataset", "MnistDataset", "TFRecordDataset"})
      forms.push_back({name, "", {}});
    form_named(forms, op_type, "op_type");
    throw InternalError("no such form");
  }

  static void check_values(const std::string& op_type, const Args& args) {
    if (op_type == "Shuffle" && arg<std::int64_t>(args, "buffer") < 2)
      throw wrong(op_type, fmt::format("buffer_size is {}, it must be at least 2", arg<std::int64_t>(args, "buffer")));
  }

  Value value(const MindDataField& field, const json& given, const ArgSpec& spec, const std::string& what) const {
    switch (field.law) {
      case Law::same: break;
      case Law::real32: {
        Value read = plain(given, spec.type, what, field.key);
        if (double* one = std::get_if<double>(&read)) *one = shortest_of_float(*one);
        if (Reals* list = std::get_if<Reals>(&read)) {
          for (double& v : *list) v = shortest_of_float(v);
        }
        return read;
      }
      case Law::times_255: {
        Reals shares = std::get<Reals>(plain(given, ArgType::reals, what, field.key));
        for (double& v : shares) v = share_of_255(v);
        return shares;
      }
      case Law::count:
      case Law::count_or_all: {
        const auto count = std::get<std::int64_t>(plain(given, ArgType::integer, what, field.key));
        const bool positive = field.law == Law::count;
        if (positive && count < 0)
          throw wrong(what, fmt::format("{} must be greater than or equal to 0, but got: {}", field.key, count));
        if (!positive && (count < -1 || count == 0))
          throw wrong(what, fmt::format("{} must be positive or -1, but got: {}", field.key, count));
        return positive && count == 0 ? std::int64_t{-1} : count;
      }
      case Law::four_sides: {
        const auto sides = std::get<Integers>(plain(given, ArgType::integers, what, field.key));
        if (sides.empty() || sides.size() > 4 ||
            std::count(sides.begin(), sides.end(), sides[0]) != static_cast<std::ptrdiff_t>(sides.size()))
          throw wrong(what, fmt::format("{} is {}: all sides have the same padding here", field.key, given.dump()));
        return sides[0];
      }
      case Law::filter: {
        const auto mode = std::get<std::int64_t>(plain(given, ArgType::integer, what, field.key));
        const std::string filter = minddata_filter(mode, options_.pixels, spec.allowed);
        if (!filter.empty()) return filter;
        throw wrong(what, fmt::format("interpolation {} is {}", mode,
                                      mode < 0 || mode > 4
                                          ? "none of 0 (LINEAR), 1 (NEAREST), 2 (CUBIC), 3 (AREA), 4 (PILCUBIC)"
                                          : "OpenCV's, which no filter here equals: read it with pixels=pillow for "
                                            "Pillow's filter of that name, or use PILCUBIC"));
      }
      case Law::dtype: {
        const auto name = std::get<std::string>(plain(given, ArgType::text, what, field.key));
        const std::string dtype = dtype_of_minddata(name);
        if (dtype.empty()) throw wrong(what, fmt::format("no element type here is '{}'", name));
        return dtype;
      }
    }
    return plain(given, spec.type, what, field.key);
  }

  // `around`: keys of the object that the caller reads. Tuning keys are allowed where `node`.
  Args fields(const json& object, const MindDataForm& form, const std::vector<ArgSpec>& specs, const std::string& what,
              std::vector<std::string> around = {}, bool node = false) const {
    for (const MindDataField& field : form.fields) {
      if (!field.key.empty()) around.push_back(field.key);
    }
    if (node) {
      around.insert(around.end(), kTuning.begin(), kTuning.end());
      for (const std::string& key : kTuning) {
        if (object.contains(key) && get<std::int64_t>(object, what, key) < 1)
          throw wrong(what, fmt::format("{} is {}, it must be positive", key, object.at(key).dump()));
      }
    }
    check_keys(object, what, around);
    Args args;
    for (const MindDataField& field : form.fields) {
      if (field.key.empty() || (field.optional && !object.contains(field.key))) continue;
      const json& given = member(object, what, field.key);
      if (!field.arg.empty()) {
        const auto spec =
            std::find_if(specs.begin(), specs.end(), [&](const ArgSpec& s) { return s.name == field.arg; });
        RIDGELINE_CHECK(spec != specs.end(), "no argument " + field.arg);
        args[field.arg] = value(field, given, *spec, what);
      } else if (field.only) {
        const Value read = plain(given, static_cast<ArgType>(field.only->index()), what, field.key);
        if (read != *field.only) throw wrong(what, fmt::format("{} is {}: {}", field.key, given.dump(), field.reason));
      }
    }
    return args;
  }

  // ---- sources

  // The nodes of a sampler over `id`, child first.
  std::string sampler(const json& object, std::string id, bool alone = true) {
    const std::string name = get<std::string>(object, "sampler", "sampler_name");
    const MindDataForm& form = form_named(minddata_samplers(), name, "sampler_name");
    const Args args = fields(object, form, node_entry(form.op).args, name, {"sampler_name", "child_sampler"});
    const auto count = get<std::int64_t>(object, name, "num_samples");
    if (count < 0) throw wrong(name, fmt::format("num_samples must be greater than or equal to 0, but got: {}", count));
    const json children = object.value("child_sampler", json::array());
    if (!children.is_array() || children.size() > 1)
      throw wrong(name, "child_sampler is " + children.dump() + ", it must be a list of at most one sampler");
    if (!children.empty()) {
      if (name == "PKSampler") throw wrong(name, "has a child_sampler; it must lie right on its source here");
      id = sampler(children[0], std::move(id), false);
    }
    Node node{.op = form.op, .inputs = {id}, .args = args};
    std::int64_t first = 0;  // of its rows, where it has no such argument
    if (name == "SequentialSampler" && alone && children.empty() && count == 0 && arg<std::int64_t>(args, "start") == 0)
      return id;  // all records in their order
    if (name == "SubsetSampler" && count > 0) {
      auto& indices = std::get<Integers>(node.args.at("indices"));
      indices.resize(std::min(indices.size(), static_cast<std::size_t>(count)));
    }
    if (name == "SubsetRandomSampler") first = count;
    if (name == "PKSampler") {
      const auto rows = arg<std::int64_t>(args, "per_class");
      if (!arg<bool>(args, "shuffle"))
        throw wrong(name, "shuffle is false: MindData draws the rows of a class also then, here it takes the first");
      if (rows < 1) throw wrong(name, fmt::format("num_val must be greater than 0, but got: {}", rows));
      if (count % rows != 0)
        throw wrong(name, fmt::format("num_samples is {}: here it must be whole classes of {} rows", count, rows));
      if (count > 0) node.args["classes"] = count / rows;
    }
    if (name == "DistributedSampler") {
      const auto seed = get<std::int64_t>(object, name, "seed");
      if (seed < 0 || seed > 0xffffffffll) throw wrong(name, fmt::format("seed is {}, it must have 32 bits", seed));
      if (arg<bool>(args, "shuffle")) node.args["seed"] = seed;
    }
    id = graph_.add(std::move(node));
    if (first > 0) id = graph_.add({.op = "sequential_sampler", .inputs = {id}, .args = {{"count", first}}});
    return id;
  }

  std::string image_folder(const json& object) {
    const std::string what = "ImageFolderDataset";
    const MindDataForm form{
        what,
        "image_folder",
        {{"dataset_dir", "dir"},
         {"extensions", ""},
         {"decode", ""},
         {"class_indexing", ""},
         {"recursive", "", Law::same, false, "folders in a class folder belong to the class here", true}}};
    Args args = fields(object, form, node_entry("image_folder").args, what, {"op_type", "children", "sampler"}, true);
    const json& indexing = member(object, what, "class_indexing");
    if (!indexing.is_object() || !indexing.empty())
      throw wrong(what,
                  "class_indexing is " + indexing.dump() + ": classes are numbered in the order of their names here");
    Texts extensions;
    for (std::string extension : get<Texts>(object, what, "extensions")) {
      std::transform(extension.begin(), extension.end(), extension.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end())
        extensions.push_back(extension);
    }
    if (!extensions.empty()) args["extensions"] = extensions;
    const bool decode = get<bool>(object, what, "decode");
    std::string id = graph_.add({.op = "image_folder", .args = args});
    id = sampler(member(object, what, "sampler"), id);
    if (decode) id = graph_.add({.op = "map", .inputs = {id}, .operations = {{"decode", {}, ""}}});
    return id;
  }

  std::string mnist(const json& object) {
    const std::string what = "MnistDataset";
    fields(object, {what, "idx", {{"dataset_dir", ""}, {"usage", ""}}}, {}, what, {"op_type", "children", "sampler"},
           true);
    const std::string usage = get<std::string>(object, what, "usage");
    if (usage != "train" && usage != "test")
      throw wrong(what, "usage is '" + usage + "': here one node reads train or test (concat joins them)");
    const std::string prefix =
        get<std::string>(object, what, "dataset_dir") + "/" + (usage == "train" ? "train" : "t10k");
    const std::string id = graph_.add(
        {.op = "idx", .args = {{"images", prefix + "-images-idx3-ubyte"}, {"labels", prefix + "-labels-idx1-ubyte"}}});
    return sampler(member(object, what, "sampler"), id);
  }

  // `names`: what its columns image/encoded and image/class/label are called; empty: just so.
  std::string tfrecord(const json& object, Texts names) {
    const std::string what = "TFRecordDataset";
    const Value none = std::int64_t{0};
    const char* shards = "records are shared out by DistributedSampler of other sources, or Dataset::shard, here";
    const MindDataForm form{
        what,
        "tfrecord",
        {{"dataset_files", "files"},
         {"columns_list", "", Law::same, Texts{"image/encoded", "image/class/label"},
          "only these columns are read here"},
         {"num_samples", ""},
         {"shuffle", ""},
         {"shuffle_global", ""},
         {"shuffle_files", ""},
         {"num_shards", "", Law::same, std::int64_t{1}, shards},
         {"shard_id", "", Law::same, none, shards},
         {"shard_equal_rows", "", Law::same, false, shards},
         {"schema_file_path", "", Law::same, std::string(), "the columns of slim ImageNet records are known here"},
         {"compression_type", "", Law::same, std::string(), "files tell their compression here", true}}};
    Args args = fields(object, form, node_entry("tfrecord").args, what, {"op_type", "children"}, true);
    for (const std::string& file : arg<Texts>(args, "files")) {
      if (file.find_first_of("*?[") != std::string::npos)
        throw wrong(what, "dataset_files: " + file + " would be a pattern here");
    }
    args["label_base"] = std::string("0");
    const auto shuffle = get<std::int64_t>(object, what, "shuffle");
    if ((shuffle != 0 && shuffle != 2) || get<bool>(object, what, "shuffle_global") != (shuffle == 2) ||
        get<bool>(object, what, "shuffle_files") != (shuffle == 2))
      throw wrong(what, fmt::format("shuffle is {}: here it can be 0 (none) or 2 (global, with shuffle_global and "
                                    "shuffle_files)",
                                    shuffle));
    std::string id = graph_.add({.op = "tfrecord", .args = args});
    const auto count = get<std::int64_t>(object, what, "num_samples");
    if (count < 0) throw wrong(what, fmt::format("num_samples is {}, it must be at least 0", count));
    if (count > 0) id = graph_.add({.op = "take", .inputs = {id}, .args = {{"count", count}}});
    if (shuffle == 2) id = graph_.add({.op = "shuffle", .inputs = {id}, .args = {}});
    if (names.empty()) names = {"image/encoded", "image/class/label"};
    if (names == Texts{"image", "label"}) return id;
    return graph_.add({.op = "rename", .inputs = {id}, .args = {{"from", Texts{"image", "label"}}, {"to", names}}});
  }

  std::string renamed_tfrecord(const json& rename, const json& records) {
    const Args args = fields(rename, form_named(minddata_nodes(), "Rename", "op_type"), node_entry("rename").args,
                             "Rename", {"op_type", "children"}, true);
    if (arg<Texts>(args, "from") == Texts{"image/encoded", "image/class/label"} && arg<Texts>(args, "to").size() == 2)
      return tfrecord(records, arg<Texts>(args, "to"));
    return graph_.add({.op = "rename", .inputs = {node(records)}, .args = args});
  }

  // ---- maps and joins

  std::string map(const json& object, const std::string& input) {
    const std::string what = "Map";
    std::vector<std::string> keys{"op_type",       "children",       "callback",       "operations",
                                  "input_columns", "output_columns", "project_columns"};
    fields(object, {what, "map", {}}, {}, what, keys, true);
    for (const std::int64_t step : get<Integers>(object, what, "callback")) {
      if (step < 1) throw wrong(what, fmt::format("callback has the step size {}, it must be at least 1", step));
    }
    Texts columns = get<Texts>(object, what, "input_columns");
    const Texts output = get<Texts>(object, what, "output_columns");
    // MindData's first operation takes the first column where none is named.
    if (columns.empty()) columns = {schemas_of(graph_).at(input).at(0).name};
    if (!output.empty() && output != columns)
      throw wrong(what, fmt::format("output_columns is [{}]: operations keep their columns [{}] here (use Rename)",
                                    fmt::join(output, ", "), fmt::join(columns, ", ")));
    Node map{.op = "map", .inputs = {input}, .args = {{"columns", columns}}};
    const json& operations = member(object, what, "operations");
    if (!operations.is_array() || operations.empty()) throw wrong(what, "operations must be a list that is not empty");
    for (const json& operation : operations) this->operation(operation, map.operations);
    const std::string id = graph_.add(std::move(map));
    const Texts project = object.contains("project_columns") ? get<Texts>(object, what, "project_columns") : Texts{};
    return project.empty() ? id : graph_.add({.op = "project", .inputs = {id}, .args = {{"columns", project}}});
  }

  void operation(const json& object, std::vector<Transform>& to) const {
    const std::string name = get<std::string>(object, "an operation", "tensor_op_name");
    if (object.contains("python_module"))
      throw wrong(name, "is Python (" + object.at("python_module").dump() + "), which cannot be read");
    check_keys(object, "operation " + name, {"tensor_op_name", "tensor_op_params"});
    const MindDataForm& form = form_named(minddata_operations(), name, "tensor_op_name");
    const TransformEntry& entry = transform_entry(form.op);
    json params = member(object, name, "tensor_op_params");
    if (params.is_null()) params = json::object();
    const Args args = fields(params, form, entry.args, name);
    if (form.op == "decode_random_resized_crop") {
      to.push_back({"decode", {}, ""});
      to.push_back({"random_resized_crop", args, ""});
    } else {
      to.push_back({form.op, args, ""});
    }
  }

  std::string join(const json& object, const std::string& op_type, std::vector<std::string> inputs) {
    if (op_type == "Zip") {
      check_keys(object, op_type, {"op_type", "children"});
      return graph_.add({.op = "zip", .inputs = std::move(inputs)});
    }
    check_keys(object, op_type,
               {"op_type", "children", "sampler", "children_flag_and_nums", "children_start_end_index"});
    // They say which rows a sampler that shares out may take: without one they say nothing.
    for (const char* key : {"children_flag_and_nums", "children_start_end_index"}) {
      if (!member(object, op_type, key).is_array()) throw wrong(op_type, std::string(key) + " is no list");
    }
    const json& sampler = member(object, op_type, "sampler");
    const std::string name = get<std::string>(sampler, op_type, "sampler_name");
    const bool all = name == "DistributedSampler" && get<std::int64_t>(sampler, name, "num_shards") == 1 &&
                     !get<bool>(sampler, name, "shuffle") && get<std::int64_t>(sampler, name, "num_samples") == 0;
    if (!all) throw wrong(op_type, "its sampler shares rows out or shuffles them: use samplers on the sources here");
    return graph_.add({.op = "concat", .inputs = std::move(inputs)});
  }

  const MindDataOptions& options_;
  DataGraph graph_;
};

}  // namespace

DataGraph from_minddata_json(const std::string& text, const MindDataOptions& options) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::exception& e) {
    throw Error(std::string("[MindData JSON] ") + e.what());
  }
  if (root.is_object() && root.contains("tree") && !root.contains("op_type")) {  // of AutoTune
    check_keys(root, "the file", {"tree", "summary", "remark"});
    root = json(root.at("tree"));
  }
  return Reader(options).read(root);
}

}  // namespace ridgeline::data
