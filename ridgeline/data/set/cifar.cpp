#include "ridgeline/data/set/cifar.h"

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/set/class_names.h"

namespace ridgeline {
namespace {

constexpr std::size_t kPlane = kCifarSide * kCifarSide;
constexpr std::size_t kRecord10 = kCifarImageBytes + 1;
constexpr std::size_t kRecord100 = kCifarImageBytes + 2;

std::vector<std::string> names_beside(const std::string& directory, std::string_view file, std::size_t count) {
  const std::filesystem::path path = std::filesystem::path(directory) / file;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  return read_class_names(path.string(), count);
}

}  // namespace

CifarFile::CifarFile(const std::string& path, CifarKind kind) : path_(path), content_(read_file(path)), kind_(kind) {
  const std::size_t bytes = content_.size();
  const std::size_t rest = bytes % record_bytes();
  if (bytes > 0 && rest == 0) return;
  std::string message = "[cifar] " + path + ": ";
  if (bytes == 0) throw Error(message + "the file is empty");
  message += "the file has " + std::to_string(bytes) + " bytes, records have " + std::to_string(record_bytes()) +
             "; record " + std::to_string(bytes / record_bytes()) + " at byte " + std::to_string(bytes - rest) +
             " is cut short after " + std::to_string(rest);
  const std::size_t other = kind == CifarKind::cifar10 ? kRecord100 : kRecord10;
  if (bytes % other == 0) {
    message += std::string("; is this a file of CIFAR-1") + (kind == CifarKind::cifar10 ? "00?" : "0?");
  }
  throw Error(message);
}

std::span<const std::uint8_t> CifarFile::record(std::size_t i) const {
  RIDGELINE_CHECK(i < size(), "record number out of range");
  return {reinterpret_cast<const std::uint8_t*>(content_.data()) + i * record_bytes(), record_bytes()};
}

std::int32_t CifarFile::checked_label(std::size_t i, std::size_t byte, int classes, std::string_view what) const {
  const std::int32_t label = record(i)[byte];
  if (label < classes) return label;
  throw Error("[cifar] " + path() + ": record " + std::to_string(i) + " at byte " + std::to_string(i * record_bytes()) +
              " has the " + std::string(what) + " " + std::to_string(label) + " (0 to " + std::to_string(classes - 1) +
              ")");
}

std::int32_t CifarFile::label(std::size_t i) const {
  return kind_ == CifarKind::cifar10 ? checked_label(i, 0, 10, "label") : checked_label(i, 1, 100, "label");
}

std::int32_t CifarFile::coarse_label(std::size_t i) const {
  if (kind_ == CifarKind::cifar10) throw Error("[cifar] " + path() + ": CIFAR-10 has no coarse labels");
  return checked_label(i, 0, 20, "coarse label");
}

void CifarFile::read(std::size_t i, std::span<std::uint8_t> pixels) const {
  RIDGELINE_CHECK(pixels.size() == kCifarImageBytes, "an image has 3072 bytes");
  const std::uint8_t* red = record(i).data() + (record_bytes() - kCifarImageBytes);
  for (std::size_t p = 0; p < kPlane; ++p) {
    pixels[3 * p] = red[p];
    pixels[3 * p + 1] = red[p + kPlane];
    pixels[3 * p + 2] = red[p + 2 * kPlane];
  }
}

std::vector<std::string> cifar_class_names(const std::string& directory, CifarKind kind) {
  return kind == CifarKind::cifar10 ? names_beside(directory, "batches.meta.txt", 10)
                                    : names_beside(directory, "fine_label_names.txt", 100);
}

std::vector<std::string> cifar_coarse_names(const std::string& directory) {
  return names_beside(directory, "coarse_label_names.txt", 20);
}

}  // namespace ridgeline
