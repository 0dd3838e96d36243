#include "ridgeline/cli/pipeline_flags.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/standard/augment.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/train/recipe/datasets.h"

namespace ridgeline::cli {
namespace {

void at_least_one(const char* flag, std::int64_t value) {
  if (value < 1)
    throw Error(fmt::format("--{}={} is out of range (allowed: 1 or more)", flag, value), ErrorKind::usage);
}

// An evaluation reads the validation split where there is one.
data::Dataset source_of(const PipelineFlags& flags) {
  const data::FoundData found = data::find_data(flags.data_dir);
  const data::DataPart* validation = flags.eval && flags.split.empty() ? found.validation() : nullptr;
  return data::open_source(found, validation ? *validation : data::find_part(found, flags.split),
                           {.label_base = data::parse_label_base(flags.label_base),
                            .label_field = flags.label_field,
                            .num_classes = flags.num_classes,
                            .allow_missing_shards = flags.allow_missing_shards});
}

data::StandardPipeline pipeline_of(const Command& app, const PipelineFlags& flags) {
  data::StandardPipeline pipeline = flags.pipeline;
  for (const char* flag :
       {"--seed", "--min_area", "--crop_padding", "--augment", "--random_erasing", "--mixup", "--cutmix", "--flip"}) {
    if (flags.eval && app.given(flag))
      throw Error(fmt::format("{} has no effect with --eval: evaluations are not augmented", flag), ErrorKind::usage);
  }
  if (!pipeline.augment.empty()) data::augment_named(pipeline.augment);
  train::check_exif_orientation(pipeline.exif_orientation);
  at_least_one("image_size", pipeline.image_size);
  at_least_one("batch_size", pipeline.batch_size);
  if (!(pipeline.min_area > 0 && pipeline.min_area <= 1))
    throw Error(fmt::format("--min_area={} is out of range (allowed: (0, 1])", pipeline.min_area), ErrorKind::usage);
  if (!flags.model.empty()) {
    train::Recipe recipe;
    recipe.model = flags.model;
    recipe.image_size = app.given("--image_size") ? pipeline.image_size : 0;
    recipe.batch_size = pipeline.batch_size;
    recipe.seed = pipeline.seed;
    recipe.min_area = pipeline.min_area;
    recipe.crop_padding = pipeline.crop_padding;
    recipe.augment = pipeline.augment;
    recipe.random_erasing = pipeline.random_erasing;
    recipe.mixup = pipeline.mixup;
    recipe.cutmix = pipeline.cutmix;
    recipe.flip = pipeline.flip;
    recipe.exif_orientation = pipeline.exif_orientation;
    train::check(recipe);
    pipeline = train::pipeline_of(recipe);
  }
  pipeline.normalize = !flags.no_normalize;
  return pipeline;
}

}  // namespace

void add_pipeline_flags(Command& app, PipelineFlags& f, PipelineFlagSet set) {
  const char* group = "Pipeline";
  app.option("--data_dir", f.data_dir,
             "data set folder: TFRecords (train-*, validation-*), class folders (train/<class>/*, val/<class>/*, or "
             "<class>/* alone) or packed files (*.ridge)")
      .group(group);
  app.option("--split", f.split, "split to read: train, val or test; default: train, with --eval the validation split")
      .group(group);
  if (set.graph) {
    app.option("--graph", f.graph,
               "read the data graph from this JSON file (from export-json, or MindData's format) instead of building "
               "it from the flags below; --data_dir replaces its data")
        .group(group);
    app.option("--pixels", f.pixels,
               "resize filters of graphs in MindData's format: exact, or pillow (Pillow's instead of OpenCV's)")
        .group(group);
  }
  app.option("--image_size", f.pipeline.image_size, "side of the output images in pixels").group(group);
  if (set.batch_size) {
    app.option("--batch_size", f.pipeline.batch_size, "images per batch").group(group);
  } else {
    f.pipeline.batch_size = 1;
  }
  app.option("--seed", f.pipeline.seed, "seed of order and augmentation").group(group);
  app.option("--min_area", f.pipeline.min_area, "smallest share of the image area that a random crop covers")
      .group(group);
  app.option("--crop_padding", f.pipeline.crop_padding,
             "shift images by up to this many pixels instead of cropping and resizing; -1: off")
      .group(group);
  app.option("--augment", f.pipeline.augment,
             "augmentation policy, applied after the crop: " + joined_names(data::augment_table()))
      .group(group);
  app.option("--random_erasing", f.pipeline.random_erasing,
             "probability that a rectangle of an image is filled with the mean colour")
      .group(group);
  app.option("--mixup", f.pipeline.mixup,
             "mixup alpha: blend images and labels of a batch, weights from Beta(alpha, alpha); 0: off")
      .group(group);
  app.option("--cutmix", f.pipeline.cutmix,
             "CutMix alpha: paste rectangles of other images of the batch and weight the labels by area; 0: off")
      .group(group);
  app.boolean("--flip", f.pipeline.flip, "mirror half of the images left to right").group(group);
  app.option("--exif_orientation", f.pipeline.exif_orientation,
             "rotate and mirror images as their Exif orientation says: apply or ignore")
      .group(group);
  app.option("--model", f.model,
             "use the image size and normalisation of this model; default: ImageNet's mean and deviation")
      .group(group);
  app.flag("--eval", f.eval, "use the evaluation pipeline (resize, central crop) instead of the training pipeline")
      .group(group);
  app.flag("--no_normalize", f.no_normalize, "do not normalise: leave images as bytes of 0 to 255").group(group);
  app.option("--label_base", f.label_base, "label of the first class in records: 0, 1 or auto (detected)").group(group);
  app.option("--label_field", f.label_field,
             "tar archives: where the class is: a field such as cls, FIELD:KEY of a JSON object, / for folder names, "
             "or auto")
      .group(group);
  app.option("--num_classes", f.num_classes, "number of classes; larger labels in records are errors; 0: not checked")
      .group(group);
  app.boolean("--allow_missing_shards", f.allow_missing_shards,
              "accept record files of which shards are missing or empty")
      .group(group);
}

data::MindDataOptions minddata_options(const PipelineFlags& flags) {
  if (flags.pixels != "exact" && flags.pixels != "pillow")
    throw Error("--pixels=" + flags.pixels + " (allowed: exact, pillow)", ErrorKind::usage);
  return {.pixels = flags.pixels == "pillow" ? data::MindDataPixels::pillow : data::MindDataPixels::exact};
}

data::DataGraph graph_of(const Command& app, const PipelineFlags& flags) {
  const data::MindDataOptions minddata = minddata_options(flags);
  const auto reads_tree = [&] { return !flags.graph.empty() && data::is_minddata_json(read_file(flags.graph)); };
  if (app.given("--pixels") && !app.given("--minddata") && !reads_tree())
    throw Error("--pixels has no effect: no graph in MindData's format is read or written", ErrorKind::usage);
  if (flags.graph.empty()) {
    if (flags.data_dir.empty()) {
      const bool alone = !app.has("--graph");
      throw Error(alone ? "--data_dir is needed" : "--data_dir or --graph is needed", ErrorKind::usage);
    }
    data::StandardPipeline pipeline = pipeline_of(app, flags);
    const data::Dataset source = source_of(flags);
    pipeline.num_classes =
        flags.num_classes > 0 ? flags.num_classes : static_cast<std::int64_t>(source.class_names().size());
    return (flags.eval ? data::evaluation_pipeline(source, pipeline) : data::training_pipeline(source, pipeline))
        .graph();
  }
  for (const char* flag :
       {"--image_size", "--batch_size", "--min_area", "--crop_padding", "--augment", "--random_erasing", "--mixup",
        "--cutmix", "--flip", "--exif_orientation", "--model", "--eval", "--no_normalize"}) {
    if (app.given(flag))
      throw Error(fmt::format("{} has no effect with --graph, which contains the whole pipeline", flag),
                  ErrorKind::usage);
  }
  for (const char* flag : {"--split", "--label_base", "--label_field", "--num_classes", "--allow_missing_shards"}) {
    if (app.given(flag) && flags.data_dir.empty())
      throw Error(fmt::format("{} has no effect with --graph alone: it is for --data_dir", flag), ErrorKind::usage);
  }
  data::DataGraph graph = data::read_graph(flags.graph, minddata);
  if (!flags.data_dir.empty()) graph = data::with_source(std::move(graph), source_of(flags)).graph();
  if (app.given("--seed")) graph.seed = flags.pipeline.seed;
  return graph;
}

data::Dataset dataset_of(const Command& app, const PipelineFlags& flags) {
  data::DataGraph graph = graph_of(app, flags);
  try {
    return data::Dataset(std::move(graph));
  } catch (const Error& e) {
    throw Error((flags.graph.empty() ? "" : flags.graph + ": ") + e.what(), e.kind());
  }
}

}  // namespace ridgeline::cli
