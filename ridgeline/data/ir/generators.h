// ridgeline/data/ir/generators.h
//
// Rows from the user's own code, known to graphs by a name (see functions.h for the rules).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/data/ir/code_version.h"
#include "ridgeline/data/ir/column.h"

namespace ridgeline::data {

// Rows by index: any order, from several threads. One tensor a column, of the declared dtype and extents; what was
// returned is not changed any more, since rows are in use side by side. What the functions of generators throw becomes
// the error of the row they were asked for.
struct Generator {
  Schema schema;
  std::int64_t rows = 0;
  std::function<std::vector<Tensor>(std::int64_t index)> row;
  CodeVersion version = {};  // another one where the rows are others
};
void register_generator(const std::string& name, Generator generator);

// Rows that come one after the other. `open` begins at the first row, again and again with the same rows; the function
// it returns gives the next row, and none after the last. One thread at a time; rows are copied, it may fill the same
// memory again. Rows that are asked for out of order (a shuffle with a buffer, several workers) or twice (a filter, a
// bucket) are kept: up to `window`, those that were delivered up to a sixteenth of the memory there is. One that is no
// longer there is found by opening the stream again.
struct StreamGenerator {
  Schema schema;
  std::int64_t rows = 0;  // how many there are: positions must be known
  std::function<std::function<std::vector<Tensor>()>()> open;
  std::int64_t window = 4096;
  CodeVersion version = {};  // as above
};
void register_stream(const std::string& name, StreamGenerator generator);

// An unknown name is an Error with the registered ones.
const Generator& generator_named(const std::string& name);
const StreamGenerator& stream_named(const std::string& name);

}  // namespace ridgeline::data
