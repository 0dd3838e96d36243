// ridgeline/device/cuda/library.h
//
// NVIDIA's libraries, opened when they are first needed and never closed: they leave threads and handlers behind. Each
// is searched in the folders of RIDGELINE_CUDA_LIBRARIES (separated by colons), by the loader's own search, in
// site-packages/nvidia/*/lib of the Python in use (VIRTUAL_ENV, or the python3 of PATH), in lib64 and lib of CUDA_HOME,
// and in /usr/local/cuda. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::cuda {

enum class LibraryName { driver, nvrtc, cublas_lt, cudnn, nccl };

struct LibraryInfo {
  LibraryName name;
  std::string_view file;  // "libcudnn.so.9"
  std::string_view what;  // "cuDNN 9, for convolutions"
};

// In the order in which they are opened: cuDNN looks for cuBLASLt and NVRTC among the open libraries.
const std::vector<LibraryInfo>& libraries();
const LibraryInfo& info_of(LibraryName name);

class Library {
 public:
  // Opened once per process; on failure an Error names what is missing and every searched place, and the next call
  // searches again.
  static const Library& open(LibraryName name);

  // The file that was opened, according to the loader.
  const std::string& path() const { return path_; }
  // A function of the library; an Error that names the library if it has none of that name.
  void* symbol(const char* name) const;
  // The same; null if there is none.
  void* find(const char* name) const;
  template <class Pointer>
  void load(Pointer& pointer, const char* name) const {
    pointer = reinterpret_cast<Pointer>(symbol(name));
  }

 private:
  explicit Library(const LibraryInfo& info);
  const LibraryInfo& info_;
  void* handle_ = nullptr;
  std::string path_;
};

// One place that is searched: a folder, or "" for the loader's own search.
struct LibraryFolder {
  std::string folder;
  std::string_view why;  // "RIDGELINE_CUDA_LIBRARIES", "the loader", "Python", "CUDA_HOME", "/usr/local/cuda"
};
// All places, in order.
std::vector<LibraryFolder> library_folders();

}  // namespace ridgeline::cuda
