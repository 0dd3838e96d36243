// Layers of images and rows: the functions of nn/layers.h of several ops, which declare their parameters in the graph
// that is being built. The classes of ridgeline.nn call them; `layer_defaults` has their defaults.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "../arrays.h"
#include "layer_building.h"
#include "ridgeline/infer/weights.h"
#include "ridgeline/nn/models.h"

namespace ridgeline::python {
namespace {

nn::BatchNormLayer norm_of(const std::string& name, double momentum, double epsilon) {
  return {.name = name, .momentum = momentum, .epsilon = epsilon};
}

Value conv(nb::handle x, const std::string& name, std::int64_t out, nb::handle kernel, nb::handle stride,
           nb::handle pad, nb::handle dilation, std::int64_t groups, bool bias, const std::string& activation,
           nb::handle weight_init, nb::handle bias_init, const std::string& norm, double norm_momentum,
           double norm_epsilon, nb::handle where) {
  const LayerInits inits(weight_init, bias_init);
  return build_layer("conv", name, where, inits, [&](nn::ModelContext& context, const nn::At& at) {
    nn::ConvLayer layer{.name = name,
                        .out = out,
                        .kernel = extent_of("kernel of the layer " + name, kernel),
                        .stride = extent_of("stride of the layer " + name, stride),
                        .pad = padding_of("pad of the layer " + name, pad),
                        .dilation = extent_of("dilation of the layer " + name, dilation),
                        .groups = groups,
                        .bias = bias,
                        .activation = nn::activation_named(activation),
                        .weight_init = inits.weight.rule,
                        .bias_init = inits.bias.rule};
    if (!norm.empty()) {
      BuildScope& scope = BuildScope::current("the norm " + norm);
      if (scope.earlier_calls(norm) > 0 && scope.calls().earlier == 0) {
        throw Error("the norm " + norm + " of the layer " + name +
                    " was called before: each convolution has a norm of its own, or norm(conv(x)) is meant" +
                    behind_message(at));
      }
      layer.norm = norm_of(norm, norm_momentum, norm_epsilon);
    }
    return nn::conv_layer(context, value_of_python(x, "what the layer " + name + " reads"), layer, at);
  });
}

Value conv_transpose(nb::handle x, const std::string& name, std::int64_t out, nb::handle kernel, nb::handle stride,
                     nb::handle pad, nb::handle output_pad, nb::handle dilation, std::int64_t groups, bool bias,
                     const std::string& activation, nb::handle weight_init, nb::handle bias_init, nb::handle where) {
  const LayerInits inits(weight_init, bias_init);
  return build_layer("conv_transpose", name, where, inits, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::conv_transpose_layer(context, value_of_python(x, "what the layer " + name + " reads"),
                                    {.name = name,
                                     .out = out,
                                     .kernel = extent_of("kernel of the layer " + name, kernel),
                                     .stride = extent_of("stride of the layer " + name, stride),
                                     .pad = padding_of("pad of the layer " + name, pad),
                                     .output_pad = extent_of("output_pad of the layer " + name, output_pad),
                                     .dilation = extent_of("dilation of the layer " + name, dilation),
                                     .groups = groups,
                                     .bias = bias,
                                     .activation = nn::activation_named(activation),
                                     .weight_init = inits.weight.rule,
                                     .bias_init = inits.bias.rule},
                                    at);
  });
}

Value dense(nb::handle x, const std::string& name, std::int64_t out, bool bias, const std::string& activation,
            nb::handle weight_init, nb::handle bias_init, nb::handle where) {
  const LayerInits inits(weight_init, bias_init);
  return build_layer("dense", name, where, inits, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::linear_layer(context, value_of_python(x, "what the layer " + name + " reads"),
                            {.name = name,
                             .out = out,
                             .bias = bias,
                             .activation = nn::activation_named(activation),
                             .weight_init = inits.weight.rule,
                             .bias_init = inits.bias.rule},
                            at);
  });
}

Value batch_norm(nb::handle x, const std::string& name, double momentum, double epsilon, nb::handle where) {
  return build_layer("batch_norm", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::batch_norm_layer(context, value_of_python(x, "what the layer " + name + " reads"),
                                norm_of(name, momentum, epsilon), at);
  });
}

Value dropout(nb::handle x, const std::string& name, double keep_prob, nb::handle where) {
  return build_layer("dropout", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::dropout_layer(context, value_of_python(x, "what the layer " + name + " reads"), name, keep_prob, at);
  });
}

Value drop_samples(nb::handle x, const std::string& name, double keep_prob, nb::handle where) {
  return build_layer("drop_samples", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::drop_samples_layer(context, value_of_python(x, "what the layer " + name + " reads"), name, keep_prob,
                                  at);
  });
}

Value adaptive_avg_pool(nb::handle x, nb::handle size, nb::handle where) {
  return build_layer("adaptive_avg_pool", "", where, {}, [&](nn::ModelContext&, const nn::At& at) {
    return nn::adaptive_avg_pool(value_of_python(x, "what adaptive_avg_pool reads"), extent_of("size", size), at);
  });
}

Value activate(nb::handle x, const std::string& activation, nb::handle where) {
  return build_layer("activation", "", where, {}, [&](nn::ModelContext&, const nn::At& at) {
    return nn::activate(value_of_python(x, "what the activation reads"), nn::activation_named(activation), at);
  });
}

// Declares a user's parameter like those of layers.
Value parameter(const std::string& name, const Integers& shape, nb::handle init, nb::handle constant,
                nb::handle where) {
  return build_layer("parameter", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    const Shape extents(shape);
    if (double value = 0; !constant.is_none() && nb::try_cast(constant, value))
      return context.parameter(name, extents, nn::constant(value), at);
    const GivenInit given = init_of(init);
    return context.parameter(name, extents, given.value ? *given.value : given.rule(nn::fans_of(extents, at)), at);
  });
}

nb::list pair(const nn::Extent& e) { return nb::cast<nb::list>(nb::cast(Integers{e.height, e.width})); }

std::string rule_name(nn::InitRule rule) {
  for (const nn::InitEntry& entry : nn::init_rules())
    if (entry.rule == rule) return std::string(entry.name);
  return "";
}

// {layer: {argument: default}} of C++; a test compares the Python signatures with it.
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
  const nn::ConvTransposeLayer turned;
  own = nb::dict();
  own["kernel"] = pair(turned.kernel);
  own["stride"] = pair(turned.stride);
  own["pad"] = nb::cast(Integers{turned.pad.top, turned.pad.bottom, turned.pad.left, turned.pad.right});
  own["output_pad"] = pair(turned.output_pad);
  own["dilation"] = pair(turned.dilation);
  own["groups"] = turned.groups;
  own["bias"] = turned.bias;
  own["activation"] = activation(turned.activation);
  own["weight_init"] = rule_name(turned.weight_init);
  own["bias_init"] = rule_name(turned.bias_init);
  all["ConvTranspose"] = own;
  own = nb::dict();
  own["bias"] = dense.bias;
  own["activation"] = activation(dense.activation);
  own["weight_init"] = rule_name(dense.weight_init);
  own["bias_init"] = rule_name(dense.bias_init);
  all["Dense"] = own;
  own = nb::dict();
  own["momentum"] = norm.momentum;
  own["epsilon"] = norm.epsilon;
  all["BatchNorm"] = own;
  const nn::LayerNormLayer layer_norm;
  own = nb::dict();
  own["axes"] = layer_norm.axes;
  own["epsilon"] = layer_norm.epsilon;
  all["LayerNorm"] = own;
  const nn::GroupNormLayer group_norm;
  own = nb::dict();
  own["groups"] = group_norm.groups;
  own["epsilon"] = group_norm.epsilon;
  all["GroupNorm"] = own;
  const nn::AttentionLayer attention;
  own = nb::dict();
  own["dropout_keep"] = attention.dropout_keep;
  all["Attention"] = own;
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
  nb::class_<Init>(m, "Init", "How a parameter begins: numbers that do not depend on its shape.")
      .def("__repr__", [](const Init& init) {
        return std::string(init.rule == Init::Rule::normal ? "normal" : "constant") + "(" +
               shown(nb::repr(nb::cast(init.amount))) + ")";
      });
  m.def("init_normal", [](double deviation) {
    if (!(deviation >= 0))
      throw Error("the deviation of normal() is " + std::to_string(deviation) + "; 0 or more is meant",
                  ErrorKind::usage);
    return nn::normal(deviation);
  });
  m.def("first_values", [](const std::string& name, const Integers& shape, nb::handle init, const Integers& fan_shape,
                           std::uint64_t seed) {
    const GivenInit given = init_of(init);
    nn::ParameterSpec spec{.name = name, .shape = Shape(shape)};
    spec.init = given.value ? *given.value : given.rule(nn::fans_of(Shape(fan_shape), nn::At::current()));
    return to_numpy(to_file(spec, nn::initialize(spec, seed)).clone());
  });
  m.def("init_constant", [](double value) { return nn::constant(value); });
  m.def("layer_conv", &conv);
  m.def("layer_conv_transpose", &conv_transpose);
  m.def("layer_drop_samples", &drop_samples);
  bind_sequence_layers(m);
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
