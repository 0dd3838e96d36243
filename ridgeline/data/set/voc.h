// ridgeline/data/set/voc.h
//
// Pascal VOC: ROOT/ImageSets/Main/SPLIT.txt lists images, ROOT/Annotations/ID.xml their objects, ROOT/JPEGImages/ID.jpg
// are the pictures. (VOC2012 Development Kit, section 4.)
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/set/annotated_files.h"

namespace ridgeline {

struct VocOptions {
  // In the order of the labels; an object of another class is an Error. Empty: VOC's twenty.
  std::vector<std::string> class_names;
  // Objects marked as difficult count neither as label nor as box.
  bool leave_out_difficult = false;
};

// The files of a split, in the list's order. Labels are the classes of a file's objects, each once, ascending. Boxes:
// VOC counts pixels from 1 and includes the last; here edges count from 0 (AnnotatedBox). A corner at 0 is read as 1.
// Errors: "[voc] FILE: byte 431: ...", for missing elements, unknown classes, and boxes without area.
AnnotatedFiles read_voc(const std::string& root, const std::string& split, const VocOptions& options = {});

// The objects of one annotation; `path` of the result is empty. Errors begin with `where`.
AnnotatedFile parse_voc_annotation(std::string_view xml, const std::vector<std::string>& class_names,
                                   const std::string& where, bool leave_out_difficult = false);

}  // namespace ridgeline
