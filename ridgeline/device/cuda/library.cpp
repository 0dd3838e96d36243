#include "ridgeline/device/cuda/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

void add_folder(std::vector<LibraryFolder>& folders, const fs::path& folder, std::string_view why) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) folders.push_back({folder.string(), why});
}

// site-packages/nvidia/*/lib of one folder of packages: the layout of NVIDIA's wheels.
void add_wheels(std::vector<LibraryFolder>& folders, const fs::path& packages) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(packages / "nvidia", error), end; !error && entry != end; entry.increment(error))
    found.push_back(entry->path() / "lib");
  std::sort(found.begin(), found.end());
  for (const fs::path& folder : found) add_folder(folders, folder, "Python");
}

// Where the active Python keeps its packages. The interpreter itself is asked, since PATH may lead to a script that
// chooses one.
std::vector<fs::path> python_packages() {
  std::string python = environment("VIRTUAL_ENV");
  python = python.empty() ? "python3" : python + "/bin/python3";
  if (python.find('\'') != std::string::npos) return {};
  const std::string command = "'" + python + "' -c 'import sys; print(*sys.path, sep=chr(10))' 2>/dev/null </dev/null";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::vector<fs::path> packages;
  char line[4096];
  while (pipe && std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    std::string path = line;
    while (!path.empty() && path.back() == '\n') path.pop_back();
    if (path.ends_with("-packages")) packages.emplace_back(path);
  }
  return packages;
}

const std::vector<fs::path>& known_python_packages() {
  static const std::vector<fs::path> packages = python_packages();
  return packages;
}

std::string path_of(void* handle, std::string_view file) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0') return map->l_name;
  return std::string(file);
}

}  // namespace

const std::vector<LibraryInfo>& libraries() {
  static const std::vector<LibraryInfo> kLibraries = {
      {LibraryName::driver, "libcuda.so.1", "NVIDIA's driver"},
      {LibraryName::nvrtc, "libnvrtc.so.13", "NVRTC 13, which compiles fused loops"},
      {LibraryName::cublas_lt, "libcublasLt.so.13", "cuBLASLt 13, for dense layers"},
      {LibraryName::cudnn, "libcudnn.so.9", "cuDNN 9, for convolutions"},
      {LibraryName::nccl, "libnccl.so.2", "NCCL 2, for exchanges between ranks"},
  };
  return kLibraries;
}

const LibraryInfo& info_of(LibraryName name) { return libraries()[static_cast<std::size_t>(name)]; }

std::vector<LibraryFolder> library_folders() {
  std::vector<LibraryFolder> folders;
  const std::string given = environment("RIDGELINE_CUDA_LIBRARIES");
  for (std::size_t begin = 0; begin < given.size();) {
    const std::size_t end = std::min(given.find(':', begin), given.size());
    if (end > begin) folders.push_back({given.substr(begin, end - begin), "RIDGELINE_CUDA_LIBRARIES"});
    begin = end + 1;
  }
  folders.push_back({"", "the loader"});
  for (const fs::path& packages : known_python_packages()) add_wheels(folders, packages);
  if (const std::string home = environment("CUDA_HOME"); !home.empty()) {
    add_folder(folders, fs::path(home) / "lib64", "CUDA_HOME");
    add_folder(folders, fs::path(home) / "lib", "CUDA_HOME");
  }
  add_folder(folders, "/usr/local/cuda/lib64", "/usr/local/cuda");
  return folders;
}

Library::Library(const LibraryInfo& info) : info_(info) {
  std::string tried;
  for (const LibraryFolder& place : library_folders()) {
    const std::string file = (place.folder.empty() ? "" : place.folder + "/") + std::string(info.file);
    // A driver elsewhere than the system's is a stub, which links and does nothing.
    if (info.name == LibraryName::driver && place.why != "RIDGELINE_CUDA_LIBRARIES" && !place.folder.empty()) continue;
    // Global: the libraries look for each other among the open ones.
    handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (handle_ != nullptr) {
      path_ = path_of(handle_, file);
      return;
    }
    const char* reason = ::dlerror();
    // If the file exists and does not open, the loader says what is missing.
    std::error_code ignored;
    tried += tried.empty() ? "" : ", ";
    tried += place.folder.empty() ? "the loader's search" : file;
    if (!place.folder.empty() && std::filesystem::exists(file, ignored) && reason != nullptr)
      tried += std::string(" (") + reason + ")";
  }
  throw Error("[cuda] " + std::string(info.file) + " is not there (" + std::string(info.what) + "): looked for it in " +
              tried + "; RIDGELINE_CUDA_LIBRARIES names other folders");
}

const Library& Library::open(LibraryName name) {
  static std::mutex mutex;
  static std::map<LibraryName, std::unique_ptr<Library>> opened;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Library>& library = opened[name];
  if (!library) library.reset(new Library(info_of(name)));
  return *library;
}

void* Library::find(const char* name) const { return ::dlsym(handle_, name); }

void* Library::symbol(const char* name) const {
  if (void* found = find(name)) return found;
  throw Error("[cuda] " + path_ + " has no " + name + ": another version of " + std::string(info_.what) + " is needed");
}

}  // namespace ridgeline::cuda
