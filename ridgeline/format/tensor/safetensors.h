// ridgeline/format/tensor/safetensors.h
//
// safetensors files: u64 length of a JSON header, the header, then the tensors' bytes without gaps.
// (https://github.com/huggingface/safetensors#format.) Types: F64 F32 BF16 F16 U8 I32 I64 BOOL; others are refused by
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/named_tensor.h"

namespace ridgeline {

// A file, read and fully checked on opening: header bounds, duplicate keys, types, shapes against sizes, overlaps,
// gaps, truncation. Errors: "[safetensors] FILE: ...". Immutable: any thread may read.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  // In the order of their bytes in the file. The tensors are read-only views of what was read, which they keep alive
  // beyond this object; clone() one before writing to it. (A tensor that is misaligned for its type is a copy.)
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  bool has(std::string_view name) const { return index_.find(name) != index_.end(); }
  // A missing name is an Error with the nearest one.
  const Tensor& tensor(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::string path_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
};

// Replaces `path` atomically. Tensors in the order given, metadata by key: equal arguments give equal bytes.
// Names must differ, be UTF-8 and not "__metadata__".
void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// The format's own bound on the header.
constexpr std::uint64_t kSafetensorsHeaderLimit = 100'000'000;

}  // namespace ridgeline
