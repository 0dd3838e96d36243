// ridgeline/data/runtime/rows/rows.h
//
// The compiled graph below batch: a tree of Rows, each of which makes row `position` of epoch `epoch` without making
// the rows before it. Positions are computed (runtime/rows/arrangement.h) wherever the graph allows; where it does not
// (filter), an index of the epoch grows as far as needed. That is why every position can be restored and every sample
// replayed.
//
// Rows are immutable except for such indices, which are thread-safe: any thread may ask. State of a row in progress is
// in the caller's Scratch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/core/log.h"
#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/sample/scratch.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

// A row (or batch) of one epoch. Below a repeat, every repetition is an epoch.
struct RowAddress {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  friend bool operator==(const RowAddress&, const RowAddress&) = default;
};

// Something with a number of rows or batches.
class Extent {
 public:
  // `size`: rows of every epoch; kForever; or kUnknown, in which case has() and count() read rows.
  explicit Extent(std::int64_t size) : size_(size) {}
  virtual ~Extent() = default;
  std::int64_t size() const { return size_; }
  virtual bool has(RowAddress address) const;
  // Rows of this epoch, counted if they must be. Not for endless ones.
  virtual std::int64_t count(std::uint64_t epoch) const;
  // Reads some of the rows that has() will wait for; false if there is nothing to do.
  virtual bool help() const { return false; }

 private:
  std::int64_t size_;
};

// A bad record, or a transform that could not work on it. The message is complete; its pieces go into the list of
// quarantined samples.
class SampleError : public Error {
 public:
  // `op`: "" where the record could not even be read.
  SampleError(const std::string& message, std::string origin, std::string op = "", ErrorKind kind = ErrorKind::failure)
      : Error(message, kind), origin_(std::move(origin)), op_(std::move(op)) {}
  const std::string& origin() const { return origin_; }
  const std::string& op() const { return op_; }

 private:
  std::string origin_, op_;
};

// For each column of a row, the memory where its value should be: null, or as many bytes as the schema says. Using it
// is optional: code that computes a column writes it there and points the cell to it; code that has the value elsewhere
// leaves the cell as it is, and the caller copies.
using Targets = std::span<void* const>;

class Rows : public Extent {
 public:
  Rows(std::int64_t size, Schema schema) : Extent(size), schema_(std::move(schema)) {}
  const Schema& schema() const { return schema_; }

  // Makes one row: a cell for every column of the schema. `targets` is empty or has one entry a column.
  virtual RowInfo run(RowAddress address, Targets targets, Cell* cells, Scratch& scratch) const = 0;
  // Prefetches the memory that run() will read; for rows so cheap that cache misses are their main cost.
  virtual void prefetch(RowAddress, Scratch&) const {}
  // "train-00000-of-00008: record 12 at byte 25310": what the row is made from, for messages.
  virtual std::string origin(RowAddress address) const = 0;
  // RowInfo::record is below this.
  virtual std::uint64_t records() const = 0;

 private:
  Schema schema_;
};

// ---- the nodes, one file each

using RowsPtr = std::shared_ptr<const Rows>;

class Arrangement;  // runtime/rows/arrangement.h
RowsPtr make_source_rows(const Node& node, int place);
RowsPtr make_arranged_rows(RowsPtr input, std::unique_ptr<Arrangement> arrangement, int place);
// `ahead`: rows may be tested before they are needed.
RowsPtr make_filter_rows(const Node& node, RowsPtr input, int places, bool ahead);
RowsPtr make_map_rows(const Node& node, RowsPtr input, Schema schema, int first_place, std::uint64_t seed);
RowsPtr make_column_rows(const Node& node, RowsPtr input, Schema schema, int place);
RowsPtr make_zip_rows(std::vector<RowsPtr> inputs, Schema schema, std::int64_t size);
RowsPtr make_concat_rows(std::vector<RowsPtr> inputs, Schema schema, std::int64_t size);
RowsPtr make_mix_rows(const Node& node, std::vector<RowsPtr> inputs, Schema schema, std::int64_t size,
                      std::uint64_t seed);
// `key` identifies the file by the nodes below and the data. `log` (may be null) is told of a file that cannot be
// written.
RowsPtr make_cache_rows(const Node& node, RowsPtr input, int place, const std::string& key, Log* log);
// A node with several readers: a row that two of them ask for is made once. The nodes below use the places from `first`
// to before `place`.
RowsPtr make_shared_rows(RowsPtr input, int first, int place);

}  // namespace ridgeline::data
