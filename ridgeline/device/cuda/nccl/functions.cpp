#include "ridgeline/device/cuda/nccl/functions.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/library.h"

namespace ridgeline::cuda::nccl {
namespace {

template <class Function>
void find_function(Function& function, const Functions::Resolver& resolve, const char* name) {
  void* const address = resolve(name);
  if (address == nullptr) throw Error(fmt::format("[cuda] NCCL has no function {}", name));
  function = reinterpret_cast<Function>(address);
}

}  // namespace

Functions::Functions(const Resolver& resolve) {
  Result (*version)(int*) = nullptr;
  find_function(version, resolve, "ncclGetVersion");
  find_function(error_text_, resolve, "ncclGetErrorString");
  check(version(&version_), "ncclGetVersion");
  if (version_ < kLeastVersion)
    throw Error(
        fmt::format("[cuda] NCCL {} is too old, {} or later is needed", text_of(version_), text_of(kLeastVersion)));
  find_function(unique_id, resolve, "ncclGetUniqueId");
  find_function(initialize, resolve, "ncclCommInitRankConfig");
  find_function(finalize, resolve, "ncclCommFinalize");
  find_function(destroy, resolve, "ncclCommDestroy");
  find_function(abort, resolve, "ncclCommAbort");
  find_function(state, resolve, "ncclCommGetAsyncError");
  find_function(group_start, resolve, "ncclGroupStart");
  find_function(group_end, resolve, "ncclGroupEnd");
  find_function(send, resolve, "ncclSend");
  find_function(receive, resolve, "ncclRecv");
  find_function(broadcast, resolve, "ncclBroadcast");
  find_function(all_gather, resolve, "ncclAllGather");
  find_function(all_reduce, resolve, "ncclAllReduce");
  find_function(reduce, resolve, "ncclReduce");
  find_function(reduce_scatter, resolve, "ncclReduceScatter");
}

std::string Functions::text_of(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string Functions::reason(Result result) const { return error_text_(result); }

void Functions::check(Result result, std::string_view call) const {
  if (result != kSuccess) throw Error(fmt::format("[cuda] {}: {}", call, reason(result)));
}

const Functions& library() {
  static const Library& opened = Library::open(LibraryName::nccl);
  static const Functions functions([](const char* name) { return opened.find(name); });
  return functions;
}

}  // namespace ridgeline::cuda::nccl
