#include "ridgeline/format/tensor/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/lfs_pointer.h"

namespace ridgeline {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kLengthBytes = 8;

struct TypeRow {
  DType type;
  std::string_view name;
};
constexpr std::array<TypeRow, 8> kTypes{{{DType::f64, "F64"},
                                         {DType::f32, "F32"},
                                         {DType::bf16, "BF16"},
                                         {DType::f16, "F16"},
                                         {DType::u8, "U8"},
                                         {DType::i32, "I32"},
                                         {DType::i64, "I64"},
                                         {DType::boolean, "BOOL"}}};

std::optional<DType> type_of(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

std::string_view type_name(DType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.name;
  }
  throw Error("[safetensors] a tensor of type " + std::string(name_of(type)) + " cannot be stored");
}

// One tensor of the header, before its bytes are looked at.
struct Entry {
  std::string name;
  DType type = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Parses and checks one file; keeps track of the position for messages.
class Parser {
 public:
  Parser(const std::string& path, std::shared_ptr<std::string> content) : path_(path), content_(std::move(content)) {}

  void parse(std::vector<NamedTensor>& tensors, std::map<std::string, std::string>& metadata) {
    read_header(metadata);
    check_layout();
    for (const Entry& entry : entries_) tensors.push_back({entry.name, tensor_of(entry)});
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { throw Error("[safetensors] " + path_ + ": " + problem); }

  void read_header(std::map<std::string, std::string>& metadata) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(content_->data()), content_->size());
    if (bytes.size() < kLengthBytes) {
      fail("the file is cut short: it has " + std::to_string(bytes.size()) +
           " bytes, the length of its header takes 8");
    }
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), kLengthBytes);
    if (is_lfs_pointer(bytes)) fail(kLfsPointerText);
    if (length > kSafetensorsHeaderLimit) {
      fail("the header claims " + std::to_string(length) + " bytes, at most " +
           std::to_string(kSafetensorsHeaderLimit) + " are allowed; is this a safetensors file?");
    }
    if (length > bytes.size() - kLengthBytes) {
      fail("the file is cut short: the header has " + std::to_string(length) + " bytes, the file ends after " +
           std::to_string(bytes.size() - kLengthBytes) + " of them");
    }
    const auto text = bytes.subspan(kLengthBytes, static_cast<std::size_t>(length));
    data_ = bytes.subspan(kLengthBytes + text.size());
    if (text.empty() || text.front() != '{') fail("the header does not start with '{' at byte 8");
    const Json header = parse_json({reinterpret_cast<const char*>(text.data()), text.size()});
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        read_metadata(value, metadata);
      } else {
        entries_.push_back(read_entry(name, value));
      }
    }
  }

  // The JSON library keeps the last of equal keys; here they are an error, as is nesting deeper than the format's.
  Json parse_json(std::string_view text) const {
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > 4) fail("the header nests deeper than the format allows");
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
        fail("the header has the key '" + value.get<std::string>() + "' twice");
      }
      return true;
    };
    try {
      return Json::parse(text, watch);
    } catch (const Json::exception& e) {
      fail(std::string("the header is no valid JSON: ") + e.what());
    }
  }

  void read_metadata(const Json& value, std::map<std::string, std::string>& metadata) const {
    if (!value.is_object()) fail("__metadata__ is no object of strings");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail("__metadata__ '" + key + "' is no string");
      metadata[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const Json& value) const {
    const std::string which = "tensor '" + name + "'";
    if (!value.is_object()) fail(which + " is not described by an object");
    for (const auto& [key, unused] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        fail(which + " has the unknown field '" + key + "'");
    }
    for (const char* key : {"dtype", "shape", "data_offsets"}) {
      if (!value.contains(key)) fail(which + " has no " + key);
    }
    Entry entry;
    entry.name = name;
    const Json& dtype = value["dtype"];
    if (!dtype.is_string()) fail(which + ": dtype is no string");
    const auto type = type_of(dtype.get<std::string>());
    if (!type) {
      std::string allowed;
      for (const TypeRow& row : kTypes) allowed += (allowed.empty() ? "" : ", ") + std::string(row.name);
      fail(which + " has type " + dtype.get<std::string>() + ", which is not supported (supported: " + allowed + ")");
    }
    entry.type = *type;
    const std::uint64_t wanted = read_shape(which, value["shape"], entry);
    const Json& offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      fail(which + ": data_offsets are not two whole numbers");
    }
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    if (entry.end < entry.begin) fail(which + ": data_offsets run backwards");
    if (entry.end - entry.begin != wanted) {
      fail(which + ": " + entry.shape.to_string() + " of " + std::string(type_name(entry.type)) + " takes " +
           std::to_string(wanted) + " bytes, its data_offsets span " + std::to_string(entry.end - entry.begin));
    }
    return entry;
  }

  // Sets the shape and returns the bytes that it takes.
  std::uint64_t read_shape(const std::string& which, const Json& shape, Entry& entry) const {
    if (!shape.is_array()) fail(which + ": shape is no list");
    std::vector<std::int64_t> dims;
    std::uint64_t bytes = size_of(entry.type);
    bool empty = false;
    for (const Json& dim : shape) {
      if (!dim.is_number_unsigned()) fail(which + ": shape has an entry that is no whole number");
      const auto extent = dim.get<std::uint64_t>();
      if (extent == 0) empty = true;
      // 2^62 bytes are out of reach of any file, and keep every product of extents inside 64 bits.
      const std::uint64_t factor = std::max<std::uint64_t>(extent, 1);
      if (factor > (std::uint64_t{1} << 62) / bytes) fail(which + ": the product of its shape overflows");
      bytes *= factor;
      dims.push_back(static_cast<std::int64_t>(extent));
    }
    entry.shape = Shape(std::move(dims));
    return empty ? 0 : bytes;
  }

  // Every byte after the header belongs to exactly one tensor.
  void check_layout() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t at = 0;
    const std::string* before = nullptr;
    for (const Entry& entry : entries_) {
      if (entry.begin < at) fail("tensors '" + *before + "' and '" + entry.name + "' overlap");
      if (entry.begin > at) {
        fail("bytes " + std::to_string(at) + " to " + std::to_string(entry.begin) + " of the data belong to no tensor");
      }
      at = entry.end;
      before = &entry.name;
      if (entry.end > data_.size()) {
        fail("the file is cut short: tensor '" + entry.name + "' ends at byte " + std::to_string(entry.end) +
             " of the data, of which " + std::to_string(data_.size()) + " bytes are there");
      }
    }
    if (at != data_.size()) {
      fail(std::to_string(data_.size() - at) + " bytes after the last tensor belong to no tensor");
    }
  }

  Tensor tensor_of(const Entry& entry) const {
    auto* bytes = const_cast<std::uint8_t*>(data_.data()) + entry.begin;
    if (entry.begin == entry.end) return Tensor(entry.type, entry.shape);
    if (entry.type == DType::boolean &&
        std::any_of(bytes, bytes + (entry.end - entry.begin), [](auto b) { return b > 1; })) {
      fail("tensor '" + entry.name + "' of type BOOL holds a byte that is neither 0 nor 1");
    }
    if (reinterpret_cast<std::uintptr_t>(bytes) % size_of(entry.type) == 0) {
      return Tensor::view(bytes, entry.type, entry.shape, content_);
    }
    Tensor copy(entry.type, entry.shape);
    std::memcpy(copy.raw(), bytes, copy.byte_size());
    return copy;
  }

  const std::string& path_;
  std::shared_ptr<std::string> content_;
  std::span<const std::uint8_t> data_;
  std::vector<Entry> entries_;
};

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  Parser(path, std::make_shared<std::string>(read_file(path))).parse(tensors_, metadata_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_[tensors_[i].name] = i;
}

const Tensor& SafetensorsFile::tensor(std::string_view name) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return tensors_[found->second].tensor;
  std::vector<std::string> names;
  names.reserve(tensors_.size());
  for (const NamedTensor& t : tensors_) names.push_back(t.name);
  const std::string near = nearest_name(name, names);
  throw Error(
      "[safetensors] " + path_ + ": no tensor '" + std::string(name) + "'" +
      (near.empty() ? " (it has " + std::to_string(names.size()) + " others)" : ": did you mean '" + near + "'?"));
}

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const auto fail = [&](const std::string& problem) { throw Error("[safetensors] " + path + ": " + problem); };
  nlohmann::ordered_json header = nlohmann::ordered_json::object();  // in the order given
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  std::set<std::string> names;
  std::uint64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadata) fail("a tensor cannot be named __metadata__");
    if (!names.insert(name).second) fail("two tensors are named '" + name + "'");
    if (!tensor.defined()) fail("tensor '" + name + "' has no memory");
    header[name] = {{"dtype", type_name(tensor.dtype())},
                    {"shape", tensor.shape().dims()},
                    {"data_offsets", {at, at + tensor.byte_size()}}};
    at += tensor.byte_size();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception& e) {
    fail(std::string("a name or metadata string is no valid UTF-8: ") + e.what());
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the data aligned; the format allows trailing spaces
  if (text.size() > kSafetensorsHeaderLimit) fail("the header is larger than the format allows");

  write_file_atomically(path, [&](const Sink& sink) {
    const std::uint64_t length = text.size();
    sink(&length, kLengthBytes);
    sink(text.data(), text.size());
    for (const auto& [name, tensor] : tensors) {
      if (tensor.byte_size() > 0) sink(tensor.raw(), tensor.byte_size());
    }
  });
}

}  // namespace ridgeline
