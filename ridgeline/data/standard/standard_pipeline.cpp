#include "ridgeline/data/standard/standard_pipeline.h"

#include <fmt/format.h>

#include <cmath>

#include "ridgeline/core/file.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/standard/augment.h"
#include "ridgeline/data/transform/decode.h"
#include "ridgeline/data/transform/erase.h"
#include "ridgeline/data/transform/mix.h"
#include "ridgeline/data/transform/nested.h"
#include "ridgeline/data/transform/value.h"

namespace ridgeline::data {
namespace {

Size resize_of(const StandardPipeline& options) {
  if (options.resize.size() == 2) return {options.resize[0], options.resize[1]};
  if (options.resize.size() == 1) return {options.resize[0]};
  return {(options.image_size * 256 + 112) / 224};
}

// What decodes, where that is not what is implied.
std::vector<Transform> decoding(const StandardPipeline& options) {
  if (options.exif_orientation == DecodeOptions().exif_orientation) return {};
  return {Decode({.exif_orientation = options.exif_orientation})};
}

std::vector<Transform> with_tail(std::vector<Transform> transforms, const StandardPipeline& options) {
  if (options.normalize) transforms.push_back(NormalizeWith(options.mean, options.std));
  return transforms;
}

// 0 after the normalisation, except for rounding.
std::vector<double> mean_pixel(const StandardPipeline& options) {
  std::vector<double> pixel;
  for (const double mean : options.mean) pixel.push_back(std::round(255 * mean));
  return pixel;
}

std::vector<Transform> mixing_of(const StandardPipeline& options) {
  if (options.mixup == 0 && options.cutmix == 0) return {};
  if (options.num_classes < 1) throw Error("[training_pipeline] mixing needs the number of classes (num_classes)");
  if (options.cutmix == 0) return {MixUp(options.mixup)};
  if (options.mixup == 0) return {CutMix(options.cutmix)};
  return {RandomChoice({MixUp(options.mixup), CutMix(options.cutmix)})};
}

// The rows of one rank: every ranks-th, so that the batches of all ranks together are those of one rank with larger
// ones.
Dataset shard_of(const Dataset& rows, const StandardPipeline& options) {
  return options.ranks > 1 ? rows.shard(options.ranks, options.rank) : rows;
}

}  // namespace

Dataset training_pipeline(const Dataset& source, const StandardPipeline& options) {
  std::vector<Transform> transforms = decoding(options);
  if (options.crop_padding >= 0) {
    transforms.push_back(Resize(resize_of(options)));
    transforms.push_back(RandomCropWithPadding(options.image_size, options.crop_padding));
  } else {
    transforms.push_back(RandomResizedCrop(options.image_size, {.scale = {options.min_area, 1.0}}));
  }
  // Before the flip, which the step may do instead (enable_data_pre_proc).
  if (!options.augment.empty()) transforms.push_back(augment_named(options.augment).make());
  if (options.random_erasing != 0)
    transforms.push_back(RandomErasing({.p = options.random_erasing, .value = mean_pixel(options)}));
  if (options.flip) transforms.push_back(RandomHorizontalFlip());
  const Dataset seeded = source.with_seed(options.seed);
  const Dataset ordered =
      options.row_weights.empty() ? seeded.shuffle() : seeded.sample(WeightedRandomSampler(options.row_weights));
  Dataset rows = shard_of(ordered, options).map(with_tail(std::move(transforms), options));
  std::vector<Transform> mixing = mixing_of(options);
  if (!options.class_weights.empty()) {
    rows =
        rows.map_columns({kLabelColumn}, {OneHot(options.num_classes, options.label_smoothing, options.class_weights)});
  } else if (!mixing.empty()) {
    rows = rows.map_columns({kLabelColumn}, {OneHot(options.num_classes)});
  }
  return rows.batch(options.batch_size, {.drop_remainder = true, .operations = std::move(mixing)});
}

Dataset evaluation_pipeline(const Dataset& source, const StandardPipeline& options) {
  std::vector<Transform> transforms = decoding(options);
  transforms.push_back(Resize(resize_of(options)));
  transforms.push_back(CenterCrop(options.image_size));
  return shard_of(source, options)
      .map(with_tail(std::move(transforms), options))
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
