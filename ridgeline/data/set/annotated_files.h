// ridgeline/data/set/annotated_files.h
//
// What the readers of annotations (manifest.h, voc.h, coco.h) give: image files with their labels and
// boxes. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline {

// In pixels, edges counted from 0: a box over the whole of a 500 x 375 image is {0, 0, 375, 500}.
struct AnnotatedBox {
  float ymin = 0;
  float xmin = 0;
  float ymax = 0;
  float xmax = 0;
  std::int32_t label = 0;
  bool difficult = false;  // VOC's "difficult", COCO's "iscrowd"
  friend bool operator==(const AnnotatedBox&, const AnnotatedBox&) = default;
};

struct AnnotatedFile {
  std::string path;
  std::vector<std::int32_t> labels;  // places in class_names; may be empty, or several
  std::vector<AnnotatedBox> boxes;
  std::int32_t width = 0;  // as the annotation says; 0 if it does not
  std::int32_t height = 0;
};

struct AnnotatedFiles {
  std::vector<std::string> class_names;
  std::vector<std::string> annotations;  // the annotation files that were read
  std::vector<AnnotatedFile> files;
};

}  // namespace ridgeline
