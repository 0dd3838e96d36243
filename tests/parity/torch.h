// tests/parity/torch.h
//
// Runs a script of this folder with the interpreter RIDGELINE_TORCH_PYTHON.
#pragma once

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "ridgeline/core/file.h"
#include "tests/support/paths.h"

namespace ridgeline::testing {

inline constexpr const char* kNoTorch = "RIDGELINE_TORCH_PYTHON names no interpreter with torch and torchvision";
inline const char* torch_python() { return std::getenv("RIDGELINE_TORCH_PYTHON"); }

// A folder that is removed after the test.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / ("ridgeline_parity_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// From input.safetensors in the folder to output.safetensors. Returns "", or the output of the script if it failed.
inline std::string run_torch(const std::string& script, const TemporaryFolder& folder) {
  const std::string command = std::string("'") + torch_python() + "' '" + testing::source_directory() +
                              "/tests/parity/" + script + "' '" + folder.file("input.safetensors") + "' '" +
                              folder.file("output.safetensors") + "' > '" + folder.file("log") + "' 2>&1";
  if (std::system(command.c_str()) == 0) return "";
  return "the script failed: " + read_file(folder.file("log"));
}

}  // namespace ridgeline::testing
