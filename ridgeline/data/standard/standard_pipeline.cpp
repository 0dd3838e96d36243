#include "ridgeline/data/standard/standard_pipeline.h"

#include <fmt/format.h>

#include "ridgeline/core/file.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/standard/augment.h"

namespace ridgeline::data {
namespace {

Size resize_of(const StandardPipeline& options) {
  if (options.resize.size() == 2) return {options.resize[0], options.resize[1]};
  if (options.resize.size() == 1) return {options.resize[0]};
  return {(options.image_size * 256 + 112) / 224};
}

std::vector<Transform> with_tail(std::vector<Transform> transforms, const StandardPipeline& options) {
  if (options.normalize) transforms.push_back(NormalizeWith(options.mean, options.std));
  return transforms;
}

// The rows of one rank: every ranks-th, so that the batches of all ranks together are those of one rank with larger
// ones.
Dataset shard_of(const Dataset& rows, const StandardPipeline& options) {
  return options.ranks > 1 ? rows.shard(options.ranks, options.rank) : rows;
}

}  // namespace

Dataset training_pipeline(const Dataset& source, const StandardPipeline& options) {
  std::vector<Transform> transforms;
  if (options.crop_padding >= 0) {
    transforms = {Resize(resize_of(options)), RandomCropWithPadding(options.image_size, options.crop_padding)};
  } else {
    transforms = {RandomResizedCrop(options.image_size, {.scale = {options.min_area, 1.0}})};
  }
  // Before the flip, which the step may do instead (enable_data_pre_proc).
  if (!options.augment.empty()) transforms.push_back(augment_named(options.augment).make());
  if (options.flip) transforms.push_back(RandomHorizontalFlip());
  return shard_of(source.with_seed(options.seed).shuffle(), options)
      .map(with_tail(std::move(transforms), options))
      .batch(options.batch_size, {.drop_remainder = true});
}

Dataset evaluation_pipeline(const Dataset& source, const StandardPipeline& options) {
  return shard_of(source, options)
      .map(with_tail({Resize(resize_of(options)), CenterCrop(options.image_size)}, options))
      .batch(options.batch_size, {.drop_remainder = options.drop_remainder});
}

DataGraph read_graph(const std::string& file, const MindDataOptions& minddata) {
  const std::string text = read_file(file);
  try {
    return validate(is_minddata_json(text) ? from_minddata_json(text, minddata) : graph_from_json(text));
  } catch (const Error& e) {
    throw Error(file + ": " + e.what(), e.kind());
  }
}

Dataset with_source(DataGraph graph, const Dataset& source) {
  const std::vector<const Node*> places = sources_of(graph);
  if (places.size() != 1) {
    throw Error(
        fmt::format("the graph has {} sources: give it without --data_dir, its own places are used", places.size()),
        ErrorKind::usage);
  }
  const std::vector<const Node*> given = sources_of(source.graph());
  RIDGELINE_CHECK(given.size() == 1, "a source dataset with several sources");
  Node& node = graph.node(places[0]->id);
  node.op = given[0]->op;
  node.args = given[0]->args;
  node.source = given[0]->source;
  return Dataset(std::move(graph));
}

}  // namespace ridgeline::data
