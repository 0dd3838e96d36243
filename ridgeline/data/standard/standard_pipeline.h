// ridgeline/data/standard/standard_pipeline.h
//
// The two pipelines of image classification, from records to batches: what `ridgeline train` and `evaluate` run and
// what the tools show, time and export. Values in, a graph out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/minddata/json.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/image/normalize.h"

namespace ridgeline::data {

struct StandardPipeline {
  std::int64_t image_size = 224;
  std::int64_t batch_size = 128;
  bool normalize = true;
  // ImageNet's, of pixels in 0..1.
  std::vector<double> mean{image::kImagenetMean.begin(), image::kImagenetMean.end()};
  std::vector<double> std{image::kImagenetStd.begin(), image::kImagenetStd.end()};
  // Training.
  std::uint64_t seed = 1;
  double min_area = 0.08;  // smallest share of an image that a crop covers
  // 0 or more: the image is resized as for an evaluation, so many zeros are added on all sides, and a window of the
  // image's size is cropped at random, instead of a random resized crop.
  std::int64_t crop_padding = -1;
  std::string augment = {};   // a policy of augment.h on what is cropped; empty: none
  double random_erasing = 0;  // share of the images in which a rectangle becomes the mean colour
  // Parameters of the Beta distribution by which images and labels of a batch are mixed; 0: they are not. Both: half of
  // the batches each. Labels are then f32 [N, num_classes], which must be given.
  double mixup = 0, cutmix = 0;
  std::int64_t num_classes = 0;
  std::int64_t ranks = 1, rank = 0;  // this rank's part of the rows, batch_size of it a batch
  bool flip = true;                  // half of the images, drawn anew in every epoch, are mirrored
  // One a row: an epoch draws so many rows as there are, each with the probability of its weight, instead of all in a
  // random order. Empty: it does not.
  std::vector<double> row_weights = {};
  // One of num_classes: labels are then f32 [N, num_classes], smoothed by label_smoothing and multiplied by the weight
  // of their class. Empty: they are not.
  std::vector<double> class_weights = {};
  double label_smoothing = 0;               // of these labels alone: else the loss smooths
  std::string exif_orientation = "ignore";  // of training and evaluation; or "apply", see transform/decode.h
  // Evaluation. resize: one number for the shorter side, two for both; empty: the shorter side to 256 for an image size
  // of 224, and in proportion for others.
  std::vector<std::int64_t> resize = {};
  bool drop_remainder = false;
};

// shuffle, random resized crop (or a shift: crop_padding), policy (augment), random erasing, horizontal flip (unless
// !flip), normalise, full batches, which are mixed (mixup, cutmix).
Dataset training_pipeline(const Dataset& source, const StandardPipeline& options);
// resize, central crop, normalise, batches of which the last is padded unless drop_remainder.
Dataset evaluation_pipeline(const Dataset& source, const StandardPipeline& options);

// The graph of a file: the engine's own form (data/ir/graph.h) or MindData's tree. Opens no data. Errors name the file.
DataGraph read_graph(const std::string& file, const MindDataOptions& minddata = {});
// The same graph over other data: the one source node becomes that of `source`. Several sources are an Error.
Dataset with_source(DataGraph graph, const Dataset& source);

}  // namespace ridgeline::data
