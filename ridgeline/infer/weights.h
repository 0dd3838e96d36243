// ridgeline/infer/weights.h
//
// Parameters in files: convolution kernels as OIHW, dense weights as [out,in], everything else as it is; names are
// those of the graph. Reads what PyTorch programs save: what its wrappers put in front of names is dropped ("module.",
// "_orig_mod.", in any order and number), and so is one other prefix that makes all names fit; num_batches_tracked is
// ignored. Pure functions.
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
// f64, bf16 and f16 are converted to the type of the parameter. Error if the shape is another.
Tensor from_file(const ParameterSpec& spec, const Tensor& stored);

struct WeightMatch {
  std::map<std::string, Tensor> tensors;  // loaded, logical, by parameter name; copies of their own
  std::vector<std::string> loaded;
  std::vector<std::string> missing;     // wanted, not in the file
  std::vector<std::string> unexpected;  // in the file, not wanted
  std::vector<std::string> mismatched;  // "fc.weight: the file has f32[1000,512], the model f32[10,512]"
  std::vector<std::string> excluded;    // wanted and left out on request
  std::vector<std::string> unusable;    // what unusable_values() says of those that are loaded
  std::string prefix;                   // "backbone.": of the names in the file, and not of those in the model
  // For the log: "names without 'backbone.'"; empty where there is no prefix.
  std::string note() const;
  std::vector<std::string> idle;  // scopes of `exclude` that nothing wanted lies in
};

// Finds the wanted parameters among the tensors of a file. `exclude` are scopes: "dense_2" leaves out "dense_2/kernel"
// and "dense_2/bias", "fc" leaves out "fc.weight". A prefix makes all names fit where behind it the file has every
// parameter, or nothing but parameters, and without it none; several such prefixes are an Error.
WeightMatch match_weights(std::span<const ParameterSpec> wanted, std::span<const NamedTensor> stored,
                          std::span<const std::string> exclude = {});

// What is asked of a file whose weights are taken, and how the Errors read.
struct WeightRules {
  std::string where;       // Errors begin with it: "[weights] resnet20.safetensors"
  std::string model = {};  // its name
  std::span<const std::string> exclude = {};
  std::string advice = {};  // what one can do where shapes differ
  bool complete = false;    // a parameter that the file lacks is an Error
  bool any_value = false;   // of NaN, infinities and variances below 0 nothing is said
};

// The match. An Error where shapes differ, nothing fits, or a rule is broken: the one way in which training,
// evaluation, prediction and export read weights.
WeightMatch take_weights(std::span<const ParameterSpec> wanted, std::span<const NamedTensor> stored,
                         const WeightRules& rules);

}  // namespace ridgeline
