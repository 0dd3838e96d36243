// tests/image/bmp_samples.h
//
// BMP files of every kind that is read: all depths, headers and layouts of bits, palettes, runs, either order of rows.
#pragma once

#include <string>

#include "ridgeline/core/random.h"

namespace ridgeline::image::test {

// The kinds, numbered from 0; sizes, pixels and the order of rows are drawn.
int bmp_kinds();
std::string make_bmp(int kind, SampleRandom& random);
bool has_runs(int bmp_kind);

}  // namespace ridgeline::image::test
