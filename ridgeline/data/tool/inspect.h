// ridgeline/data/tool/inspect.h
//
// What a data directory contains and what is wrong with it: the report of found data (standard/found_data.h), and
// counts, classes, sizes, formats, broken files and records, equal images. Never fails because of the contents. Reads
// headers, or with `deep` decodes every image.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/data/standard/found_data.h"

namespace ridgeline::data {

struct InspectOptions {
  std::string split = "all";  // train, val, test or all
  bool deep = false;
  int workers = 0;  // 0: one per core
  std::function<void(std::int64_t, std::int64_t)> progress = {};
};

// Over the images that are not broken; all 0 if there are none. Of two middle values the median is the upper one.
struct Spread {
  double min = 0, median = 0, max = 0;
};

struct ClassCount {
  std::int64_t label = 0;  // as stored; for class folders, by the order of their names
  std::string name;        // "" if unknown
  std::int64_t count = 0;  // broken records with a readable label included
};

struct BrokenItem {
  std::string place;  // "val/n0123/x.jpg", "train-00003-of-00008: record 12 at byte 25310"
  std::string reason;
};

// Images of some kind.
struct Counted {
  std::int64_t images = 0;
  std::string example;  // the first one's place
};

struct PartReport {
  std::string name;
  Layout layout = Layout::class_folders;
  std::string place;         // DataPart::place
  std::string use;           // what it is for: "training", "validation", "evaluate --split=test"
  std::int64_t files = 0;    // that were read
  std::int64_t records = 0;  // images: files, or records in them
  std::int64_t bytes = 0;    // of the images, as stored
  Spread record_bytes, height, width, megapixels;
  std::map<std::string, std::int64_t> formats;  // "JPEG", "PNG", ..., "pixels"
  std::map<std::string, std::int64_t> colours;  // "colour", "grey", "grey or palette", "CMYK", "with alpha"
  std::vector<ClassCount> classes;              // by label
  std::vector<BrokenItem> broken;               // in the order of the data
  Counted misnamed;                             // the file's name ends in another format's extension
  Counted turned;                               // stored rotated or mirrored, by their Exif
  Counted deep_colour;                          // more than 8 bits a component, of which 8 are used
  Counted animated;                             // of which the first picture is used
  std::int64_t not_read = 0;  // files that training skips: other extensions, or outside the class folders
  std::string not_read_example;
  std::int64_t labels_missing = 0;  // records without a readable label
  int label_base = 0;               // of records: what --label_base=auto finds
};

// Images that two splits have in common.
struct SharedImages {
  std::string first, second;  // names of the splits
  std::int64_t images = 0;    // how many different ones
  std::string example;        // "train/a/1.jpg = val/a/7.jpg"
};

struct InspectReport {
  std::string dir;
  FoundData found;
  bool deep = false;
  std::vector<PartReport> parts;
  // Places with the same bytes, in the order of the data; across splits, too.
  std::vector<std::vector<std::string>> duplicates;
  std::int64_t duplicates_across_parts = 0;  // groups that are in more than one split
  std::vector<SharedImages> shared;          // for each two splits that share some, in the order of the splits
  std::vector<std::string> notes;            // sentences about what matters for training
  double seconds = 0;
  std::int64_t broken() const;
};

// Errors: a directory that is missing or holds no data, an unknown or absent split.
InspectReport inspect(const std::string& dir, const InspectOptions& options = {});
// The same for a report that was made before: nothing is listed again.
InspectReport inspect(FoundData found, const InspectOptions& options = {});

}  // namespace ridgeline::data
