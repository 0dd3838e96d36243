// ridgeline/data/source/source.h
//
// A source of records: random access by index, from any thread. After opening, everything is known that can be known
// without reading all records. Errors name the file, the record and the byte.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/ir/source_handle.h"
#include "ridgeline/data/sample/record.h"

namespace ridgeline::data {

class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const = 0;
  virtual Schema schema() const = 0;
  // Its Errors need not name the record, see read_record().
  virtual void read(std::uint64_t index, Record& record) const = 0;
  // Whether records come in sequence and old ones are dropped: reading them out of order reopens the source.
  virtual bool in_turn() const { return false; }
  // Of sources that hold their records in memory: prefetches one, see Rows::prefetch().
  virtual void prefetch(std::uint64_t) const {}
  // "[tfrecord] train-00000-of-00008: record 12 at byte 25310". Does not throw, however bad the record is: it is called
  // while an error is handled.
  virtual std::string origin(std::uint64_t index) const = 0;

  // One more than the largest possible label; 0: unknown.
  virtual std::int64_t num_classes() const { return 0; }
  virtual std::vector<std::string> class_names() const { return {}; }  // by label, without gaps
  // As class_names(), but labels may have gaps.
  virtual ClassIndexing class_indexing() const;
  // Only called if the arguments do not tell it (source/source_entry.h).
  virtual int label_base() const { return 0; }
  // Identifies the records, for caches that outlive a run: by names, sizes and times of files.
  virtual std::uint64_t fingerprint() const;
  // Of sources with the argument "columns": the same records with the columns of `node`, sharing open files where that
  // pays off.
  virtual std::unique_ptr<Source> choose(const Node& node) const;
  // The label of a record without the rest of it, for samplers that choose by class. Reads the whole record if the
  // source has no faster way; an Error if it has no integer column "label".
  virtual std::int64_t label_of(std::uint64_t index) const;
};

// source.read(); Errors begin with the record's origin.
void read_record(const Source& source, std::uint64_t index, Record& record);
// source.label_of(), likewise.
std::int64_t read_label(const Source& source, std::uint64_t index);

// Names, sizes and times of files.
std::uint64_t fingerprint_of(const std::vector<std::string>& files);

// Opens the source of a node, whose arguments are complete. Errors as the constructors of the sources.
std::unique_ptr<Source> open_source(const Node& node);
// The opened source of a source node of a graph. Throws NotOpened.
const Source& source_of(const Node& node);

}  // namespace ridgeline::data
