#include "ridgeline/device/cuda/loop/cubins.h"

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/sha256.h"
#include "ridgeline/core/user_cache.h"
#include "ridgeline/device/cuda/loop/nvrtc.h"

namespace ridgeline::cuda {
namespace {

// A file is the hash of its cubin, in hex, and the cubin: a truncated or damaged one is not used.
constexpr std::size_t kHashBytes = 64;

std::vector<unsigned char> kept(const std::string& path) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return {};
  try {
    const std::string content = read_file(path);
    if (content.size() <= kHashBytes) return {};
    const std::string cubin = content.substr(kHashBytes);
    if (Sha256().update(cubin).hex() != content.substr(0, kHashBytes)) return {};
    return {cubin.begin(), cubin.end()};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::string cubin_folder() {
  const std::string cache = user_cache_directory();
  return cache.empty() ? "" : cache + "/cubins";
}

std::vector<unsigned char> cubin_of(const std::string& name, const std::string& text, const std::string& architecture,
                                    const std::string& folder) {
  if (folder.empty()) return compile_text(name, text, architecture);
  const std::string key =
      Sha256().update(text).update("\n" + architecture + "\nNVRTC " + nvrtc_version()).hex().substr(0, 40);
  const std::string path = folder + "/" + key + ".cubin";
  if (std::vector<unsigned char> cubin = kept(path); !cubin.empty()) return cubin;
  const std::vector<unsigned char> cubin = compile_text(name, text, architecture);
  try {
    std::filesystem::create_directories(folder);
    const std::string bytes(cubin.begin(), cubin.end());
    write_file_atomically(path, Sha256().update(bytes).hex() + bytes);
  } catch (const std::exception&) {
    // A full or read-only disk costs the next start a compile, and this run nothing.
  }
  return cubin;
}

}  // namespace ridgeline::cuda
