// ridgeline/device/cuda/cublas/functions.h
//
// cuBLASLt, opened at run time, in declarations of our own: nothing here needs its headers. Numbers and sizes are the
// library's; they have been the same since version 11. Whoever opens the library owns it and keeps it open longer than
// everything made here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace ridgeline::cuda::cublas {

enum class ComputeType : int { f32 = 68, tf32 = 77 };
enum class DataType : int { f32 = 0, f16 = 2, bf16 = 14 };
enum class ProductAttribute : int { transpose_a = 3, transpose_b = 4, epilogue = 7, bias_address = 8, bias_type = 26 };
enum class LayoutAttribute : int { matrices = 5, step = 6 };  // of a batch; elements from one to the next
enum class PreferenceAttribute : int { workspace_bytes = 1, reduction_schemes = 3, alignment_a = 5 };  // b, c, d follow
enum class AlgorithmAttribute : int { id = 0, tile = 1, splits = 2, reduction_scheme = 3, stages = 6, cluster = 8 };
enum Epilogue : std::uint32_t { kPlain = 1, kRelu = 2, kBias = 4, kReluBias = 6, kBiasGradientOfB = 512 };
// Partial sums are added in the type of the computation. The other schemes round them, or add in no fixed order.
inline constexpr std::uint32_t kReduceInComputeType = 2;

// Filled by the library; may be copied.
struct Algorithm {
  std::array<std::uint64_t, 8> data;
};
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

using Handle = void*;
using RawDescriptor = void*;

// The library's message about what it cannot do.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Functions {
 public:
  // The address of a function of the library, or null.
  using Resolver = std::function<void*(const char* name)>;

  // An Error names the first missing function.
  explicit Functions(const Resolver& resolve);

  std::string version_text() const;  // "13.1.0"
  // Throws a Failure with the library's reason if `status` is not success.
  void check(int status, const char* action) const;

  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*create_layout)(RawDescriptor*, DataType, std::uint64_t rows, std::uint64_t columns,
                       std::int64_t stride) = nullptr;
  int (*destroy_layout)(RawDescriptor) = nullptr;
  int (*set_layout)(RawDescriptor, LayoutAttribute, const void* value, std::size_t bytes) = nullptr;
  int (*create_product)(RawDescriptor*, ComputeType, DataType scale) = nullptr;
  int (*destroy_product)(RawDescriptor) = nullptr;
  int (*set_product)(RawDescriptor, ProductAttribute, const void* value, std::size_t bytes) = nullptr;
  int (*create_preference)(RawDescriptor*) = nullptr;
  int (*destroy_preference)(RawDescriptor) = nullptr;
  int (*set_preference)(RawDescriptor, PreferenceAttribute, const void* value, std::size_t bytes) = nullptr;
  int (*heuristics)(Handle, RawDescriptor product, RawDescriptor a, RawDescriptor b, RawDescriptor c, RawDescriptor d,
                    RawDescriptor preference, int room, HeuristicResult* results, int* count) = nullptr;
  int (*get_algorithm)(const Algorithm*, AlgorithmAttribute, void* value, std::size_t bytes,
                       std::size_t* written) = nullptr;
  int (*multiply)(Handle, RawDescriptor product, const void* alpha, const void* a, RawDescriptor a_layout,
                  const void* b, RawDescriptor b_layout, const void* beta, const void* c, RawDescriptor c_layout,
                  void* d, RawDescriptor d_layout, const Algorithm*, void* workspace, std::size_t workspace_bytes,
                  void* stream) = nullptr;

 private:
  const char* (*status_text_)(int status) = nullptr;
  std::size_t (*version_)() = nullptr;
};

}  // namespace ridgeline::cuda::cublas
