// tests/image/bmp_samples.h
//
// BMP files of every supported kind: all depths, headers and bit layouts, palettes, runs, both orders of rows.
#pragma once

#include <string>

#include "ridgeline/core/random.h"

namespace ridgeline::image::test {

// The kinds are numbered from 0; sizes, pixels and the order of rows are random.
int bmp_kinds();
std::string make_bmp(int kind, SampleRandom& random);
bool has_runs(int bmp_kind);

}  // namespace ridgeline::image::test
