// ridgeline/device/cuda/loop/cubins.h
//
// Compiled texts, kept in the user's cache by a hash of text, architecture and compiler, so that the second start
// compiles nothing. A file appears whole or not at all; what cannot be read or written is compiled again. Any thread.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::cuda {

// Below the user's cache; "" where there is none.
std::string cubin_folder();

// The cubin of a text (loop/nvrtc.h), from `folder` if it lies there, else compiled and put there. folder "": compiled.
std::vector<unsigned char> cubin_of(const std::string& name, const std::string& text, const std::string& architecture,
                                    const std::string& folder = cubin_folder());

}  // namespace ridgeline::cuda
