#include "ridgeline/device/cuda/loop/cubins.h"

#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/user_cache.h"
#include "ridgeline/device/cuda/loop/nvrtc.h"

namespace ridgeline::cuda {
namespace {

// A file is the hash of its cubin, in hex, and the cubin: a truncated or damaged one is not used.
constexpr std::size_t kHashBytes = 16;

std::string hash_of(const std::string& bytes) { return fmt::format("{:016x}", hash64(bytes)); }

std::vector<unsigned char> kept(const std::string& path) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return {};
  try {
    const std::string content = read_file(path);
    if (content.size() <= kHashBytes) return {};
    const std::string cubin = content.substr(kHashBytes);
    if (hash_of(cubin) != content.substr(0, kHashBytes)) return {};
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
  const std::string path = folder + "/" + hash_of(text + "\n" + architecture + "\nNVRTC " + nvrtc_version()) + ".cubin";
  if (std::vector<unsigned char> cubin = kept(path); !cubin.empty()) return cubin;
  const std::vector<unsigned char> cubin = compile_text(name, text, architecture);
  try {
    std::filesystem::create_directories(folder);
    const std::string bytes(cubin.begin(), cubin.end());
    write_file_atomically(path, hash_of(bytes) + bytes);
  } catch (const std::exception&) {
    // A full or read-only disk costs the next start a compile, and this run nothing.
  }
  return cubin;
}

}  // namespace ridgeline::cuda
