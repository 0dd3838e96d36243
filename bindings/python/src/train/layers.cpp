// Layers: the functions of nn/layers.h and nn/functional.h that need more than one op, with parameters declared in what
// is being built. The classes of ridgeline.nn call them; their defaults are those of `layer_defaults`.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "../values.h"
#include "graph_values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models.h"

namespace ridgeline::python {
namespace {

using Integers = std::vector<std::int64_t>;

[[noreturn]] void refuse(const std::string& what, nb::handle given, const std::string& meant) {
  throw Error(what + " is " + shown(nb::repr(given)) + "; " + meant, ErrorKind::usage);
}

bool one_or_several(nb::handle given, Integers& values) {
  std::int64_t one = 0;
  if (PyBool_Check(given.ptr())) return false;
  if (nb::try_cast(given, values)) return true;
  if (!nb::try_cast(given, one)) return false;
  values = {one};
  return true;
}

nn::Extent extent_of(const std::string& what, nb::handle given) {
  Integers values;
  if (!one_or_several(given, values) || values.empty() || values.size() > 2)
    refuse(what, given, "a number, or height and width");
  return values.size() == 1 ? nn::Extent(values[0]) : nn::Extent(values[0], values[1]);
}

nn::Padding padding_of(const std::string& what, nb::handle given) {
  Integers values;
  if (one_or_several(given, values)) {
    if (values.size() == 1) return {values[0]};
    if (values.size() == 4) return {values[0], values[1], values[2], values[3]};
  }
  refuse(what, given, "a number of pixels for all sides, or top, bottom, left and right");
}

// Runs `build(context, at)` for the layer of that name, whose place in the user's program is `where`: ops, parameters
// and Errors are of that line.
template <class F>
Value build_layer(const std::string& kind, const std::string& name, nb::handle where, F&& build) {
  BuildScope& scope = BuildScope::current("the layer " + (name.empty() ? kind : name));
  if (!name.empty()) scope.declare(name);
  nn::ModelContext& context = scope.context();
  const Location line = line_of(where);
  const GraphBuilder::UserLine user(context.builder, line);
  const std::size_t declared = context.parameters.size();
  const nn::At at = nn::At::current();
  try {
    const Value result = build(context, at);
    for (std::size_t i = declared; i < context.parameters.size(); ++i) context.parameters[i].where = line;
    return result;
  } catch (const Error& error) {
    // Some of the layer's own Errors end with the line that called it, which is one of this file.
    std::string text = error.what();
    const std::string own = behind_message(at);
    if (const std::size_t found = text.find(own); found != std::string::npos)
      text.replace(found, own.size(), behind_message(line));
    throw Error(text, ErrorKind::usage);
  }
}

nn::BatchNormLayer norm_of(const std::string& name, double momentum, double epsilon) {
  return {.name = name, .momentum = momentum, .epsilon = epsilon};
}

Value conv(nb::handle x, const std::string& name, std::int64_t out, nb::handle kernel, nb::handle stride,
           nb::handle pad, nb::handle dilation, std::int64_t groups, bool bias, const std::string& activation,
           const std::string& weight_init, const std::string& bias_init, const std::string& norm, double norm_momentum,
           double norm_epsilon, nb::handle where) {
  return build_layer("conv", name, where, [&](nn::ModelContext& context, const nn::At& at) {
    nn::ConvLayer layer{.name = name,
                        .out = out,
                        .kernel = extent_of("kernel of the layer " + name, kernel),
                        .stride = extent_of("stride of the layer " + name, stride),
                        .pad = padding_of("pad of the layer " + name, pad),
                        .dilation = extent_of("dilation of the layer " + name, dilation),
                        .groups = groups,
                        .bias = bias,
                        .activation = nn::activation_named(activation),
                        .weight_init = nn::init_named(weight_init),
                        .bias_init = nn::init_named(bias_init)};
    if (!norm.empty()) layer.norm = norm_of(norm, norm_momentum, norm_epsilon);
    return nn::conv_layer(context, value_of_python(x, "what the layer " + name + " reads"), layer, at);
  });
}

Value dense(nb::handle x, const std::string& name, std::int64_t out, const std::string& activation,
            const std::string& weight_init, const std::string& bias_init, nb::handle where) {
  return build_layer("dense", name, where, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::dense_layer(context, value_of_python(x, "what the layer " + name + " reads"),
                           {.name = name,
                            .out = out,
                            .activation = nn::activation_named(activation),
                            .weight_init = nn::init_named(weight_init),
                            .bias_init = nn::init_named(bias_init)},
                           at);
  });
}

Value batch_norm(nb::handle x, const std::string& name, double momentum, double epsilon, nb::handle where) {
  return build_layer("batch_norm", name, where, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::batch_norm_layer(context, value_of_python(x, "what the layer " + name + " reads"),
                                norm_of(name, momentum, epsilon), at);
  });
}

Value dropout(nb::handle x, const std::string& name, double keep_prob, nb::handle where) {
  return build_layer("dropout", name, where, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::dropout_layer(context, value_of_python(x, "what the layer " + name + " reads"), name, keep_prob, at);
  });
}

Value adaptive_avg_pool(nb::handle x, nb::handle size, nb::handle where) {
  return build_layer("adaptive_avg_pool", "", where, [&](nn::ModelContext&, const nn::At& at) {
    return nn::adaptive_avg_pool(value_of_python(x, "what adaptive_avg_pool reads"), extent_of("size", size), at);
  });
}

Value activate(nb::handle x, const std::string& activation, nb::handle where) {
  return build_layer("activation", "", where, [&](nn::ModelContext&, const nn::At& at) {
    return nn::activate(value_of_python(x, "what the activation reads"), nn::activation_named(activation), at);
  });
}

// A parameter of the user's own, as layers declare theirs.
Value parameter(const std::string& name, const Integers& shape, const std::string& init, nb::handle constant,
                nb::handle where) {
  return build_layer("parameter", name, where, [&](nn::ModelContext& context, const nn::At& at) {
    const Shape extents(shape);
    if (double value = 0; !constant.is_none() && nb::try_cast(constant, value))
      return context.parameter(name, extents, nn::constant(value), at);
    return context.parameter(name, extents, nn::init_named(init)(nn::fans_of(extents, at)), at);
  });
}

nb::list pair(const nn::Extent& e) { return nb::cast<nb::list>(nb::cast(Integers{e.height, e.width})); }

std::string rule_name(nn::InitRule rule) {
  for (const nn::InitEntry& entry : nn::init_rules())
    if (entry.rule == rule) return std::string(entry.name);
  return "";
}

// {layer: {argument: default}} as C++ has them, by which a test holds the signatures of Python.
nb::dict layer_defaults() {
  const nn::ConvLayer conv;
  const nn::DenseLayer dense;
  const nn::BatchNormLayer norm;
  const nn::PoolOptions pool;
  const nn::LrnOptions lrn;
  const auto activation = [](nn::Activation a) {
    return std::string(nn::activation_names()[static_cast<std::size_t>(a)]);
  };
  nb::dict all, own;
  own["kernel"] = pair(conv.kernel);
  own["stride"] = pair(conv.stride);
  own["pad"] = nb::cast(Integers{conv.pad.top, conv.pad.bottom, conv.pad.left, conv.pad.right});
  own["dilation"] = pair(conv.dilation);
  own["groups"] = conv.groups;
  own["bias"] = conv.bias;
  own["activation"] = activation(conv.activation);
  own["weight_init"] = rule_name(conv.weight_init);
  own["bias_init"] = rule_name(conv.bias_init);
  all["Conv"] = own;
  own = nb::dict();
  own["activation"] = activation(dense.activation);
  own["weight_init"] = rule_name(dense.weight_init);
  own["bias_init"] = rule_name(dense.bias_init);
  all["Dense"] = own;
  own = nb::dict();
  own["momentum"] = norm.momentum;
  own["epsilon"] = norm.epsilon;
  all["BatchNorm"] = own;
  own = nb::dict();
  own["kernel"] = pair(pool.kernel);
  own["stride"] = pair(pool.stride);
  own["pad"] = nb::cast(Integers{pool.pad.top, pool.pad.bottom, pool.pad.left, pool.pad.right});
  all["MaxPool"] = own;
  all["AvgPool"] = own;
  own = nb::dict();
  own["size"] = lrn.size;
  own["alpha"] = lrn.alpha;
  own["beta"] = lrn.beta;
  own["bias"] = lrn.bias;
  all["Lrn"] = own;
  own = nb::dict();
  own["mean"] = nb::cast(std::vector<double>(image::kImagenetMean.begin(), image::kImagenetMean.end()));
  own["std"] = nb::cast(std::vector<double>(image::kImagenetStd.begin(), image::kImagenetStd.end()));
  all["Normalize"] = own;
  return all;
}

}  // namespace

void bind_layers(nb::module_& m) {
  m.def("layer_conv", &conv);
  m.def("layer_dense", &dense);
  m.def("layer_batch_norm", &batch_norm);
  m.def("layer_dropout", &dropout);
  m.def("layer_adaptive_avg_pool", &adaptive_avg_pool);
  m.def("layer_activate", &activate);
  m.def("parameter", &parameter, nb::arg("name"), nb::arg("shape"), nb::arg("init"), nb::arg("constant").none(),
        nb::arg("where").none());
  m.def("layer_name", [](nb::handle layer, const std::string& base, const std::string& wish) {
    return BuildScope::current("the layer " + (wish.empty() ? base : wish)).name_of(layer, base, wish);
  });
  m.def("layer_training", [] { return BuildScope::current("training()").context().training; });
  m.def("layer_defaults", &layer_defaults);
  m.def("user_line", [] {
    const Location line = user_line();
    return nb::make_tuple(line.file, line.line, line.function);
  });
  m.def("init_table", [] {
    nb::list list;
    for (const nn::InitEntry& entry : nn::init_rules())
      list.append(nb::make_tuple(std::string(entry.name), std::string(entry.line)));
    return list;
  });
  m.def("activation_names", [] {
    nb::list list;
    for (const std::string_view name : nn::activation_names()) list.append(std::string(name));
    return list;
  });
}

}  // namespace ridgeline::python
