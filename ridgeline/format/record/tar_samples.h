// ridgeline/format/record/tar_samples.h
//
// Samples of a tar archive after WebDataset's rule: consecutive members whose names agree up to the first dot of the
// file name are one sample; what follows that dot is the field's name, in lower case. "a/0017.jpg" and "a/0017.cls" are
// the fields jpg and cls of sample a/0017; "a/0017.seg.png" is its field seg.png.
// (https://github.com/webdataset/webdataset, "The WebDataset Format".)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/format/record/tar.h"

namespace ridgeline {

// Owns the archive. Skipped are files without a dot, those in a folder like "__meta__", and, unlike in WebDataset,
// every file whose own name begins with a dot (WebDataset makes "d/._1.jpg" the field _1.jpg of a sample "d/"). A key
// that comes again later is another sample. Two members of one sample with the same field are an Error that names
// member and byte. Immutable: any thread may read.
class TarSamples {
 public:
  struct Field {
    std::string name;        // "jpg"
    std::size_t member = 0;  // in archive()
  };

  explicit TarSamples(TarFile archive);
  explicit TarSamples(const std::string& path, const TarOptions& options = {}) : TarSamples(TarFile(path, options)) {}

  const TarFile& archive() const { return archive_; }
  std::size_t size() const { return samples_.size() - 1; }
  std::string_view key(std::size_t i) const;
  // The offset of the header of its first member.
  std::uint64_t offset(std::size_t i) const { return archive_.header_offset(kept_[samples_[i]]); }
  // In the archive's order.
  std::vector<Field> fields(std::size_t i) const;
  bool has(std::size_t i, std::string_view field) const;
  // The member that holds a field of sample i; an Error as for field().
  std::size_t member(std::size_t i, std::string_view field) const;
  // The content of a field, stored in `storage`. A missing one is an Error that names sample, byte and the fields that
  // are there.
  std::span<const std::uint8_t> field(std::size_t i, std::string_view name, std::string& storage) const;

 private:
  std::size_t find(std::size_t i, std::string_view name) const;  // a position in kept_, or its size

  TarFile archive_;
  std::vector<std::size_t> kept_;     // members that belong to samples
  std::vector<std::size_t> samples_;  // where each begins in kept_, and the end of the last
};

// "a/b.c.d" is key "a/b" and field "c.d"; both empty for names that belong to no sample.
struct TarSampleName {
  std::string_view key;
  std::string_view field;
};
TarSampleName split_sample_name(std::string_view name);

}  // namespace ridgeline
