// MindData's sources and their samplers as nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/minddata/reader.h"

namespace ridgeline::data {
namespace {

using Rule = MindDataRule;

}  // namespace

std::string MindDataReader::sampler(const MindDataTree& given, std::string id, int depth) {
  const std::string name = given.called("sampler").get<std::string>("sampler_name");
  const MindDataTree object = given.called(name);
  if (depth > kMindDataDepth) throw object.wrong("the chain of samplers is too long");
  const MindDataForm& form = form_named(minddata_samplers(), name, "sampler_name");
  Node node{.op = form.op, .args = fields(object, form, node_entry(form.op).args, {"sampler_name", "child_sampler"})};
  const auto count = object.get<std::int64_t>("num_samples");
  if (count < 0) throw object.wrong(fmt::format("num_samples must be greater than or equal to 0, but got: {}", count));
  std::vector<MindDataTree> children;
  if (object.has("child_sampler")) children = object.list("child_sampler");
  if (children.size() > 1) throw object.wrong("child_sampler must be a list of at most one sampler");
  if (!children.empty()) {
    if (name == "PKSampler") throw object.wrong("has a child_sampler; it must lie right on its source here");
    id = sampler(children[0], std::move(id), depth + 1);
  } else if (name == "SequentialSampler" && depth == 0 && count == 0 && arg<std::int64_t>(node.args, "start") == 0) {
    return id;  // all records in their order
  }
  std::int64_t first = 0;  // of its rows, where it has no such argument
  if (name == "SubsetSampler" && count > 0) {
    auto& indices = std::get<Integers>(node.args.at("indices"));
    indices.resize(std::min(indices.size(), static_cast<std::size_t>(count)));
  }
  if (name == "SubsetRandomSampler") first = count;
  if (name == "PKSampler") {
    const auto rows = arg<std::int64_t>(node.args, "per_class");
    if (!arg<bool>(node.args, "shuffle"))
      throw object.wrong("shuffle is false: MindData draws the rows of a class also then, here it takes the first");
    if (rows < 1) throw object.wrong(fmt::format("num_val must be greater than 0, but got: {}", rows));
    if (count % rows != 0)
      throw object.wrong(fmt::format("num_samples is {}: here it must be whole classes of {} rows", count, rows));
    if (count > 0) node.args["classes"] = count / rows;
  }
  if (name == "DistributedSampler") {
    const auto seed = object.get<std::int64_t>("seed");
    if (seed < 0 || seed > 0xffffffffll) throw object.wrong(fmt::format("seed is {}, it must have 32 bits", seed));
    if (arg<bool>(node.args, "shuffle")) node.args["seed"] = seed;
  }
  node.inputs = {id};
  id = graph_.add(std::move(node));
  if (first > 0) id = graph_.add({.op = "sequential_sampler", .inputs = {id}, .args = {{"count", first}}});
  return id;
}

std::string MindDataReader::image_folder(const MindDataTree& object) {
  const MindDataForm form{
      "ImageFolderDataset",
      "image_folder",
      {{"dataset_dir", "dir"},
       {"extensions", ""},
       {"decode", ""},
       {"class_indexing", ""},
       {"recursive", "", Rule::same, false, "folders in a class folder would be classes of their own", true}}};
  Args args = fields(object, form, node_entry("image_folder").args, {"op_type", "children", "sampler"}, true);
  args["recursive"] = false;  // MindData reads the files right in a class folder
  const MindDataTree indexing = object.object("class_indexing");
  if (!indexing.empty()) {
    Integers labels;
    for (const std::string& name : indexing.keys()) labels.push_back(indexing.get<std::int64_t>(name));
    args["classes"] = indexing.keys();  // sorted, as MindData takes them
    args["labels"] = labels;
  }
  Texts extensions;
  for (std::string extension : object.get<Texts>("extensions")) {
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) extensions.push_back(extension);
  }
  if (!extensions.empty()) args["extensions"] = extensions;
  const bool decode = object.get<bool>("decode");
  std::string id = graph_.add({.op = "image_folder", .args = args});
  id = sampler(object.object("sampler"), id);
  if (decode) id = graph_.add({.op = "map", .inputs = {id}, .operations = {{"decode", {}, ""}}});
  return id;
}

std::string MindDataReader::mnist(const MindDataTree& object) {
  fields(object, {"MnistDataset", "idx", {{"dataset_dir", ""}, {"usage", ""}}}, {}, {"op_type", "children", "sampler"},
         true);
  const std::string usage = object.get<std::string>("usage");
  if (usage != "train" && usage != "test")
    throw object.wrong("usage is '" + usage + "': here one node reads train or test (concat joins them)");
  const std::string prefix = object.get<std::string>("dataset_dir") + "/" + (usage == "train" ? "train" : "t10k");
  const std::string id = graph_.add(
      {.op = "idx", .args = {{"images", prefix + "-images-idx3-ubyte"}, {"labels", prefix + "-labels-idx1-ubyte"}}});
  return sampler(object.object("sampler"), id);
}

std::string MindDataReader::cifar10(const MindDataTree& object) {
  fields(object, {"Cifar10Dataset", "cifar", {{"dataset_dir", ""}, {"usage", ""}}}, {},
         {"op_type", "children", "sampler"}, true);
  const std::string dir = object.get<std::string>("dataset_dir"), usage = object.get<std::string>("usage");
  const Texts files = cifar10_files(dir, usage);
  if (files.empty()) throw object.wrong("usage is '" + usage + "', it must be train, test or all");
  if (dir.find_first_of("*?[") != std::string::npos)
    throw object.wrong("dataset_dir: " + dir + " would be a pattern here");
  const std::string id = graph_.add({.op = "cifar", .args = {{"files", files}}});
  return sampler(object.object("sampler"), id);
}

std::string MindDataReader::tfrecord(const MindDataTree& object, std::vector<std::string> names) {
  const Texts keys{"image/encoded", "image/class/label"};
  const char* shards = "records are shared out by DistributedSampler of other sources, or Dataset::shard, here";
  const MindDataForm form{
      "TFRecordDataset",
      "tfrecord",
      {{"dataset_files", "files"},
       {"columns_list", "", Rule::same, keys, "only image/encoded and image/class/label are read here"},
       {"num_samples", ""},
       {"shuffle", ""},
       {"shuffle_global", ""},
       {"shuffle_files", ""},
       {"num_shards", "", Rule::same, std::int64_t{1}, shards},
       {"shard_id", "", Rule::same, std::int64_t{0}, shards},
       {"shard_equal_rows", "", Rule::same, false, shards},
       {"schema_file_path", "", Rule::same, std::string(), "the columns of slim ImageNet records are known here"},
       {"compression_type", "", Rule::same, std::nullopt, "", true}}};
  Args args = fields(object, form, node_entry("tfrecord").args, {"op_type", "children"}, true);
  for (const std::string& file : arg<Texts>(args, "files")) {
    if (file.find_first_of("*?[") != std::string::npos)
      throw object.wrong("dataset_files: " + file + " would be a pattern here");
  }
  if (object.has("compression_type")) {  // files tell it here
    const std::string type = object.get<std::string>("compression_type");
    if (!type.empty() && type != "GZIP" && type != "ZLIB")
      throw object.wrong("compression_type is '" + type + "', it must be GZIP, ZLIB or empty");
  }
  args["label_base"] = std::string("0");
  const auto shuffle = object.get<std::int64_t>("shuffle");
  if ((shuffle != 0 && shuffle != 2) || object.get<bool>("shuffle_global") != (shuffle == 2) ||
      object.get<bool>("shuffle_files") != (shuffle == 2))
    throw object.wrong(fmt::format(
        "shuffle is {}: here it can be 0 (none) or 2 (global, with shuffle_global and shuffle_files)", shuffle));
  std::string id = graph_.add({.op = "tfrecord", .args = args});
  const auto count = object.get<std::int64_t>("num_samples");
  if (count < 0) throw object.wrong(fmt::format("num_samples is {}, it must be at least 0", count));
  if (count > 0) id = graph_.add({.op = "take", .inputs = {id}, .args = {{"count", count}}});
  if (shuffle == 2) id = graph_.add({.op = "shuffle", .inputs = {id}, .args = {}});
  if (names.empty()) names = keys;
  if (names == Texts{"image", "label"}) return id;
  return graph_.add({.op = "rename", .inputs = {id}, .args = {{"from", Texts{"image", "label"}}, {"to", names}}});
}

std::string MindDataReader::renamed_tfrecord(const MindDataTree& rename, const MindDataTree& records, int depth) {
  const Args args = fields(rename, form_named(minddata_nodes(), "Rename", "op_type"), node_entry("rename").args,
                           {"op_type", "children"}, true);
  if (arg<Texts>(args, "from") == Texts{"image/encoded", "image/class/label"} && arg<Texts>(args, "to").size() == 2)
    return tfrecord(records.called("TFRecordDataset"), arg<Texts>(args, "to"));
  return graph_.add({.op = "rename", .inputs = {node(records, depth + 1)}, .args = args});
}

}  // namespace ridgeline::data
