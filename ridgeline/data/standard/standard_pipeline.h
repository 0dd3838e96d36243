// ridgeline/data/standard/standard_pipeline.h
//
// The two pipelines of image classification, from records to batches: `ridgeline train` and `evaluate` run them, the
// tools show, time and export them. Pure functions.
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
  // ImageNet's, for pixels in 0..1.
  std::vector<double> mean{image::kImagenetMean.begin(), image::kImagenetMean.end()};
  std::vector<double> std{image::kImagenetStd.begin(), image::kImagenetStd.end()};
  // Training.
  std::uint64_t seed = 1;
  double min_area = 0.08;  // smallest share of an image that a crop covers
  // 0 or more: instead of a random resized crop, the image is resized as for an evaluation, that many zeros are added
  // on all sides, and a window of the image's size is cropped at random.
  std::int64_t crop_padding = -1;
  std::string augment = {};   // a policy of augment.h, applied to the crop; empty: none
  double random_erasing = 0;  // share of the images in which a rectangle becomes the mean colour
  // Parameters of the Beta distribution by which images and labels of a batch are mixed; 0: no mixing. If both are
  // given, each is used for half of the batches. Labels are then f32 [N, num_classes], which must be given.
  double mixup = 0, cutmix = 0;
  std::int64_t num_classes = 0;
  std::int64_t ranks = 1, rank = 0;  // this rank's shard of the rows; batch_size is this rank's
  bool flip = true;                  // mirrors each image with probability 1/2, drawn anew in every epoch
  // One for each row: an epoch draws as many rows as there are, in proportion to these weights, instead of every row
  // once in random order. Empty: every row once.
  std::vector<double> row_weights = {};
  // One for each of num_classes: labels are then f32 [N, num_classes], smoothed by label_smoothing and multiplied by
  // the weight of their class. Empty: labels stay classes.
  std::vector<double> class_weights = {};
  double label_smoothing = 0;               // only of these labels: otherwise the loss smooths
  std::string exif_orientation = "ignore";  // of training and evaluation; or "apply", see transform/decode.h
  // Evaluation. resize: one number for the shorter side, two for both; empty: the shorter side to 256 for an image size
  // of 224, in proportion for other sizes.
  std::vector<std::int64_t> resize = {};
  bool drop_remainder = false;
};

// shuffle, random resized crop (or a shift: crop_padding), policy (augment), random erasing, horizontal flip (unless
// !flip), normalise, full batches, which are mixed (mixup, cutmix).
Dataset training_pipeline(const Dataset& source, const StandardPipeline& options);
// resize, central crop, normalise, batches of which the last is padded unless drop_remainder.
Dataset evaluation_pipeline(const Dataset& source, const StandardPipeline& options);

// The graph in a file: in our own format (data/ir/graph.h) or as MindData's tree. Opens no data. Errors name the file.
DataGraph read_graph(const std::string& file, const MindDataOptions& minddata = {});
// The same graph over other data: its only source node is replaced by that of `source`. Several sources are an Error.
Dataset with_source(DataGraph graph, const Dataset& source);

}  // namespace ridgeline::data
