// tests/data/source_rules.h
//
// Rules that every source must follow, and rows as comparable values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "helpers.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data::testing {

using Row = std::map<std::string, Tensor>;

inline std::vector<Row> rows_of(const Dataset& data) {
  std::vector<Row> rows;
  const Dataset batched = data.batch(1, {.pad = true});
  for (std::int64_t i = 0; i < data.size(); ++i) {
    Row row;
    for (const NamedTensor& column : replay(batched, 0, static_cast<std::uint64_t>(i)).columns)
      row[column.name] = column.tensor;
    rows.push_back(std::move(row));
  }
  return rows;
}

inline std::string text_of(const Row& row, const std::string& column) { return row.at(column).string_values().at(0); }
inline std::int64_t number_of(const Row& row, const std::string& column) {
  return static_cast<std::int64_t>(row.at(column).at(0));
}

inline std::uint64_t digest(const std::vector<Row>& rows, const std::vector<std::string>& columns) {
  std::uint64_t seed = 0;
  for (const Row& row : rows) {
    for (const std::string& column : columns) seed = digest(row.at(column), seed);
  }
  return seed;
}

// Checks size and records; the same batches with 1, 2 and 7 workers, after a resume and after a conversion to JSON and
// back; and that a shuffle is a permutation.
inline void expect_rules(const Dataset& source, std::int64_t records) {
  EXPECT_EQ(source.size(), records);
  EXPECT_EQ(source.num_samples(), records);
  EXPECT_EQ(source.batch_size(), 1);
  EXPECT_EQ(source.repeat_count(), 1);
  const Dataset shuffled = source.shuffle().batch(3, {.pad = true}).with_seed(5);
  Iterator reference(shuffled, {.epochs = 2, .pull = true});
  const std::vector<std::uint64_t> expected = digests(reference);
  ASSERT_EQ(static_cast<std::int64_t>(expected.size()), 2 * ((records + 2) / 3));
  for (const int workers : {1, 2, 7}) {
    Iterator it(shuffled, {.workers = workers, .epochs = 2});
    it.next();
    const IteratorState state = IteratorState::from_json(it.state().to_json());
    const std::vector<std::uint64_t> rest(expected.begin() + 1, expected.end());
    EXPECT_EQ(digests(it), rest) << workers << " workers";
    Iterator resumed(shuffled, {.workers = 8 - workers, .epochs = 2, .start = state});
    EXPECT_EQ(digests(resumed), rest) << "resumed with " << 8 - workers << " workers";
  }
  Iterator again(Dataset::from_json(shuffled.to_json()), {.epochs = 2, .pull = true});
  EXPECT_EQ(digests(again), expected) << "after JSON";
  if (records > 3) {
    Iterator plain(source.batch(3, {.pad = true}), {.epochs = 2, .pull = true});
    EXPECT_NE(digests(plain), expected) << "shuffled";
  }
}

inline std::uint64_t fingerprint(const Dataset& data) { return source_of(data.graph().output()).fingerprint(); }

// The same file with a modification time one hour later.
inline void touch(const std::string& path) {
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::hours(1));
}

// `make` opens the data again; `change` changes it.
template <class Make, class Change>
void expect_fingerprint_follows(Make&& make, Change&& change) {
  const std::uint64_t before = fingerprint(make());
  EXPECT_EQ(fingerprint(make()), before);
  change();
  EXPECT_NE(fingerprint(make()), before);
}

// The error of a run, which must be the same for every number of workers and come after `batches` good batches.
inline std::string run_error(const Dataset& source, int batches) {
  std::string first;
  for (const int workers : {1, 2, 7}) {
    Iterator it(source.batch(1, {.pad = true}), {.workers = workers});
    int good = 0;
    const std::string message = error_of([&] {
      while (it.next()) ++good;
    });
    EXPECT_EQ(good, batches) << workers << " workers";
    if (first.empty()) first = message;
    EXPECT_EQ(message, first);
  }
  return first;
}

inline void write_text(const std::string& path, const std::string& text) {
  write_bytes(path, text.data(), text.size());
}

}  // namespace ridgeline::data::testing
