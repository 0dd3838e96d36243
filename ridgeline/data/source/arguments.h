// ridgeline/data/source/arguments.h
//
// What the entries of the sources share: arguments that several have, their checks, and columns that several give.
#pragma once

#include <memory>
#include <string>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/ir/nodes/entries.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

// A dataset of one source node.
Dataset source_dataset(std::string op, Args args);
// The same over a source that need not be opened any more; `args` are complete.
Dataset source_dataset(std::string op, Args args, FunctionRef<std::unique_ptr<Source>(const Node&)> open);

ArgSpec text_arg(const char* name, const char* doc, const char* fallback);
ArgSpec place_arg(const char* name, const char* doc);  // a text that must be given, where data lies
ArgSpec texts_arg(const char* name, std::string doc, Texts fallback = {});
ArgSpec flag_arg(const char* name, const char* doc, bool fallback);
ArgSpec count_arg(const char* name, const char* doc, std::int64_t fallback = 0);
ArgSpec files_arg();
ArgSpec num_classes_arg();

// files is not empty.
void check_files(const Node& node);
// label_base, a whole number, is one that labels of 32 bits can have.
void check_label_base(const Node& node);

// image as encoded bytes, and label, i32.
Column encoded_image();
Column class_label();

}  // namespace ridgeline::data
