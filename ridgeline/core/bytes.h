// ridgeline/core/bytes.h
//
// Text read as bytes, and bytes as text. Views own nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ridgeline {

inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string as_text(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ridgeline
