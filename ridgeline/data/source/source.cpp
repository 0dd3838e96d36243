#include "ridgeline/data/source/source.h"

#include <filesystem>
#include <utility>

#include "ridgeline/core/random.h"
#include "ridgeline/core/unreachable_error.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {
namespace {

// Readers of files put their own op first: "[tfrecord] F: record 3" is the origin "[example] F: record 3".
std::string_view behind_op(std::string_view message) {
  const std::size_t end = message.starts_with('[') ? message.find("] ") : std::string_view::npos;
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

template <class F>
auto with_origin(const Source& source, std::uint64_t index, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    const std::string origin = source.origin(index);
    if (behind_op(e.what()).starts_with(behind_op(origin))) throw;
    const std::string words = origin + ": " + e.what();
    if (dynamic_cast<const UnreachableError*>(&e)) throw UnreachableError(words, e.kind());
    if (dynamic_cast<const EndsRunError*>(&e)) throw EndsRunError(words, e.kind());
    throw Error(words, e.kind());
  }
}

}  // namespace

std::unique_ptr<Source> open_source(const Node& node) { return source_entry(node.op).open(node); }

void read_record(const Source& source, std::uint64_t index, Record& record) {
  with_origin(source, index, [&] { source.read(index, record); });
}
std::int64_t read_label(const Source& source, std::uint64_t index) {
  return with_origin(source, index, [&] { return source.label_of(index); });
}

std::uint64_t fingerprint_of(const std::vector<std::string>& files) {
  std::uint64_t hash = 0;
  for (const std::string& file : files) {
    std::error_code ignored;
    const auto size = std::filesystem::file_size(file, ignored);
    const auto time = std::filesystem::last_write_time(file, ignored).time_since_epoch().count();
    hash = hash64(file + " " + std::to_string(size) + " " + std::to_string(time), hash);
  }
  return hash;
}

std::uint64_t Source::fingerprint() const {
  const std::uint64_t records = size();
  return hash64(std::to_string(records) + (records ? origin(0) + origin(records - 1) : ""));
}

std::unique_ptr<Source> Source::choose(const Node& node) const { return open_source(node); }

ClassIndexing Source::class_indexing() const {
  ClassIndexing indexing;
  for (std::string& name : class_names()) {
    const auto label = static_cast<std::int64_t>(indexing.size());
    indexing.emplace_back(std::move(name), label);
  }
  return indexing;
}

std::int64_t Source::label_of(std::uint64_t index) const {
  const Schema columns = schema();
  const Column* label = find_column(columns, kLabelColumn);
  if (!label || label->shape.rank() != 0 || label->dtype == DType::bytes || is_floating(label->dtype))
    throw Error("the source has no labels to choose by; its columns are " + to_string(columns));
  Record record;
  read_record(*this, index, record);
  return static_cast<std::int64_t>(to_tensor(record.cells[static_cast<std::size_t>(label - columns.data())]).at(0));
}

SourceClasses classes_in_order(std::vector<std::string> names) {
  SourceClasses classes{.count = static_cast<std::int64_t>(names.size()), .names = std::move(names)};
  for (const std::string& name : classes.names)
    classes.indexing.emplace_back(name, static_cast<std::int64_t>(classes.indexing.size()));
  return classes;
}

}  // namespace ridgeline::data
