// ridgeline/data/runtime/save.h
//
// Writes a dataset to disk: one epoch of its rows, with all transforms done, into a packed file
// (format/record/packed.h) that the source `packed` reads by memory map.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ridgeline/data/api/dataset.h"

namespace ridgeline::data {

struct SaveOptions {
  int workers = 0;                                                        // 0: one per core
  std::uint64_t epoch = 0;                                                // of the random transforms and shuffles
  std::function<void(std::int64_t done, std::int64_t of)> progress = {};  // from any thread, one at a time
};

// Rows in the dataset's order, columns as its schema says. The file appears when it is complete. Errors: a dataset that
// ends in batches or has no known number of rows, bad records (the one with the lowest position), a full disk. Returns
// the number of rows.
std::int64_t save(const Dataset& dataset, const std::string& path, const SaveOptions& options = {});

}  // namespace ridgeline::data
