// ridgeline/infer/onnx.h
//
// A model as an ONNX file. Images are NCHW there and kernels OIHW, as the format requires; bytes of pixels that enter
// through image_tail stay [N,H,W,3]. The number of rows is variable ("N"). A table says for each op how it is written;
// an op without a row is an Error that names it.
#pragma once

#include <string>

#include "ridgeline/infer/model.h"

namespace ridgeline::infer {

// The bytes of the file. Preprocessing and class names are kept as metadata ("preprocessing", "class_names", JSON).
std::string to_onnx(const Model& model);
// Replaces `path` atomically.
void write_onnx(const std::string& path, const Model& model);

}  // namespace ridgeline::infer
