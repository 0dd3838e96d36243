#include "ridgeline/data/ir/base64.h"

#include <array>
#include <cstdint>

#include "ridgeline/core/error.h"

namespace ridgeline::data {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<std::uint8_t>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string from_base64(std::string_view text) {
  if (text.size() % 4 != 0) throw Error("[base64] length " + std::to_string(text.size()) + " is not a multiple of 4");
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t padding = i + 4 < text.size() ? 0 : text[i + 2] == '=' ? 2 : text[i + 3] == '=' ? 1 : 0;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t digit =
          j >= 4 - padding ? (text[i + j] == '=' ? 0 : kAlphabet.npos) : kAlphabet.find(text[i + j]);
      if (digit == kAlphabet.npos) throw Error("[base64] wrong character at " + std::to_string(i + j));
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t j = 0; j < 3 - padding; ++j) bytes += static_cast<char>(group >> (16 - 8 * j) & 255);
  }
  return bytes;
}

}  // namespace ridgeline::data
