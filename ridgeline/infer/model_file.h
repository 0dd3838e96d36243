// ridgeline/infer/model_file.h
//
// Models in files, "*.rdgm": a packed file (format/record/packed.h, its layout is in docs/format.md) with one row. Its
// columns are the text of the graph and the tensors, each on a multiple of 64 bytes, so that a memory-mapped file can
// be used directly; the schema holds the class names, the metadata the version, the name and the preprocessing. Header,
// texts and row carry checksums. Equal models give equal bytes.
#pragma once

#include <string>

#include "ridgeline/infer/model.h"

namespace ridgeline::infer {

// Replaces `path` atomically. The lines of the program that built the graph are left out.
void write_model(const std::string& path, const Model& model);
// Errors name the file and the byte, column or line: damage, a file of another kind or version, a graph that does not
// parse, tensors that are not those of the graph.
Model read_model(const std::string& path);
// Whether the file begins like a model file, to tell it from an image. False if it cannot be read.
bool is_model_file(const std::string& path);

}  // namespace ridgeline::infer
