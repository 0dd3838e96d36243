// ridgeline/data/set/cifar.h
//
// The binary files of CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html): records of one label byte
// (CIFAR-100: coarse, then fine) and 3072 bytes of planes, red, green and blue, rows of 32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

enum class CifarKind : std::uint8_t { cifar10, cifar100 };

constexpr std::size_t kCifarSide = 32;
constexpr std::size_t kCifarImageBytes = kCifarSide * kCifarSide * 3;

// Holds the file's content. Opening checks that the file is a whole number of records; labels are checked when read.
// Errors:
// "[cifar] FILE: record 12 at byte 36876 has the label 10 (0 to 9)". Immutable: any thread may read.
class CifarFile {
 public:
  CifarFile(const std::string& path, CifarKind kind);

  const std::string& path() const { return path_; }
  CifarKind kind() const { return kind_; }
  std::size_t size() const { return content_.size() / record_bytes(); }
  std::size_t record_bytes() const { return kCifarImageBytes + (kind_ == CifarKind::cifar10 ? 1 : 2); }
  // The class: 0 to 9, or the fine one, 0 to 99.
  std::int32_t label(std::size_t i) const;
  // The superclass of CIFAR-100, 0 to 19. An Error for CIFAR-10, which has none.
  std::int32_t coarse_label(std::size_t i) const;
  // Image i as rows of interleaved red, green, blue: [32,32,3] into the 3072 bytes of `pixels`.
  void read(std::size_t i, std::span<std::uint8_t> pixels) const;

 private:
  std::span<const std::uint8_t> record(std::size_t i) const;
  std::int32_t checked_label(std::size_t i, std::size_t byte, int classes, std::string_view what) const;

  std::string path_;
  std::string content_;
  CifarKind kind_;
};

// The names from the files beside the data; empty where the file is not there.
std::vector<std::string> cifar_class_names(const std::string& directory, CifarKind kind);
std::vector<std::string> cifar_coarse_names(const std::string& directory);

}  // namespace ridgeline
