#include "ridgeline/device/cuda/loop/nvrtc.h"

#include <iterator>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/library.h"

namespace ridgeline::cuda {
namespace {

using Program = struct NvrtcProgram*;  // nvrtcProgram

// The functions that we call, as NVRTC's header declares them; 0 is success.
struct Functions {
  int (*version)(int* major, int* minor);
  int (*create)(Program* program, const char* text, const char* name, int headers, const char* const* sources,
                const char* const* names);
  int (*destroy)(Program* program);
  int (*compile)(Program program, int count, const char* const* options);
  int (*cubin_size)(Program program, std::size_t* bytes);
  int (*cubin)(Program program, char* cubin);
  int (*log_size)(Program program, std::size_t* bytes);
  int (*log)(Program program, char* log);
  const char* (*error_text)(int result);

  Functions() {
    const Library& library = Library::open(LibraryName::nvrtc);
    library.load(version, "nvrtcVersion");
    library.load(create, "nvrtcCreateProgram");
    library.load(destroy, "nvrtcDestroyProgram");
    library.load(compile, "nvrtcCompileProgram");
    library.load(cubin_size, "nvrtcGetCUBINSize");
    library.load(cubin, "nvrtcGetCUBIN");
    library.load(log_size, "nvrtcGetProgramLogSize");
    library.load(log, "nvrtcGetProgramLog");
    library.load(error_text, "nvrtcGetErrorString");
  }
};

const Functions& functions() {
  static const Functions all;  // tried again after an Error
  return all;
}

void check(int result, const char* call, const std::string& subject) {
  if (result == 0) return;
  throw Error("[cuda] " + std::string(call) + " (" + subject + "): " + functions().error_text(result));
}

}  // namespace

std::string nvrtc_version() {
  int major = 0, minor = 0;
  check(functions().version(&major, &minor), "nvrtcVersion", "NVRTC");
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<unsigned char> compile_text(const std::string& name, const std::string& text,
                                        const std::string& architecture) {
  const Functions& f = functions();
  struct Owned {
    const Functions& f;
    Program program = nullptr;
    ~Owned() {
      if (program != nullptr) f.destroy(&program);
    }
  } owned{f};
  check(f.create(&owned.program, text.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr), "nvrtcCreateProgram",
        name);
  const std::string target = "--gpu-architecture=" + architecture;
  // The same options as for our other kernels.
  const char* const options[] = {target.c_str(), "--std=c++20",     "--fmad=false",
                                 "--ftz=true",   "--prec-div=true", "--prec-sqrt=true"};
  if (const int result = f.compile(owned.program, static_cast<int>(std::size(options)), options); result != 0) {
    std::size_t bytes = 0;
    f.log_size(owned.program, &bytes);
    std::string log(bytes, '\0');
    if (bytes > 0) f.log(owned.program, log.data());
    throw Error("[cuda] nvrtcCompileProgram (" + name + " for " + architecture + "): " + f.error_text(result) + "\n" +
                log.c_str());
  }
  std::size_t bytes = 0;
  check(f.cubin_size(owned.program, &bytes), "nvrtcGetCUBINSize", name);
  std::vector<unsigned char> cubin(bytes);
  check(f.cubin(owned.program, reinterpret_cast<char*>(cubin.data())), "nvrtcGetCUBIN", name);
  return cubin;
}

}  // namespace ridgeline::cuda
