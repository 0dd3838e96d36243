#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "ridgeline/core/random.h"
#include "ridgeline/core/utf8.h"
#include "ridgeline/data/ir/base64.h"
#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/ir/names.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registered_name.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/ir/value_json.h"
#include "ridgeline/format/text/json_tree.h"

namespace ridgeline::data {
namespace {

using nlohmann::json;
constexpr int kVersion = 1;

// ---- writing

// What the JSON is for: a file, or one of the two hashes.
enum class Form { file, hash_of_run, hash_of_part };

// Paths and class names are bytes and need not be UTF-8, as JSON must be: a hash then takes theirs.
json text_json(const std::string& text, Form form) {
  return form == Form::file || is_utf8(text) ? json(text) : json(hash64(text));
}

// A text of an argument. Where it is no UTF-8, a file holds its bytes: {"base64": "ZmzpdXJz"}.
json argument_json(const std::string& text, Form form) {
  return form == Form::file && !is_utf8(text) ? json{{"base64", to_base64(text)}} : text_json(text, form);
}

json tensor_json(const NamedTensor& tensor, Form form) {
  json out{{"name", text_json(tensor.name, form)},
           {"dtype", std::string(name_of(tensor.tensor.dtype()))},
           {"shape", tensor.tensor.shape().dims()}};
  // Of the bytes themselves a hash needs no text.
  const auto content = [&](std::string_view bytes) -> json {
    return form == Form::file ? json(to_base64(bytes)) : json(hash64(bytes));
  };
  if (tensor.tensor.dtype() == DType::bytes) {
    json strings = json::array();
    for (const std::string& s : tensor.tensor.string_values()) strings.push_back(content(s));
    out["base64"] = std::move(strings);
  } else {
    out["base64"] = content({static_cast<const char*>(tensor.tensor.raw()), tensor.tensor.byte_size()});
  }
  return out;
}

json value_json(const Value& value, Form form) {
  return std::visit(
      [&](const auto& v) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Tensors>) {
          json out = json::array();
          for (const NamedTensor& tensor : v) out.push_back(tensor_json(tensor, form));
          return out;
        } else if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Texts>) {
          json out = json::array();
          for (const std::string& text : v) out.push_back(argument_json(text, form));
          return out;
        } else if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          return argument_json(v, form);
        } else {
          return v;
        }
      },
      value);
}

// What the hash in question leaves out.
bool left_out(const ArgSpec& spec, const Value& value, Form form) {
  if (form == Form::file) return false;
  return spec.place || (spec.part && form == Form::hash_of_run) || (spec.newer && value == spec.fallback);
}

const Value& written(const ArgSpec& spec, const Value& value, Form form) {
  return form != Form::file && spec.hashed_fallback && value == spec.fallback ? *spec.hashed_fallback : value;
}

json spec_json(const ArgSpec& spec, const Value& value, Form form) {
  const auto* name = std::get_if<std::string>(&value);
  if (form != Form::file && spec.code && name) return text_json(without_number(*name), form);
  return value_json(written(spec, value, form), form);
}

json args_json(const Args& args, const std::vector<ArgSpec>& specs, Form form) {
  json out = json::object();
  for (const Args::value_type& given : args) {
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const ArgSpec& s) { return s.name == given.first; });
    if (spec == specs.end())
      out[given.first] = value_json(given.second, form);
    else if (!left_out(*spec, given.second, form))
      out[given.first] = spec_json(*spec, given.second, form);
  }
  return out;
}

json operations_json(const std::vector<Transform>& operations, Form form) {
  json out = json::array();
  for (const Transform& t : operations) {
    const TransformEntry& entry = transform_entry(t.op);
    json args = args_json(t.args, entry.args, form);
    if (entry.nests) args["operations"] = operations_json(t.operations, form);
    out.push_back({{"op", t.op}, {"name", text_json(t.name, form)}, {"args", std::move(args)}});
  }
  return out;
}

json node_json(const Node& node, Form form) {
  json out{{"id", node.id},
           {"op", node.op},
           {"inputs", node.inputs},
           {"args", args_json(node.args, node_entry(node.op).args, form)}};
  out["name"] = text_json(node.name, form);
  const NodeKind kind = node_entry(node.op).kind;
  if (kind == NodeKind::map || (kind == NodeKind::batch && !node.operations.empty()))
    out["args"]["operations"] = operations_json(node.operations, form);
  if (form == Form::file) out["hints"] = node.hints;
  if (form == Form::file && !node.callbacks.empty()) {
    out["callback"] = json::array();
    for (const std::shared_ptr<DataCallback>& callback : node.callbacks)
      out["callback"].push_back(callback->step_size());
  }
  return out;
}

// ---- reading

void check_keys(const json& object, const std::string& what, const std::vector<std::string>& known) {
  if (!object.is_object()) throw Error(fmt::format("[data graph JSON] {} is not an object", what));
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw Error(fmt::format("[data graph JSON] {} has an unknown key '{}'{} (known: {})", what, key,
                              did_you_mean(key, known), fmt::join(known, ", ")));
    }
  }
}

const json& member(const json& object, std::string_view what, const char* key) {
  if (!object.contains(key)) throw Error(fmt::format("[data graph JSON] {} has no key '{}'", what, key));
  return object.at(key);
}

std::string text_member(const json& object, const std::string& what, const char* key) {
  const json& value = member(object, what, key);
  if (!value.is_string()) throw Error(fmt::format("[data graph JSON] '{}' of {} is not a string", key, what));
  return value.get<std::string>();
}

std::vector<std::string> texts(const json& value, const std::string& what) {
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_string(); })) {
    throw Error(fmt::format("[data graph JSON] {} is not a list of strings", what));
  }
  return value.get<std::vector<std::string>>();
}

NamedTensor read_tensor(const json& value, const std::string& what) {
  check_keys(value, what, {"name", "dtype", "shape", "base64"});
  NamedTensor out;
  out.name = text_member(value, what, "name");
  const std::string type = text_member(value, what, "dtype");
  const std::optional<DType> dtype = parse_dtype(type);
  if (!dtype) throw Error(fmt::format("[data graph JSON] {} has an unknown dtype '{}'", what, type));
  const json& dims = member(value, what, "shape");
  if (!dims.is_array() ||
      !std::all_of(dims.begin(), dims.end(), [](const json& d) { return d.is_number_unsigned(); })) {
    throw Error(fmt::format("[data graph JSON] 'shape' of {} is not a list of extents", what));
  }
  const Shape shape(dims.get<std::vector<std::int64_t>>());
  if (*dtype == DType::bytes) {
    std::vector<std::string> strings = texts(member(value, what, "base64"), "'base64' of " + what);
    for (std::string& s : strings) s = from_base64(s);
    if (shape != Shape{static_cast<std::int64_t>(strings.size())})
      throw Error(fmt::format("[data graph JSON] {} has another number of strings than its shape says", what));
    out.tensor = Tensor::strings(std::move(strings));
    return out;
  }
  const std::string bytes = from_base64(text_member(value, what, "base64"));
  // Extents are multiplied only as long as they can still fit, so that absurd ones cannot overflow.
  std::uint64_t expected = size_of(*dtype);
  for (const std::int64_t extent : shape) {
    if (extent != 0 && expected > bytes.size() / static_cast<std::uint64_t>(extent)) {
      expected = ~std::uint64_t{0};
      break;
    }
    expected *= static_cast<std::uint64_t>(extent);
  }
  if (expected != bytes.size())
    throw Error(fmt::format("[data graph JSON] {} holds {} bytes, its shape {} needs another number", what,
                            bytes.size(), shape.to_string()));
  out.tensor = Tensor(*dtype, shape);
  if (!bytes.empty()) std::memcpy(out.tensor.raw(), bytes.data(), bytes.size());
  return out;
}

// The reverse of argument_json(); nothing for other values.
std::optional<std::string> text_from(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object() || value.size() != 1 || !value.contains("base64") || !value.at("base64").is_string())
    return std::nullopt;
  return from_base64(value.at("base64").get<std::string>());
}

Value read_value(const json& value, ArgType type, const std::string& what) {
  if (type == ArgType::text) {
    if (std::optional<std::string> text = text_from(value)) return *std::move(text);
  }
  if (type == ArgType::texts && value.is_array()) {
    Texts list;
    for (const json& item : value) {
      if (std::optional<std::string> text = text_from(item)) list.push_back(*std::move(text));
    }
    if (list.size() == value.size()) return list;
  }
  if (type == ArgType::tensors && value.is_array()) {
    Tensors out;
    for (const json& tensor : value) out.push_back(read_tensor(tensor, "a tensor of " + what));
    return out;
  }
  if (std::optional<Value> read = value_from_json(value, type)) return *std::move(read);
  throw Error(fmt::format("[data graph JSON] {} is {}, it must be {}", what, value.dump(), name_with_article(type)));
}

Args read_args(const json& object, const std::string& what, const std::vector<ArgSpec>& specs,
               bool operations_too = false) {
  std::vector<std::string> names;
  for (const ArgSpec& spec : specs) names.push_back(spec.name);
  if (operations_too) names.emplace_back("operations");
  check_keys(object, "'args' of " + what, names);
  Args args;
  for (const ArgSpec& spec : specs) {
    if (object.contains(spec.name))
      args[spec.name] = read_value(object.at(spec.name), spec.type, "'" + spec.name + "' of " + what);
  }
  return args;
}

// Operations hold operations; a file must not be able to exhaust the stack.
constexpr int kDeepest = 16;

std::vector<Transform> read_operations(const json& args, const std::string& what, int depth);

Transform read_transform(const json& object, const std::string& where, int depth) {
  check_keys(object, "an operation of " + where, {"op", "name", "args"});
  Transform t;
  t.op = text_member(object, "an operation of " + where, "op");
  const TransformEntry& entry = transform_entry(t.op);
  if (object.contains("name")) t.name = text_member(object, "an operation of " + where, "name");
  const json args = object.value("args", json::object());
  t.args = read_args(args, t.op, entry.args, entry.nests);
  if (entry.nests) t.operations = read_operations(args, t.op, depth + 1);
  return t;
}

std::vector<Transform> read_operations(const json& args, const std::string& what, int depth) {
  if (depth > kDeepest)
    throw Error(fmt::format("[data graph JSON] operations lie more than {} deep in each other", kDeepest));
  const json& list = member(args, "'args' of " + what, "operations");
  if (!list.is_array()) throw Error("[data graph JSON] 'operations' of " + what + " is not a list");
  std::vector<Transform> operations;
  for (const json& operation : list) operations.push_back(read_transform(operation, what, depth));
  return operations;
}

Node read_node(const json& object) {
  check_keys(object, "a node", {"id", "op", "name", "inputs", "args", "hints", "callback"});
  Node node;
  node.id = text_member(object, "a node", "id");
  const std::string what = "node '" + node.id + "'";
  node.op = text_member(object, what, "op");
  const NodeEntry& entry = node_entry(node.op);
  const bool map = entry.kind == NodeKind::map;
  const bool batch = entry.kind == NodeKind::batch;
  if (object.contains("name")) node.name = text_member(object, what, "name");
  if (object.contains("inputs")) node.inputs = texts(object.at("inputs"), "'inputs' of " + what);
  const json args = object.value("args", json::object());
  node.args = read_args(args, what, entry.args, map || batch);
  if (map || (batch && args.contains("operations"))) node.operations = read_operations(args, what, 0);
  const json hints = object.value("hints", json::object());
  if (!hints.is_object()) throw Error("[data graph JSON] 'hints' of " + what + " is not an object");
  for (const auto& [name, value] : hints.items())
    node.hints[name] = std::get<std::int64_t>(read_value(value, ArgType::integer, "hint '" + name + "' of " + what));
  if (object.contains("callback")) {  // code, which JSON cannot carry: the reader of the file sees that there was some
    const json& steps = object.at("callback");
    if (!map || !steps.is_array() || !std::all_of(steps.begin(), steps.end(), [](const json& step) {
          return step.is_number_integer() && step.get<std::int64_t>() > 0;
        }))
      throw Error("[data graph JSON] 'callback' of " + what + " must be step sizes of a map: integers of at least 1");
  }
  complete(node);
  if (entry.kind == NodeKind::source) node.source = entry.handle(nullptr);
  return node;
}

}  // namespace

std::string to_json(const DataGraph& graph, int indent) {
  json nodes = json::array();
  for (const Node& node : graph.nodes) nodes.push_back(node_json(node, Form::file));
  const json out{{"schema", "data-graph"},
                 {"version", kVersion},
                 {"seed", graph.seed},
                 {"nodes", std::move(nodes)},
                 {"outputs", graph.outputs}};
  try {
    return out.dump(indent);
  } catch (const json::exception& e) {  // JSON is UTF-8; what nodes and columns are called need not be
    throw Error(std::string("[data graph JSON] a name of the graph is no UTF-8: ") + e.what());
  }
}

DataGraph graph_from_json(const std::string& text) {
  const json root = parse_json_tree(text, "[data graph JSON]");
  check_keys(root, "the file", {"schema", "version", "seed", "nodes", "outputs"});
  if (const json& schema = member(root, "the file", "schema"); schema != "data-graph") {
    throw Error("[data graph JSON] schema is " + schema.dump() + ", it must be \"data-graph\"");
  }
  if (const json& version = member(root, "the file", "version"); version != kVersion) {
    throw Error(
        fmt::format("[data graph JSON] version is {}, this program reads version {}", version.dump(), kVersion));
  }
  DataGraph graph;
  const json seed = root.value("seed", json(0u));
  if (!seed.is_number_unsigned())
    throw Error("[data graph JSON] seed is " + seed.dump() + ", it must be an integer of at least 0");
  graph.seed = seed.get<std::uint64_t>();
  std::set<std::string> ids;
  const json& nodes = member(root, "the file", "nodes");
  if (!nodes.is_array()) throw Error("[data graph JSON] 'nodes' is not a list");
  for (const json& object : nodes) {
    Node node = read_node(object);
    for (const std::string& input : node.inputs) {
      if (!ids.contains(input)) {
        throw Error(fmt::format("[data graph JSON] node '{}' reads '{}', which is no node above it{}", node.id, input,
                                did_you_mean(input, {ids.begin(), ids.end()})));
      }
    }
    if (!ids.insert(node.id).second) throw Error("[data graph JSON] two nodes have the id '" + node.id + "'");
    graph.nodes.push_back(std::move(node));
  }
  graph.outputs = texts(member(root, "the file", "outputs"), "'outputs'");
  for (const std::string& output : graph.outputs) {
    if (!ids.contains(output)) throw Error("[data graph JSON] 'outputs' names '" + output + "', which is no node");
  }
  give_names(graph);
  return graph;
}

namespace {

// All ranks together read the same whichever rank reads which shard: `count` shards in batches of `size` are written as
// one shard in batches of count * size, if nothing between them depends on the shard, and nothing mixes the samples of
// a batch: a mixed sample's partner is on its own rank.
void fold_shards(DataGraph& graph) {
  for (Node& batch : graph.nodes) {
    if (batch.op != node_name::kBatch || !batch.operations.empty()) continue;
    auto& size = std::get<std::int64_t>(batch.args.at("size"));
    for (Node* node = &graph.node(batch.inputs[0]); node->inputs.size() == 1; node = &graph.node(node->inputs[0])) {
      if (node->op == node_name::kShard) {
        auto& count = std::get<std::int64_t>(node->args.at("count"));
        if (size <= std::numeric_limits<std::int64_t>::max() / count) size *= std::exchange(count, 1);
      }
      const NodeKind kind = node_entry(node->op).kind;
      if (node->op != node_name::kShard && kind != NodeKind::map && kind != NodeKind::columns) break;
    }
  }
}

}  // namespace

// Nodes by their position instead of ids, which are only names.
std::uint64_t graph_hash(const DataGraph& given, HashOf of) {
  DataGraph graph = given;
  if (of == HashOf::run) fold_shards(graph);
  const Form form = of == HashOf::run ? Form::hash_of_run : Form::hash_of_part;
  json nodes = json::array();
  std::map<std::string, std::size_t> places;
  for (const Node& node : graph.nodes) {
    // shard(1, 0) does nothing: with and without it the samples are the same.
    if (node.op == node_name::kShard && arg<std::int64_t>(node.args, "count") == 1) {
      places[node.id] = places.at(node.inputs[0]);
      continue;
    }
    json object = node_json(node, form);
    object.erase("id");
    object["inputs"] = json::array();
    for (const std::string& input : node.inputs) object["inputs"].push_back(places.at(input));
    places[node.id] = nodes.size();
    nodes.push_back(std::move(object));
  }
  json outputs = json::array();
  for (const std::string& output : graph.outputs) outputs.push_back(places.at(output));
  return hash64(json{{"version", kVersion}, {"nodes", std::move(nodes)}, {"outputs", std::move(outputs)}}.dump());
}

}  // namespace ridgeline::data
