// ridgeline/device/cuda/nccl/functions.h
//
// NCCL 2, opened at run time, in declarations of our own: nothing here needs its headers. Numbers and sizes are the
// library's; what is used has been the same since 2.18. Whoever opens the library owns it and keeps it open longer than
// everything made here. Any thread.
#pragma once

#include <climits>
#include <cstddef>
#include <functional>
#include <string>

namespace ridgeline::cuda::nccl {

enum class DataType : int { u8 = 1, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };
enum class Operation : int { sum = 0, mean = 4 };

using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kInProgress = 7;  // of a communicator that does not block: ask again

// The version that communicators are configured as: 2.18, as the library writes it.
inline constexpr int kLeastVersion = 21800;

using Handle = void*;  // of a communicator
using Stream = void*;

// What the ranks of a communicator find each other by.
struct UniqueId {
  char bytes[128];
};

// A library of a later version takes what is behind it as not given.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kLeastVersion;
  int blocking = INT_MIN;  // INT_MIN: as the library likes
  int cluster_size = INT_MIN;
  int least_blocks = INT_MIN;
  int most_blocks = INT_MIN;
  const char* network = nullptr;
  int shares_on_split = INT_MIN;
};
static_assert(sizeof(Config) == 48 && sizeof(UniqueId) == 128);

class Functions {
 public:
  // The address of a function of the library, or null.
  using Resolver = std::function<void*(const char* name)>;

  // An Error names the first function that is not there, or the version where it is too old.
  explicit Functions(const Resolver& resolve);

  int version() const { return version_; }  // 22809
  static std::string text_of(int version);  // "2.28.9"
  std::string reason(Result result) const;  // in the library's words
  // An Error that names the call unless it has succeeded.
  void check(Result result, std::string_view call) const;

  Result (*unique_id)(UniqueId*) = nullptr;
  Result (*initialize)(Handle*, int ranks, UniqueId, int rank, Config*) = nullptr;
  Result (*finalize)(Handle) = nullptr;
  Result (*destroy)(Handle) = nullptr;
  Result (*abort)(Handle) = nullptr;
  Result (*state)(Handle, Result*) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*send)(const void*, std::size_t count, DataType, int to, Handle, Stream) = nullptr;
  Result (*receive)(void*, std::size_t count, DataType, int from, Handle, Stream) = nullptr;
  Result (*broadcast)(const void* from, void* to, std::size_t count, DataType, int root, Handle, Stream) = nullptr;
  Result (*all_gather)(const void* mine, void* all, std::size_t count, DataType, Handle, Stream) = nullptr;
  Result (*all_reduce)(const void* from, void* to, std::size_t count, DataType, Operation, Handle, Stream) = nullptr;
  Result (*reduce)(const void* from, void* to, std::size_t count, DataType, Operation, int root, Handle,
                   Stream) = nullptr;
  Result (*reduce_scatter)(const void* from, void* to, std::size_t count, DataType, Operation, Handle,
                           Stream) = nullptr;

 private:
  const char* (*error_text_)(Result) = nullptr;
  int version_ = 0;
};

// This machine's NCCL, opened at the first call; an Error where there is none.
const Functions& library();

}  // namespace ridgeline::cuda::nccl
