// ridgeline/data/set/coco.h
//
// COCO's instances_*.json: images, categories, and annotations that join them. (cocodataset.org, "Data format".)
// Segmentations are skipped, so that a large file takes memory only for its boxes.
#pragma once

#include <string>

#include "ridgeline/data/set/annotated_files.h"

namespace ridgeline {

struct CocoOptions {
  // Images without any annotation, of which COCO has a thousand.
  bool leave_out_unlabelled = false;
  // Annotations of crowds count neither as label nor as box.
  bool leave_out_crowds = false;
};

// The images in the order of the file, with paths below `image_directory`. Labels count the categories from 0 in the
// order of their ids, which have gaps; those of a file are its annotations' categories, each once, ascending. A box
// without width or height (COCO has some) counts only as a label. Errors name the file, the list and the index in it:
// "[coco] FILE: annotations[12]: 'image_id' 391895 is no image's id".
AnnotatedFiles read_coco(const std::string& path, const std::string& image_directory, const CocoOptions& options = {});

}  // namespace ridgeline
