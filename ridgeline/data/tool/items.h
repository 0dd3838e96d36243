// ridgeline/data/tool/items.h
//
// The images of one split of a data directory for the tools: in order, the broken ones too, without the rules by which
// training refuses a folder. What the report of found data listed is not listed again. Immutable once listed; any
// thread may read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/data/standard/found_data.h"
#include "ridgeline/image/decode.h"

namespace ridgeline::data {

// One image's bytes and what its surroundings say of it.
struct Item {
  std::span<const std::uint8_t> bytes;
  std::optional<std::int64_t> label;    // as stored
  bool from_zero = false;               // its keys say that labels are always numbered from 0
  std::string class_name;               // if it is in the record and not in Items::class_names
  std::string extension;                // of its file, lower case: ".jpg"; "" for records
  std::string storage;                  // the memory of `bytes`
  std::optional<image::Header> pixels;  // if `bytes` are pixels, not an encoded image
};

class Items {
 public:
  virtual ~Items() = default;
  virtual std::int64_t size() const = 0;
  // An Error if it cannot be read; `item` then holds what is known of it.
  virtual void read(std::int64_t index, Item& item) const = 0;
  virtual std::string place(std::int64_t index) const = 0;

  std::int64_t files = 0;
  std::vector<std::string> class_names;  // by label; empty if unknown
  std::vector<ListingFault> faults;      // damaged shards, empty class folders, entries that only look like images
  std::int64_t not_read = 0;             // files that training skips because of their names
  std::string not_read_example;          // the first by name
};

// Places are relative to `root`.
std::unique_ptr<Items> list_items(const DataPart& part, const std::string& root);

}  // namespace ridgeline::data
