// ridgeline/device/cuda/loop/nvrtc.h
//
// NVIDIA's run-time compiler, opened when the first text needs it. Any thread; compiles take tens of milliseconds.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::cuda {

// "13.0"; opens the library.
std::string nvrtc_version();

// The cubin of a text for an architecture, "sm_90a". An Error with the compiler's messages if it does not compile, or
// if NVRTC is missing.
std::vector<unsigned char> compile_text(const std::string& name, const std::string& text,
                                        const std::string& architecture);

}  // namespace ridgeline::cuda
