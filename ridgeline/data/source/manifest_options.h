// ridgeline/data/source/manifest_options.h
//
// What manifests have in common (csv.h, json_lines.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::data {

// "NAME:TYPE" for a column of a manifest: bytes (the default), i32, i64, f32, f64, and the last four with [] for lists;
// or class, for names of classes, which become i32.
struct ManifestOptions {
  std::vector<std::string> columns = {};      // empty: CSV: all, as bytes; JSON: as in the first line
  std::string image = "";                     // column that names an image file: its bytes become the column image
  std::vector<std::string> class_names = {};  // of a column NAME:class, by label; empty: all that occur, sorted
  std::string root = "";                      // folder that image files are relative to; empty: the manifest's
  std::int64_t num_classes = 0;               // labels outside (column label) are errors; 0: unknown
};

}  // namespace ridgeline::data
