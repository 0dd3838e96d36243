// tests/image/webp_samples.h
//
// WebP files: lossy and lossless, with and without alpha, in the simple and the extended format with additional chunks,
// animations.
#pragma once

#include <string>

#include "ridgeline/core/random.h"
#include "ridgeline/image/image.h"

namespace ridgeline::image::test {

// A chunk of a RIFF file, and the file around chunks.
std::string riff_chunk(const std::string& name, const std::string& data);
std::string riff_file(const std::string& chunks);
// One lossless image in the extended format with that Exif data; "": none.
std::string webp_with_exif(const Image& image, const std::string& exif);

int webp_kinds();
std::string make_webp(int kind, SampleRandom& random);

}  // namespace ridgeline::image::test
