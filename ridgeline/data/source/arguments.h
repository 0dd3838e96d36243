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
// The same for a source that is already open; `args` are complete.
Dataset source_dataset(std::string op, Args args, FunctionRef<std::unique_ptr<Source>(const Node&)> open);

ArgSpec text_arg(const char* name, const char* doc, const char* fallback);
ArgSpec place_arg(const char* name, const char* doc);  // a required text: the path of data
ArgSpec texts_arg(const char* name, std::string doc, Texts fallback = {});
ArgSpec flag_arg(const char* name, const char* doc, bool fallback);
ArgSpec count_arg(const char* name, const char* doc, std::int64_t fallback = 0);
ArgSpec files_arg();
ArgSpec num_classes_arg();

// An Error if the argument files is empty.
void check_files(const Node& node);
// An Error unless the argument label_base is possible for labels of 32 bits.
void check_label_base(const Node& node);

// The columns image, of encoded bytes, and label, i32.
Column encoded_image();
Column class_label();

}  // namespace ridgeline::data
