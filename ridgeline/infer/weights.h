// ridgeline/infer/weights.h
//
// Parameters in files: convolution kernels as OIHW, dense weights as [out,in], everything else as it is; names are
// those of the graph. Reads files of PyTorch programs: prefixes of its wrappers ("module.", "_orig_mod.", in any order
// and number) are dropped, and so is one other prefix if all names fit without it; num_batches_tracked is ignored. Pure
// functions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/compile/run/parameter_spec.h"
#include "ridgeline/format/tensor/safetensors.h"

namespace ridgeline {

// The shape in files: [K,R,S,C] -> [K,C,R,S].
Shape file_shape(const ParameterSpec& spec);
Tensor to_file(const ParameterSpec& spec, const Tensor& logical);
// f64, bf16 and f16 are converted to the type of the parameter. Error if the shape differs.
Tensor from_file(const ParameterSpec& spec, const Tensor& stored);

struct WeightMatch {
  std::map<std::string, Tensor> tensors;  // loaded, logical, by parameter name; copies
  std::vector<std::string> loaded;
  std::vector<std::string> missing;     // wanted, not in the file
  std::vector<std::string> unexpected;  // in the file, not wanted
  std::vector<std::string> mismatched;  // "fc.weight: the file has f32[1000,512], the model f32[10,512]"
  std::vector<std::string> excluded;    // wanted and left out on request
  std::vector<std::string> unusable;    // unusable_values() of those that are loaded
  std::string prefix;                   // "backbone.": a prefix of the names in the file but not of those in the model
  // For the log: "names without 'backbone.'"; empty if there is no prefix.
  std::string note() const;
  std::vector<std::string> idle;  // scopes of `exclude` without a wanted parameter
};

// Finds the wanted parameters among the tensors of a file. `exclude` are scopes: "dense_2" leaves out "dense_2/kernel"
// and "dense_2/bias", "fc" leaves out "fc.weight". A prefix is dropped if the names after it include every parameter,
// or are only parameters, and no full name fits; several such prefixes are an Error.
WeightMatch match_weights(std::span<const ParameterSpec> wanted, std::span<const NamedTensor> stored,
                          std::span<const std::string> exclude = {});

// What a file must have for its weights to be taken, and the words of Errors.
struct WeightRules {
  std::string where;       // Errors begin with it: "[weights] resnet20.safetensors"
  std::string model = {};  // its name
  std::span<const std::string> exclude = {};
  std::string advice = {};  // what to do if shapes differ
  bool complete = false;    // a parameter that the file lacks is an Error
  bool any_value = false;   // NaN, infinities and variances below 0 are not reported
};

// Returns the match; an Error if shapes differ, nothing fits, or a rule is broken. Training, evaluation, prediction and
// export all read weights this way.
WeightMatch take_weights(std::span<const ParameterSpec> wanted, std::span<const NamedTensor> stored,
                         const WeightRules& rules);

}  // namespace ridgeline
