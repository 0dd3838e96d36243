// ridgeline/data/sample/record.h
//
// What a source reads, and what is known of a row made from it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/data/sample/cell.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::data {

// One record on its way into a batch. Belongs to one worker, which reuses it. Cells point into the source's own
// memory, into `storage`, `numbers`, `work` or at `label`, and are valid until the next read.
struct Record {
  // What a source keeps from read to read (a parsed row, tensors), of a type of its own.
  struct Work {
    Work() = default;
    virtual ~Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
  };
  template <class T>
  T& work_as() {
    auto* mine = dynamic_cast<T*>(work.get());
    if (mine == nullptr) {
      auto made = std::make_unique<T>();
      mine = made.get();
      work = std::move(made);
    }
    return *mine;
  }

  std::vector<Cell> cells;  // in the order of the source's schema
  std::vector<image::ObjectBox> objects;
  std::string storage;
  std::vector<std::vector<std::uint8_t>> numbers;
  std::int32_t label = 0;
  std::unique_ptr<Work> work;
};

// Identifies a row for random draws and reports: the record that it was made from, and its epoch. Joins number the
// records of their inputs consecutively.
struct RowInfo {
  std::uint64_t epoch = 0;
  std::uint64_t record = 0;
  const std::vector<image::ObjectBox>* objects = nullptr;  // of the record; may be null
};

}  // namespace ridgeline::data
