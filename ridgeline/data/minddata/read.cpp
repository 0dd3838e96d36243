// MindData's tree as a data graph: nodes, maps and joins.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/minddata/operations.h"
#include "ridgeline/data/minddata/reader.h"

namespace ridgeline::data {
namespace {

bool is_source(const std::string& op_type) {
  const std::vector<std::string>& names = minddata_sources();
  return std::find(names.begin(), names.end(), op_type) != names.end();
}

const MindDataForm& known_node(const std::string& op_type) {
  for (const MindDataForm& form : minddata_nodes()) {
    if (form.name == op_type) return form;
  }
  std::vector<MindDataForm> forms = minddata_nodes();
  for (const char* name : {"Map", "Zip", "Concat"}) forms.push_back({name, "", {}});
  for (const std::string& name : minddata_sources()) forms.push_back({name, "", {}});
  form_named(forms, op_type, "op_type");
  throw InternalError("no form of a node");
}

}  // namespace

DataGraph MindDataReader::read(const MindDataTree& root) {
  node(root, 0);
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

std::string MindDataReader::node(const MindDataTree& given, int depth) {
  const std::string op_type = given.called("a node").get<std::string>("op_type");
  const MindDataTree object = given.called(op_type);
  if (depth > kMindDataDepth) throw object.wrong("the tree is too deep");
  const std::vector<MindDataTree> children = object.list("children");
  if (const std::string reason = minddata_refusal(op_type); !reason.empty())
    throw object.wrong("cannot be read: " + reason);
  if (is_source(op_type)) {
    if (!children.empty()) throw object.wrong("has children, but is a source");
    return op_type == "ImageFolderDataset" ? image_folder(object)
           : op_type == "MnistDataset"     ? mnist(object)
           : op_type == "Cifar10Dataset"   ? cifar10(object)
                                           : tfrecord(object, {});
  }
  const bool many = op_type == "Zip" || op_type == "Concat";
  const MindDataForm* form = many || op_type == "Map" ? nullptr : &known_node(op_type);
  if (many ? children.size() < 2 : children.size() != 1)
    throw object.wrong(fmt::format("has {} children, it must have {}", children.size(), many ? "2 or more" : "1"));
  if (op_type == "Rename" && children[0].has("op_type") && children[0].get<std::string>("op_type") == "TFRecordDataset")
    return renamed_tfrecord(object, children[0], depth);
  std::vector<std::string> inputs;
  inputs.reserve(children.size());
  for (const MindDataTree& child : children) inputs.push_back(node(child, depth + 1));
  if (op_type == "Map") return map(object, inputs[0]);
  if (many) return join(object, op_type, std::move(inputs));
  const Args args = fields(object, *form, node_entry(form->op).args, {"op_type", "children"}, true);
  if (op_type == "Shuffle" && arg<std::int64_t>(args, "buffer") < 2)
    throw object.wrong(fmt::format("buffer_size is {}, it must be at least 2", arg<std::int64_t>(args, "buffer")));
  return graph_.add({.op = form->op, .inputs = std::move(inputs), .args = args});
}

std::string MindDataReader::map(const MindDataTree& object, const std::string& input) {
  fields(object, {"Map", "map", {}}, {},
         {"op_type", "children", "callback", "operations", "input_columns", "output_columns", "project_columns"}, true);
  for (const std::int64_t step : object.get<Integers>("callback")) {
    if (step < 1) throw object.wrong(fmt::format("callback has the step size {}, it must be at least 1", step));
  }
  Texts columns = object.get<Texts>("input_columns");
  const Texts output = object.get<Texts>("output_columns");
  // MindData's first operation takes the first column where none is named.
  if (columns.empty()) columns = {first_column(input)};
  if (!output.empty() && output != columns)
    throw object.wrong(fmt::format("output_columns is [{}]: operations keep their columns [{}] here (use Rename)",
                                   fmt::join(output, ", "), fmt::join(columns, ", ")));
  Node map{.op = "map", .inputs = {input}, .args = {{"columns", columns}}};
  for (const MindDataTree& operation : object.list("operations")) this->operation(operation, map.operations);
  if (map.operations.empty()) throw object.wrong("operations is empty");
  const std::string id = graph_.add(std::move(map));
  const Texts project = object.has("project_columns") ? object.get<Texts>("project_columns") : Texts{};
  return project.empty() ? id : graph_.add({.op = "project", .inputs = {id}, .args = {{"columns", project}}});
}

std::string MindDataReader::first_column(const std::string& id) const {
  const Node& node = graph_.node(id);
  if (node.inputs.empty()) return "image";  // of every source that is read here
  if (node.op == node_name::kProject) return arg<Texts>(node.args, "columns").at(0);
  std::string name = first_column(node.inputs[0]);
  if (node.op != node_name::kRename) return name;
  const Texts &from = arg<Texts>(node.args, "from"), &to = arg<Texts>(node.args, "to");
  const auto at = static_cast<std::size_t>(std::find(from.begin(), from.end(), name) - from.begin());
  return at < std::min(from.size(), to.size()) ? to[at] : name;
}

void MindDataReader::operation(const MindDataTree& object, std::vector<Transform>& to) const {
  const std::string name = object.called("an operation").get<std::string>("tensor_op_name");
  if (object.has("python_module"))
    throw object.called(name).wrong("is Python (" + object.text_of("python_module") + "), which cannot be read");
  object.called("operation " + name).check_keys({"tensor_op_name", "tensor_op_params"});
  const MindDataForm& form = form_named(minddata_operations(), name, "tensor_op_name");
  Args args = fields(object.called(name).object("tensor_op_params").called(name), form, transform_entry(form.op).args);
  if (form.op == "resize" && arg<Integers>(args, "size").size() == 2) args.erase("size_rule");
  if (form.op == "decode_random_resized_crop") {
    to.push_back({"decode", {}, ""});
    to.push_back({"random_resized_crop", args, ""});
  } else {
    to.push_back({form.op, args, ""});
  }
}

std::string MindDataReader::join(const MindDataTree& object, const std::string& op_type,
                                 std::vector<std::string> inputs) {
  if (op_type == "Zip") {
    object.check_keys({"op_type", "children"});
    return graph_.add({.op = "zip", .inputs = std::move(inputs)});
  }
  // The last two keys restrict the rows of a distributing sampler: without one they have no effect.
  const std::vector<MindDataField> keys{
      {"sampler", ""}, {"children_flag_and_nums", ""}, {"children_start_end_index", ""}};
  fields(object, {"Concat", "concat", keys}, {}, {"op_type", "children"});
  const MindDataTree sampler = object.object("sampler");
  const bool all = sampler.get<std::string>("sampler_name") == "DistributedSampler" &&
                   sampler.get<std::int64_t>("num_shards") == 1 && !sampler.get<bool>("shuffle") &&
                   sampler.get<std::int64_t>("num_samples") == 0;
  if (!all) throw object.wrong("its sampler shares rows out or shuffles them: use samplers on the sources here");
  return graph_.add({.op = "concat", .inputs = std::move(inputs)});
}

std::vector<Transform> MindDataReader::operations(const MindDataTree& map) const {
  std::vector<Transform> transforms;
  for (const MindDataTree& operation : map.list("operations")) this->operation(operation, transforms);
  return transforms;
}

std::vector<Transform> transforms_of_minddata_json(const std::string& text, const MindDataOptions& options) {
  return MindDataReader(options).operations(MindDataTree::parse(text));
}

DataGraph from_minddata_json(const std::string& text, const MindDataOptions& options) {
  return MindDataReader(options).read(MindDataTree::parse(text));
}

}  // namespace ridgeline::data
