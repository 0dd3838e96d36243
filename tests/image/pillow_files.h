// tests/image/pillow_files.h
//
// What Pillow reads of files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image::test {

enum class PillowMode {
  decode,   // as RGB; 16-bit grey by its upper 8 bits
  upright,  // the same, turned by exif_transpose
};
// One answer a file; nullopt where Pillow refuses it. Fails the test where Python fails.
std::vector<std::optional<Image>> read_by_pillow(const std::string& python, const std::vector<std::string>& files,
                                                 PillowMode mode = PillowMode::decode);

}  // namespace ridgeline::image::test
