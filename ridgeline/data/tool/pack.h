// ridgeline/data/tool/pack.h
//
// Packs one split of a data directory into one of Ridgeline's own files (format/record/packed.h): encoded images and
// labels in the order of the source, class names, and the source. Optionally images are stored smaller, once for all
// epochs. The file appears under its name when it is complete.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/data/make/make_tfrecord.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/image/orientation.h"

namespace ridgeline::data {

struct PackOptions {
  std::string split;            // train, val or test; "": the training split, or all if the data has no splits
  OpenOptions source = {};      // of records
  std::int64_t short_side = 0;  // larger images are resized (bilinear, Pillow's rule) and stored as JPEG; 0: all as is
  int quality = 95;             // of those JPEGs, 1 to 100
  // Whether those are turned upright by the originals' Exif, which they do not keep.
  image::ExifOrientation exif_orientation = image::ExifOrientation::ignore;
  int workers = 0;  // 0: one per core
  Progress progress = {};
};

struct PackReport {
  std::int64_t records = 0;
  std::int64_t resized = 0;
  std::int64_t bytes_in = 0, bytes_out = 0;  // of the images
  std::int64_t orientations_dropped = 0;     // resized images that are rotated by their Exif and were not turned
  std::int64_t objects_dropped = 0;          // records with bounding boxes, which the file does not keep
  std::vector<UnreadableImage> unreadable;   // left out; every image is decoded to find them
};

// Columns: image (bytes), label (i32, from 0). Errors: as open_source; a file that exists already; no readable image.
PackReport pack(const std::string& dir, const std::string& out, const PackOptions& options = {});

}  // namespace ridgeline::data
