// tests/graph/golden_support.h
//
// Cases computed by other systems: archives unpacked into a temporary folder, ops run by their references.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::test {

// A tar.xz of packA/golden, unpacked into a temporary folder that the destructor removes. Check ok() first: it is false
// without RIDGELINE_TEST_DATA, the archive or tar, and problem() says which. Members that match `exclude` are not
// unpacked.
class UnpackedArchive {
 public:
  explicit UnpackedArchive(std::string_view name, std::string_view exclude = "");
  ~UnpackedArchive();
  UnpackedArchive(const UnpackedArchive&) = delete;
  UnpackedArchive& operator=(const UnpackedArchive&) = delete;

  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::string problem_;
};

// The results of one op by its reference.
std::vector<Tensor> run_op(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes = {});
// The gradients of sum(results[through] * dy) by the operands in `by`, through differentiate().
std::vector<Tensor> run_gradient(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                                 const Tensor& dy, const std::vector<int>& by, int through = 0);

Tensor transposed(const Tensor& x, std::vector<std::int64_t> permutation);
Tensor reshaped(const Tensor& x, Shape shape);
Tensor to_nhwc(const Tensor& nchw);
Tensor to_nchw(const Tensor& nhwc);

// "" if shapes agree and every element is within absolute + relative * |expected| (equal for integers and bool; NaN
// equals NaN); else a description of the first difference.
std::optional<std::string> difference(const Tensor& actual, const Tensor& expected, double relative, double absolute);

}  // namespace ridgeline::test
