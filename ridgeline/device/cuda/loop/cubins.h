// ridgeline/device/cuda/loop/cubins.h
//
// Compiled texts, kept in the user's cache by a hash of text, architecture and compiler, so that the second start
// compiles nothing. Files appear complete or not at all; if one cannot be read or written, its text is compiled again.
// Any thread.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::cuda {

// A folder in the user's cache; "" if there is none.
std::string cubin_folder();

// The cubin of a text (loop/nvrtc.h), from `folder` if it is there, else compiled and stored there. folder "": always
// compiled.
std::vector<unsigned char> cubin_of(const std::string& name, const std::string& text, const std::string& architecture,
                                    const std::string& folder = cubin_folder());

}  // namespace ridgeline::cuda
