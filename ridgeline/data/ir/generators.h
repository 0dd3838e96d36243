// ridgeline/data/ir/generators.h
//
// Rows from user code, which graphs refer to by name (see functions.h for the rules).
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

// Rows by index: in any order, from several threads. One tensor for each column, of the declared dtype and extents;
// returned tensors must not change later, since several rows are in use at a time. An exception of the user's functions
// becomes the error of the row that was requested.
struct Generator {
  Schema schema;
  std::int64_t rows = 0;
  std::function<std::vector<Tensor>(std::int64_t index)> row;
  CodeVersion version = {};  // must change when the rows change
};
void register_generator(const std::string& name, Generator generator);

// Rows in sequence. `open` starts at the first row, and gives the same rows each time it is called; the function that
// it returns gives the next row, and none after the last. Called by one thread at a time; rows are copied, so it may
// reuse the same memory. Rows that are requested out of order (a shuffle with a buffer, several workers) or twice (a
// filter, a bucket) are kept: up to `window` of them, and of those already delivered up to a sixteenth of the memory. A
// row that is no longer kept is found by opening the stream again.
struct StreamGenerator {
  Schema schema;
  std::int64_t rows = 0;  // how many there are: must be known in advance
  std::function<std::function<std::vector<Tensor>()>()> open;
  std::int64_t window = 4096;
  CodeVersion version = {};  // as above
};
void register_stream(const std::string& name, StreamGenerator generator);

// An unknown name is an Error with the registered ones.
const Generator& generator_named(const std::string& name);
const StreamGenerator& stream_named(const std::string& name);

}  // namespace ridgeline::data
