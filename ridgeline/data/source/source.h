// ridgeline/data/source/source.h
//
// A source of records: random access by index, from any thread. Everything that can be known without reading all
// records is known after opening. Errors name the file, the record and the byte.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/source/cell.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::data {

// One record on its way into a batch. Belongs to one worker, which reuses it. Cells point into the source's own
// memory, into `storage`, `numbers` or at `label`, and are valid until the next read.
struct Record {
  std::vector<Cell> cells;  // in the order of the source's schema
  std::vector<image::ObjectBox> objects;
  std::string storage;
  std::vector<std::vector<std::uint8_t>> numbers;
  std::int32_t label = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const = 0;
  virtual Schema schema() const = 0;
  virtual void read(std::uint64_t index, Record& record) const = 0;
  // "train-00000-of-00008: record 12 at byte 25310"
  virtual std::string origin(std::uint64_t index) const = 0;

  virtual std::int64_t num_classes() const = 0;  // 0: unknown
  virtual std::vector<std::string> class_names() const { return {}; }
  virtual int label_base() const { return 0; }
  // What the records are, for caches that outlive a run: of files their names, sizes and times.
  virtual std::uint64_t fingerprint() const;
  // The label of a record without the rest of it, for samplers that choose by class. Reads the whole record where the
  // source has nothing quicker; an Error if it has no column "label" of whole numbers.
  virtual std::int64_t label_of(std::uint64_t index) const;
};

// Names, sizes and times of files.
std::uint64_t fingerprint_of(const std::vector<std::string>& files);

// Opens the source of a node. Errors as the constructors of the sources.
std::unique_ptr<Source> open_source(const Node& node);

// The source of one node, opened on first use and shared by all copies of the graph. Any thread.
class SourceHandle {
 public:
  const Source& get(const Node& node);

 private:
  std::mutex mutex_;
  std::unique_ptr<Source> source_;
};
// The opened source of a source node of a graph.
const Source& source_of(const Node& node);

}  // namespace ridgeline::data
