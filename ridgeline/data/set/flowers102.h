// ridgeline/data/set/flowers102.h
//
// Oxford Flowers-102: ROOT/jpg/image_00001.jpg, ROOT/imagelabels.mat, ROOT/setid.mat.
// (https://www.robots.ox.ac.uk/~vgg/data/flowers/102.)
#pragma once

#include <string>

#include "ridgeline/data/set/annotated_files.h"

namespace ridgeline {

// Split "train", "val" or "test" (1020, 1020 and 6149 files), in the order of setid.mat. The file's labels count from
// 1; here they count from 0. Errors "[flowers102] FILE: ...".
AnnotatedFiles read_flowers102(const std::string& root, const std::string& split);

}  // namespace ridgeline
