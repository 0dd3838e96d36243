#include "tests/graph/golden_support.h"

#include <cmath>
#include <cstdlib>

#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::test {
namespace {

// In a memory file system, if there is one: the archives contain thousands of small files.
std::filesystem::path make_folder() {
  for (const std::filesystem::path& parent :
       {std::filesystem::path("/dev/shm"), std::filesystem::temp_directory_path()}) {
    std::string pattern = (parent / "ridgeline-golden-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) return pattern;
  }
  return {};
}

}  // namespace

UnpackedArchive::UnpackedArchive(std::string_view name, std::string_view exclude) {
  const char* root = std::getenv("RIDGELINE_TEST_DATA");
  if (root == nullptr || *root == '\0') {
    problem_ = "RIDGELINE_TEST_DATA is not set: the golden archives are not here";
    return;
  }
  const std::filesystem::path archive = std::filesystem::path(root) / "packA" / "golden" / name;
  if (!std::filesystem::exists(archive)) {
    problem_ = archive.string() + " is not here";
    return;
  }
  folder_ = make_folder();
  if (folder_.empty()) {
    problem_ = "no temporary folder could be made";
    return;
  }
  std::string command = "tar -xJf '" + archive.string() + "' -C '" + folder_.string() + "'";
  if (!exclude.empty()) command += " --exclude='" + std::string(exclude) + "'";
  if (std::system(command.c_str()) != 0) problem_ = "tar could not unpack " + archive.string();
}

UnpackedArchive::~UnpackedArchive() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

std::vector<Tensor> run_op(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  const OpDef& def = op_def(op);
  return run_reference(def, inputs, complete_attributes(def, attributes), op);
}

std::vector<Tensor> run_gradient(std::string_view op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                                 const Tensor& dy, const std::vector<int>& by, int through) {
  GraphBuilder b("gradient");
  Arguments arguments;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    operands.push_back(b.input(name, {inputs[i].dtype(), inputs[i].shape()}));
    arguments[name] = inputs[i];
  }
  arguments["dy"] = dy;
  const Value weights = b.input("dy", {dy.dtype(), dy.shape()});
  const std::vector<Value> results = b.apply_all(op, operands, attributes, {});
  const Value loss = b.apply("reduce_sum", {b.apply("mul", {results[static_cast<std::size_t>(through)], weights})});
  std::vector<ValueId> wanted;
  for (int i : by) wanted.push_back(operands[static_cast<std::size_t>(i)].id());
  const ValueId loss_id = loss.id();
  Graph graph = b.finish();
  const std::vector<ValueId> gradients = differentiate(graph, loss_id, wanted);
  const std::vector<Tensor> values = evaluate(graph, arguments);
  std::vector<Tensor> found;
  for (ValueId id : gradients) found.push_back(values.at(static_cast<std::size_t>(id)));
  return found;
}

Tensor transposed(const Tensor& x, std::vector<std::int64_t> permutation) {
  return run_op("transpose", {x}, {{"permutation", std::move(permutation)}})[0];
}

Tensor reshaped(const Tensor& x, Shape shape) { return run_op("reshape", {x}, {{"shape", shape.dims()}})[0]; }

Tensor to_nhwc(const Tensor& nchw) { return transposed(nchw, {0, 2, 3, 1}); }
Tensor to_nchw(const Tensor& nhwc) { return transposed(nhwc, {0, 3, 1, 2}); }

std::optional<std::string> difference(const Tensor& actual, const Tensor& expected, double relative, double absolute) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    return "got " + ValueType{actual.dtype(), actual.shape()}.to_string() + ", expected " +
           ValueType{expected.dtype(), expected.shape()}.to_string();
  }
  const bool exact = !is_floating(expected.dtype());
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = actual.at(i);
    const double b = expected.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!exact && std::abs(a - b) <= absolute + relative * std::abs(b)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " + std::to_string(b);
  }
  return std::nullopt;
}

}  // namespace ridgeline::test
