// ridgeline/data/source/known.h
//
// What the arguments of a source node tell by themselves, so that building a graph and asking it opens no file that is
// not needed for the answer. nullopt: the source must be opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

// Reads at most the schema file of an `example` node.
std::optional<Schema> known_schema(const Node& node);
// The same for sources whose arguments always tell it: what graph and run go by cannot differ.
Schema given_schema(const Node& node);
// Whether known_schema() reads it.
bool schema_is_in_a_file(const Node& node);
// The first extent counts the rows.
Schema columns_as_schema(const Tensors& columns);

struct KnownClasses {
  std::int64_t count = 0;          // as Source::num_classes
  std::vector<std::string> names;  // as Source::class_names
  ClassIndexing indexing;
};
std::optional<KnownClasses> known_classes(const Node& node);
std::optional<int> known_label_base(const Node& node);

// The classes of a source node: from its arguments, or else from its files.
KnownClasses classes_of(const Node& node);
int label_base_of(const Node& node);

}  // namespace ridgeline::data
