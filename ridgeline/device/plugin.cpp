#include "ridgeline/device/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

// The folder of the program or library that this function is in.
fs::path own_folder() {
  Dl_info info{};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  const fs::path file = fs::canonical(info.dli_fname, ignored);
  // Of the program, the loader tells argv[0], which may be a name in PATH.
  if (file.empty()) return fs::canonical("/proc/self/exe", ignored).parent_path();
  return file.parent_path();
}

std::vector<fs::path> plugin_places(const char* file, const char* variable) {
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') {
    std::error_code ignored;
    const fs::path path = given;
    return {fs::is_directory(path, ignored) ? path / file : path};
  }
  const fs::path folder = own_folder();
  return {folder / file, folder.parent_path() / "lib" / file};
}

const DevicePlugin& open(const char* file, const char* variable, std::string_view builds_it) {
  std::string tried;
  for (const fs::path& path : plugin_places(file, variable)) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      tried += (tried.empty() ? "" : ", ") + path.string();
      continue;
    }
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) throw Error(std::string("cannot open the device's library: ") + ::dlerror());
    const auto function = reinterpret_cast<DevicePluginFunction>(::dlsym(library, kDevicePluginFunction));
    if (function == nullptr)
      throw Error(path.string() + " is no library of a device: it has no " + kDevicePluginFunction);
    const DevicePlugin& plugin = *function();
    if (plugin.contract != contract_version())
      throw Error(path.string() + " was built from other sources than this program: build both again");
    return plugin;
  }
  throw Error(std::string(file) + " is not there: looked for it in " + tried + " (" + std::string(builds_it) + "; " +
              variable + " names another place)");
}

}  // namespace

const DevicePlugin& open_device_plugin(const char* file, const char* variable, std::string_view builds_it) {
  static std::mutex mutex;
  static std::map<std::string, const DevicePlugin*, std::less<>> opened;
  const std::lock_guard lock(mutex);
  const DevicePlugin*& plugin = opened[file];
  if (plugin == nullptr) plugin = &open(file, variable, builds_it);
  return *plugin;
}

}  // namespace ridgeline
