#include "ridgeline/data/minddata/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/minddata/forms.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/source/class_folders.h"

namespace ridgeline::data {
namespace {

bool has_boxes(const DataGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.op == "tfrecord"; });
}

const Node& without_no_ops(const DataGraph& graph, const Node* node) {
  while (node->op == node_name::kSequentialSampler && arg<std::int64_t>(node->args, "start") == 0 &&
         arg<std::int64_t>(node->args, "count") == -1)
    node = &graph.node(node->inputs[0]);
  return *node;
}

// Classes without labels count from 0. `recursive` is settled to false, which is MindData's rule, where it changes
// nothing.
void settle_folder(Node& node) {
  const Texts& classes = arg<Texts>(node.args, "classes");
  Integers& labels = std::get<Integers>(node.args.at("labels"));
  if (labels.empty()) {
    labels.resize(classes.size());
    std::iota(labels.begin(), labels.end(), 0);
  }
  if (!arg<bool>(node.args, "recursive")) return;
  const std::string& dir = arg<std::string>(node.args, "dir");
  const char* rule =
      "MindData reads the files right in a class folder only: set recursive to false to leave others out";
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored))
    throw refusal("image_folder",
                  fmt::format("there is no {} here to see whether class folders hold folders. {}", dir, rule));
  const ClassFolders found = list_class_folders(dir, arg<Texts>(node.args, "extensions"), {.classes = classes});
  for (const ClassFolders::File& file : found.files) {
    const std::string& name = found.classes[static_cast<std::size_t>(file.label)];
    if (std::filesystem::path(file.path).parent_path() != std::filesystem::path(dir) / name)
      throw refusal("image_folder", fmt::format("{} lies in a folder in a class folder. {}", file.path, rule));
  }
  node.args["recursive"] = false;
}

std::string difference(const DataGraph& a, const Node& above_a, const DataGraph& b, const Node& above_b) {
  const Node &x = without_no_ops(a, &above_a), &y = without_no_ops(b, &above_b);
  if (x.op != y.op || x.inputs.size() != y.inputs.size()) return fmt::format("{} as {}", x.op, y.op);
  if (x.args != y.args) return fmt::format("other arguments of {}", x.op);
  const auto stream = [](const std::string& was, const std::string& is) {
    return fmt::format("the random stream '{}' as '{}'", was, is);
  };
  if (node_entry(x.op).random && x.name != y.name) return stream(x.name, y.name);
  if (x.operations.size() != y.operations.size()) return fmt::format("other operations of {}", x.op);
  for (std::size_t i = 0; i < x.operations.size(); ++i) {
    const Transform &s = x.operations[i], &t = y.operations[i];
    if (s.op != t.op || s.args != t.args) return fmt::format("other arguments of {}", s.op);
    if (transform_entry(s.op).random && s.name != t.name) return stream(s.name, t.name);
  }
  for (std::size_t i = 0; i < x.inputs.size(); ++i) {
    if (std::string found = difference(a, a.node(x.inputs[i]), b, b.node(y.inputs[i])); !found.empty()) return found;
  }
  return "";
}

}  // namespace

Error refusal(const std::string& op, const std::string& why) {
  return Error(fmt::format("[MindData JSON] {} cannot be written: {}", op, why));
}

DataGraph settle(const DataGraph& given) {
  DataGraph graph = resolve_schema(validate(given));
  const bool boxes = has_boxes(graph);
  for (Node& node : graph.nodes) {
    if (node.op == "image_folder") settle_folder(node);
    if (node.op == node_name::kDistributedSampler && !arg<bool>(node.args, "shuffle"))
      node.args["seed"] = std::int64_t{-1};
    for (Transform& t : node.operations) {
      if (t.op == "resize" && arg<Integers>(t.args, "size").size() == 2) t.args["size_rule"] = std::string("mindata");
      if (t.op == "random_crop") t.args["fill"] = short_colour(arg<Integers>(t.args, "fill"));
      const auto covered = t.args.find("min_object_covered");
      if (covered == t.args.end()) continue;
      if (!boxes) covered->second = 0.0;
      if (covered->second != Value(0.0))
        throw refusal(t.op, "MindData's crop ignores bounding boxes: set min_object_covered to 0");
    }
  }
  return graph;
}

std::string difference(const DataGraph& a, const DataGraph& b) { return difference(a, a.output(), b, b.output()); }

}  // namespace ridgeline::data
