// ridgeline/data/ir/nodes/source_args.h
//
// What the entries of the sources share: arguments that several have, their checks, and the rules for columns and size.
#pragma once

#include "ridgeline/data/ir/nodes/entries.h"

namespace ridgeline::data {

// The parts of source_entries().
std::vector<NodeEntry> record_source_entries();  // files of many records: TFRecord, tar, packed, CIFAR
std::vector<NodeEntry> table_source_entries();   // rows of fields: CSV, JSON lines, tensors, generators

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

// The schema and size rules of every source.
Schema columns_of_source(const Node& node, const std::vector<Schema>& inputs);
std::int64_t records_of_source(const Node& node, const std::vector<std::int64_t>& inputs);

}  // namespace ridgeline::data
