// ridgeline/data/source/tar.h
//
// Tar archives in WebDataset's layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SourceEntry;  // source/source_entry.h

// The fields that are read as images by default: the endings of image::decoded_formats(), without the dot.
std::vector<std::string> image_fields();

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct TarOptions {
  std::vector<std::string> image = image_fields();  // fields that may be the image
  // The class: "cls", a field with its number (or, with class_names, its name) as text; "json:label", a member of the
  // JSON object in a field; "/", the folder of the sample; "": no column label.
  std::string label = "cls";
  std::vector<std::string> class_names = {};  // by label; empty: all folders, sorted; other labels must be numbers
  std::vector<std::string> fields = {};       // further ones, as bytes
  std::int64_t num_classes = 0;               // labels outside are errors; 0: unknown
  std::int64_t tries = 5;                     // for archives at URLs, see format/remote/http_file.h
  std::int64_t stall_seconds = 20;
};
// Tar archives in WebDataset's layout. Columns: image, label, the fields, key. `files` may be URLs (http, https), with
// ranges of numbers: "https://host/train-{000..146}.tar". A worker waits while its sample is fetched, so use more
// workers than cores.
Dataset Tar(std::vector<std::string> files, TarOptions options = {});
// NOLINTEND(readability-identifier-naming)

SourceEntry tar_source();

}  // namespace ridgeline::data
