// ridgeline/data/source/source_entry.h
//
// The description of a source: one entry in the source's file, next to its function, its arguments and its reader. What
// the arguments tell needs no open file, so that graphs are built and examined without reading data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

struct SourceEntry {
  std::string op, doc;
  std::vector<ArgSpec> args;
  // Values that contradict each other or lie outside their range are Errors.
  std::function<void(const Node&)> check = nullptr;
  std::unique_ptr<Source> (*open)(const Node&) = nullptr;
  // What the arguments tell; nullopt (or no function): the source must be opened. Without a function for the classes,
  // their number is the argument num_classes; without one for the label base, it is the argument label_base, or 0.
  std::function<std::optional<Schema>(const Node&)> columns = nullptr;
  bool (*columns_in_file)(const Node&) = nullptr;  // whether columns() reads a file
  std::function<std::optional<std::int64_t>(const Node&)> records = nullptr;
  std::function<std::optional<SourceClasses>(const Node&)> classes = nullptr;
  std::function<std::optional<int>(const Node&)> label_base = nullptr;
  // Makes the node give only these columns, in the source's order; null: it cannot give fewer.
  void (*choose_columns)(Node&, Texts wanted) = nullptr;
};

template <class T>
std::unique_ptr<Source> open_as(const Node& node) {
  return std::make_unique<T>(node);
}

const std::vector<SourceEntry>& source_table();
const SourceEntry& source_entry(const std::string& op);

// Classes with the labels 0, 1, ... in the order of their names.
SourceClasses classes_in_order(std::vector<std::string> names);

}  // namespace ridgeline::data
