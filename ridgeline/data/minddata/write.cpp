// A data graph as MindData's tree. Looks at the columns of the graph first (Decode is explicit there), writes, reads
// the result back and compares: a difference is an Error.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/minddata/forms.h"
#include "ridgeline/data/minddata/settle.h"
#include "ridgeline/data/source/class_folders.h"

namespace ridgeline::data {
namespace {

using nlohmann::json;
using Rule = MindDataRule;

json plain(const Value& value) {
  return std::visit(
      [](const auto& v) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, Tensors>)
          return json(nullptr);
        else
          return v;
      },
      value);
}

const MindDataForm* form_of(const std::vector<MindDataForm>& forms, const std::string& op) {
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const MindDataForm& f) { return f.op == op; });
  return found == forms.end() ? nullptr : &*found;
}

class Writer {
 public:
  Writer(const DataGraph& graph, const MindDataOptions& options) : graph_(graph), options_(options) {}

  json node(const Node& node) const {
    once(node);
    json out = node_entry(node.op).kind == NodeKind::source ? source(node, nullptr)
               : form_of(minddata_samplers(), node.op)      ? sampled(node)
                                                            : above(node);
    if (!out.contains("children")) {
      out["children"] = json::array();
      for (const std::string& input : node.inputs) out["children"].push_back(this->node(graph_.node(input)));
    }
    return out;
  }

 private:
  void once(const Node& node) const {
    if (readers_of(graph_, node.id).size() > 1)
      throw refusal(node.id, "two nodes read it, and MindData's form is a tree");
  }

  json value(const MindDataField& field, const Value& ours, const std::string& op) const {
    switch (field.rule) {
      case Rule::same:
      case Rule::real32: return plain(ours);
      case Rule::times_255: {
        Reals scaled = std::get<Reals>(ours);
        for (double& v : scaled) v *= 255;
        return scaled;
      }
      case Rule::count:
      case Rule::count_or_all: {
        const auto count = std::get<std::int64_t>(ours);
        if (count == 0) throw refusal(op, field.arg + " is 0, which means all in MindData");
        return count == -1 && field.rule == Rule::count ? 0 : count;
      }
      case Rule::four_sides: return Integers(4, std::get<std::int64_t>(ours));
      case Rule::colour: {
        const Integers& colour = std::get<Integers>(ours);
        return colour.size() == 1 ? Integers(3, colour[0]) : colour;
      }
      case Rule::filter: {
        const std::string& filter = std::get<std::string>(ours);
        const std::int64_t mode = minddata_mode(filter, options_.pixels);
        if (mode < 0)
          throw refusal(op,
                        fmt::format("MindData has no interpolation with the rule of '{}' (bicubic is PILCUBIC; with "
                                    "pixels=pillow, LINEAR stands for bilinear, NEAREST for nearest, AREA for box)",
                                    filter));
        return mode;
      }
      case Rule::dtype: {
        std::string name = minddata_dtype(std::get<std::string>(ours));
        if (name.empty()) throw refusal(op, "MindData has no type " + std::get<std::string>(ours));
        return name;
      }
    }
    throw InternalError("no such rule");
  }

  // All fields of an entry; every argument of ours is in one of them or has its default.
  json fields(const MindDataForm& form, const Args& args, const std::vector<ArgSpec>& specs,
              const std::vector<std::string>& settled = {}) const {
    json out = json::object();
    for (const MindDataField& field : form.fields) {
      if (field.arg.empty()) {
        if (field.written && field.only) out[field.key] = plain(*field.only);
      } else if (field.key.empty()) {
        if (field.only && args.at(field.arg) != *field.only)
          throw refusal(form.op,
                        fmt::format("{} is {}: {}", field.arg, plain(args.at(field.arg)).dump(), field.reason));
      } else {
        out[field.key] = value(field, args.at(field.arg), form.op);
      }
    }
    for (const ArgSpec& spec : specs) {
      const bool known = std::any_of(form.fields.begin(), form.fields.end(),
                                     [&](const MindDataField& f) { return f.arg == spec.name; }) ||
                         std::find(settled.begin(), settled.end(), spec.name) != settled.end();
      if (!known && (!spec.fallback || args.at(spec.name) != *spec.fallback))
        throw refusal(form.op, fmt::format("{} has no {}", form.name, spec.name));
    }
    return out;
  }

  void tuning(json& out) const {
    out["num_parallel_workers"] = kMindDataWorkers;
    if (options_.release == MindDataRelease::current) out["connector_queue_size"] = kMindDataQueue;
  }

  json above(const Node& node) const {
    if (node.op == node_name::kMap) return map(node);
    json out = json::object();
    if (node.op == node_name::kZip || node.op == node_name::kConcat) {
      out["op_type"] = node.op == node_name::kZip ? "Zip" : "Concat";
      if (node.op == node_name::kConcat) {  // the sampler of one part, which chooses all
        out["sampler"] = {{"sampler_name", "DistributedSampler"},
                          {"num_shards", 1},
                          {"shard_id", 0},
                          {"shuffle", false},
                          {"num_samples", 0},
                          {"seed", 0},
                          {"offset", -1},
                          {"even_dist", false}};
        out["children_flag_and_nums"] = out["children_start_end_index"] = json::array();
      }
      return out;
    }
    const MindDataForm* form = form_of(minddata_nodes(), node.op);
    if (!form) throw refusal(node.op, refusal_of_ours(node.op));
    if (node.op == node_name::kShuffle && arg<std::int64_t>(node.args, "buffer") < 2) return global_shuffle(node);
    if (!node.operations.empty()) throw refusal(node.op, "operations of whole batches are maps in MindData");
    out = fields(*form, node.args, node_entry(node.op).args);
    out["op_type"] = form->name;
    if (node.op == node_name::kBatch) tuning(out);
    return out;
  }

  json global_shuffle(const Node& node) const {
    const Node& input = graph_.node(node.inputs[0]);
    if (input.op != "tfrecord" || arg<std::int64_t>(node.args, "buffer") == 1)
      throw refusal(
          "shuffle",
          "MindData's Shuffle has a buffer of 2 or more rows: give it one, or use RandomSampler on the source "
          "(right on TFRecords, a shuffle of all rows is MindData's global shuffle)");
    if (arg<std::int64_t>(node.args, "seed") != -1)
      throw refusal("shuffle", "MindData does not write the seed of a shuffle down");
    json out = source(input, nullptr);
    json& records = out["children"][0];
    records["shuffle"] = 2;
    records["shuffle_global"] = records["shuffle_files"] = true;
    return out;
  }

  json map(const Node& node) const {
    if (node.operations.empty()) throw refusal("map", "it has no operation, which MindData's Map must have");
    json out{{"op_type", "Map"},
             {"input_columns", columns_of(node)},
             {"output_columns", columns_of(node)},
             {"operations", json::array()},
             {"callback", json::array()}};
    tuning(out);
    for (const std::shared_ptr<DataCallback>& callback : node.callbacks)
      out["callback"].push_back(callback->step_size());
    for (const Transform& t : node.operations) {
      const MindDataForm* form = form_of(minddata_operations(), t.op);
      const TransformEntry& entry = transform_entry(t.op);
      if (entry.made_by_pass) throw refusal(t.op, "passes make it: write the graph before them");
      if (!form) throw refusal(t.op, "MindData has no operation like it");
      out["operations"].push_back({{"tensor_op_name", form->name},
                                   {"tensor_op_params", fields(*form, t.args, entry.args, {"min_object_covered"})}});
    }
    return out;
  }

  // A chain of samplers down to its source.
  json sampled(const Node& top) const {
    const Node* below = nullptr;
    const json sampler = sampler_chain(top, below);
    if (node_entry(below->op).kind != NodeKind::source)
      throw refusal(top.op, fmt::format("MindData's samplers belong to a source, this one lies above {}", below->op));
    once(*below);
    return source(*below, &sampler);
  }

  json sampler_chain(const Node& node, const Node*& below) const {
    once(node);
    json out = one_sampler(*form_of(minddata_samplers(), node.op), node);
    below = &graph_.node(node.inputs[0]);
    if (form_of(minddata_samplers(), below->op)) out["child_sampler"] = json::array({sampler_chain(*below, below)});
    return out;
  }

  json one_sampler(const MindDataForm& form, const Node& node) const {
    json out = fields(form, node.args, node_entry(node.op).args, {"classes", "seed"});
    out["sampler_name"] = form.name;
    if (form.name == "SubsetSampler" || form.name == "SubsetRandomSampler") out["num_samples"] = 0;
    if (form.name == "PKSampler") {
      if (!arg<bool>(node.args, "shuffle"))
        throw refusal(node.op, "without shuffle it takes the first rows of a class; MindData's draws them");
      const auto classes = arg<std::int64_t>(node.args, "classes");
      out["num_samples"] = classes == -1 ? 0 : classes * arg<std::int64_t>(node.args, "per_class");
    }
    if (form.name == "DistributedSampler") {
      const auto seed = arg<std::int64_t>(node.args, "seed");
      const bool shuffle = arg<bool>(node.args, "shuffle");
      if (shuffle && (seed < 0 || seed > 0xffffffffll))
        throw refusal(node.op, "MindData's DistributedSampler has a seed of its own of 32 bits: give it one");
      out["seed"] = shuffle ? seed : 0;
    }
    return out;
  }

  // `sampler` null: all records in their order.
  json source(const Node& node, const json* sampler) const {
    if (node.op == "tfrecord") {
      if (sampler) throw refusal("a sampler on tfrecord", "MindData's TFRecordDataset takes none");
      return tfrecord(node);
    }
    json out{{"children", json::array()}};
    tuning(out);
    out["sampler"] =
        sampler ? *sampler : json{{"sampler_name", "SequentialSampler"}, {"start_index", 0}, {"num_samples", 0}};
    if (node.op == "image_folder") {
      const Texts& extensions = arg<Texts>(node.args, "extensions");
      out["op_type"] = "ImageFolderDataset";
      out["dataset_dir"] = arg<std::string>(node.args, "dir");
      out["decode"] = false;
      out["class_indexing"] = json::object();
      const Texts& classes = arg<Texts>(node.args, "classes");
      const Integers& labels = arg<Integers>(node.args, "labels");
      for (std::size_t i = 0; i < classes.size(); ++i) out["class_indexing"][classes[i]] = labels[i];
      // MindData's empty list takes every file; ours for those that can be decoded.
      out["extensions"] = extensions == image_extensions() ? Texts{} : extensions;
      if (options_.release == MindDataRelease::current) out["recursive"] = false;
      return out;
    }
    if (node.op == "idx") {
      const std::filesystem::path images = arg<std::string>(node.args, "images");
      const std::filesystem::path labels = arg<std::string>(node.args, "labels");
      for (const auto& [usage, prefix] : {std::pair{"train", "train"}, std::pair{"test", "t10k"}}) {
        if (images.filename() != fmt::format("{}-images-idx3-ubyte", prefix) ||
            labels.filename() != fmt::format("{}-labels-idx1-ubyte", prefix) ||
            images.parent_path() != labels.parent_path())
          continue;
        out["op_type"] = "MnistDataset";
        out["dataset_dir"] = images.parent_path().string();
        out["usage"] = usage;
        return out;
      }
      throw refusal("idx",
                    "MnistDataset reads train-images-idx3-ubyte and train-labels-idx1-ubyte (or t10k-...) of one "
                    "folder, not other names or compressed files");
    }
    if (node.op == "cifar") {
      const Texts& files = arg<Texts>(node.args, "files");
      const std::string dir = std::filesystem::path(files.front()).parent_path().string();
      for (const char* usage : {"train", "test", "all"}) {
        if (arg<std::string>(node.args, "kind") != "cifar10" || files != cifar10_files(dir, usage)) continue;
        out["op_type"] = "Cifar10Dataset";
        out["dataset_dir"] = dir;
        out["usage"] = usage;
        return out;
      }
      throw refusal("cifar",
                    "Cifar10Dataset reads data_batch_1.bin to data_batch_5.bin, test_batch.bin or all six of one "
                    "folder, not other files and not CIFAR-100, which has two labels there");
    }
    throw refusal(node.op, refusal_of_ours(node.op));
  }

  // Its columns have the names of the Examples' keys in MindData: a Rename gives ours.
  json tfrecord(const Node& node) const {
    const Texts& files = arg<Texts>(node.args, "files");
    for (const std::string& file : files) {
      if (file.find_first_of("*?[") != std::string::npos)
        throw refusal("tfrecord", "MindData takes names of files, not the pattern " + file);
    }
    if (arg<std::string>(node.args, "label_base") != "0")
      throw refusal("tfrecord", "MindData delivers labels as they are stored: set label_base to 0");
    const MindDataForm form{
        "TFRecordDataset", "tfrecord", {{"dataset_files", "files"}, {"", "label_base", Rule::same, std::string("0")}}};
    json records = fields(form, node.args, node_entry(node.op).args);
    tuning(records);
    records.update({{"op_type", "TFRecordDataset"},
                    {"columns_list", {"image/encoded", "image/class/label"}},
                    {"num_samples", 0},
                    {"shuffle", 0},
                    {"shuffle_global", false},
                    {"shuffle_files", false},
                    {"num_shards", 1},
                    {"shard_id", 0},
                    {"shard_equal_rows", false},
                    {"schema_file_path", ""},
                    {"children", json::array()}});
    return {{"op_type", "Rename"},
            {"input_columns", {"image/encoded", "image/class/label"}},
            {"output_columns", {"image", "label"}},
            {"children", json::array({std::move(records)})}};
  }

  const DataGraph& graph_;
  const MindDataOptions& options_;
};

}  // namespace

std::string to_minddata_json(const DataGraph& given, int indent, const MindDataOptions& options) {
  const DataGraph graph = settle(given);
  std::string text;
  try {
    text = Writer(graph, options).node(graph.output()).dump(indent);
  } catch (const json::exception& e) {  // JSON is UTF-8; paths need not be
    throw Error(std::string("[MindData JSON] a path or name of the graph is no UTF-8, as that form must be: ") +
                e.what());
  }
  const DataGraph back = settle(from_minddata_json(text, options));
  const std::string found = difference(graph, back);
  if (!found.empty())
    throw Error("[MindData JSON] the graph cannot be written: MindData has no place for what tells it apart, and " +
                found + " would come back");
  return text;
}

}  // namespace ridgeline::data
