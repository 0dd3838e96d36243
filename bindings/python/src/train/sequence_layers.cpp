// Layers for sequences: layer and group norms, embedding tables, attention.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "layer_building.h"

namespace ridgeline::python {
namespace {

std::string reads(const std::string& name) { return "what the layer " + name + " reads"; }

Value layer_norm(nb::handle x, const std::string& name, int axes, double epsilon, nb::handle where) {
  return build_layer("layer_norm", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::layer_norm_layer(context, value_of_python(x, reads(name)),
                                {.name = name, .axes = axes, .epsilon = epsilon}, at);
  });
}

Value group_norm(nb::handle x, const std::string& name, std::int64_t groups, double epsilon, nb::handle where) {
  return build_layer("group_norm", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    return nn::group_norm_layer(context, value_of_python(x, reads(name)),
                                {.name = name, .groups = groups, .epsilon = epsilon}, at);
  });
}

Value embedding(nb::handle indices, const std::string& name, std::int64_t rows, std::int64_t width,
                nb::handle weight_init, nb::handle where) {
  return build_layer("embedding", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    nn::EmbeddingLayer layer{.name = name, .rows = rows, .width = width};
    const GivenInit given = init_of(weight_init);
    layer.weight_init = given.value ? *given.value : given.rule(nn::fans_of({rows, width}, at));
    return nn::embedding_layer(context, value_of_python(indices, reads(name)), layer, at);
  });
}

Value attention(nb::handle x, nb::handle memory, const std::string& name, std::int64_t heads, double dropout_keep,
                nb::handle where) {
  return build_layer("attention", name, where, {}, [&](nn::ModelContext& context, const nn::At& at) {
    const Value keys = memory.is_none() ? Value() : value_of_python(memory, "the memory of the layer " + name);
    return nn::attention_layer(context, value_of_python(x, reads(name)),
                               {.name = name, .heads = heads, .dropout_keep = dropout_keep}, keys, at);
  });
}

// Dot-product attention, without parameters.
Value attend(nb::handle q, nb::handle k, nb::handle v) {
  return build_layer("attention", "", nb::none(), {}, [&](nn::ModelContext&, const nn::At& at) {
    return nn::attention(value_of_python(q, "q of attention()"), value_of_python(k, "k of attention()"),
                         value_of_python(v, "v of attention()"), {}, at);
  });
}

}  // namespace

void bind_sequence_layers(nb::module_& m) {
  m.def("layer_layer_norm", &layer_norm);
  m.def("layer_group_norm", &group_norm);
  m.def("layer_embedding", &embedding);
  m.def("layer_attention", &attention, nb::arg("x"), nb::arg("memory").none(), nb::arg("name"), nb::arg("heads"),
        nb::arg("dropout_keep"), nb::arg("where").none());
  m.def("attend", &attend);
}

}  // namespace ridgeline::python
