#include "ridgeline/device/cuda/cublas/functions.h"

#include "ridgeline/core/error.h"

namespace ridgeline::cuda::cublas {
namespace {

template <class Function>
void find_function(Function& function, const Functions::Resolver& resolve, const char* name) {
  void* const address = resolve(name);
  if (address == nullptr) throw Error(std::string("cuBLASLt has no function ") + name);
  function = reinterpret_cast<Function>(address);
}

}  // namespace

Functions::Functions(const Resolver& resolve) {
  find_function(status_text_, resolve, "cublasLtGetStatusString");
  find_function(version_, resolve, "cublasLtGetVersion");
  find_function(create, resolve, "cublasLtCreate");
  find_function(destroy, resolve, "cublasLtDestroy");
  find_function(create_layout, resolve, "cublasLtMatrixLayoutCreate");
  find_function(destroy_layout, resolve, "cublasLtMatrixLayoutDestroy");
  find_function(set_layout, resolve, "cublasLtMatrixLayoutSetAttribute");
  find_function(create_product, resolve, "cublasLtMatmulDescCreate");
  find_function(destroy_product, resolve, "cublasLtMatmulDescDestroy");
  find_function(set_product, resolve, "cublasLtMatmulDescSetAttribute");
  find_function(create_preference, resolve, "cublasLtMatmulPreferenceCreate");
  find_function(destroy_preference, resolve, "cublasLtMatmulPreferenceDestroy");
  find_function(set_preference, resolve, "cublasLtMatmulPreferenceSetAttribute");
  find_function(heuristics, resolve, "cublasLtMatmulAlgoGetHeuristic");
  find_function(get_algorithm, resolve, "cublasLtMatmulAlgoConfigGetAttribute");
  find_function(multiply, resolve, "cublasLtMatmul");
}

std::string Functions::version_text() const {
  const std::size_t v = version_();
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
}

void Functions::check(int status, const char* action) const {
  if (status != 0) throw Failure(std::string(action) + ": " + status_text_(status));
}

}  // namespace ridgeline::cuda::cublas
