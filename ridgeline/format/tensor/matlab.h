// ridgeline/format/tensor/matlab.h
//
// Vectors of integers out of MATLAB's .mat files, level 5, the format of the labels and splits of Flowers-102.
// ("MAT-File Format", The MathWorks, chapter 1.) Other kinds of arrays are skipped; level 7.3 files, which are HDF5,
// are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

// All elements of the real numeric array `variable`, column by column. Errors "[matlab] FILE: ... at byte N" (inside a
// compressed variable, N counts its inflated bytes): no such variable, another kind of array, values that are not
// whole, damage.
std::vector<std::int64_t> read_matlab_integers(const std::string& path, std::string_view variable);

}  // namespace ridgeline
