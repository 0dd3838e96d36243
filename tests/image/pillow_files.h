// tests/image/pillow_files.h
//
// How Pillow reads files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image::test {

enum class PillowMode {
  decode,   // as RGB; 16-bit grey by its upper 8 bits
  upright,  // the same after exif_transpose
};
// One result per file; nullopt if Pillow refuses it. Fails the test if Python fails.
std::vector<std::optional<Image>> read_by_pillow(const std::string& python, const std::vector<std::string>& files,
                                                 PillowMode mode = PillowMode::decode);

}  // namespace ridgeline::image::test
