// Binds tables, transforms, datasets and registered functions.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "arrays.h"
#include "bind.h"
#include "interruptible.h"
#include "ridgeline/data/draw/draw.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/minddata/json.h"
#include "ridgeline/data/minddata/operations.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/data/runtime/save.h"
#include "ridgeline/data/source/sources.h"
#include "values.h"

namespace ridgeline::python {
namespace {

using Transforms = std::vector<PyTransform>;

// Passes tokens, which keep registered Python objects alive, through Python.
struct PyTokens {
  Tokens tokens;
};

struct PyTurn {
  explicit PyTurn(nb::object object) : held(turn_of(std::move(object))) {}
  std::shared_ptr<Turn> held;
};
struct PyCode {
  PyCode(nb::object function, nb::object turn, nb::object version)
      : code(std::make_shared<Code>(std::move(function), std::move(turn), std::move(version))) {}
  std::shared_ptr<Code> code;
};

void append(Tokens& tokens, const Tokens& more) { tokens.insert(tokens.end(), more.begin(), more.end()); }

PyTransform make_transform(const std::string& op, nb::dict args, const Transforms& operations, const PyTokens& held) {
  return building([&] {
    const data::TransformEntry& entry = data::transform_entry(op);
    PyTransform made{{op, args_of(op, entry.args, args), "", {}}, held.tokens};
    data::complete_args(op, entry.args, made.transform.args);
    for (const PyTransform& operation : operations) {
      made.transform.operations.push_back(operation.transform);
      append(made.tokens, operation.tokens);
    }
    if (entry.check) entry.check(made.transform);
    return made;
  });
}

data::Node make_node(const std::string& op, nb::dict args, const Transforms& operations) {
  data::Node node;
  node.op = op;
  node.args = args_of(op, data::node_entry(op).args, args);
  for (const PyTransform& operation : operations) node.operations.push_back(operation.transform);
  return node;
}

PyDataset make_source(const std::string& op, nb::dict args, const PyTokens& held) {
  return building([&] {
    data::DataGraph graph;
    graph.add(make_node(op, args, {}));
    const nb::gil_scoped_release unlocked;
    return PyDataset{data::Dataset(std::move(graph)), held.tokens};
  });
}

PyDataset add_node(const PyDataset& below, const std::string& op, nb::dict args, const Transforms& operations,
                   const PyTokens& held) {
  return building([&] {
    data::DataGraph graph = below.dataset.graph();
    data::Node node = make_node(op, args, operations);
    node.inputs = {graph.output().id};
    graph.add(std::move(node));
    Tokens all = below.tokens;
    append(all, held.tokens);
    for (const PyTransform& operation : operations) append(all, operation.tokens);
    const nb::gil_scoped_release unlocked;
    return PyDataset{data::Dataset(std::move(graph)), std::move(all)};
  });
}

PyDataset join(const std::string& op, const std::vector<PyDataset>& inputs, std::vector<double> weights,
               std::int64_t count, std::optional<std::uint64_t> seed) {
  std::vector<data::Dataset> datasets;
  Tokens tokens;
  for (const PyDataset& input : inputs) {
    datasets.push_back(input.dataset);
    append(tokens, input.tokens);
  }
  const nb::gil_scoped_release unlocked;
  return building([&] {
    if (op == "zip") return PyDataset{data::zip(datasets), tokens};
    if (op == "concat") return PyDataset{data::concat(datasets), tokens};
    return PyDataset{data::mix(datasets, std::move(weights), {.count = count, .seed = seed}), tokens};
  });
}

PyDataset with_callbacks(const PyDataset& d, const std::vector<std::pair<nb::object, std::int64_t>>& callbacks) {
  return building([&] {
    std::vector<std::shared_ptr<data::DataCallback>> made;
    for (const auto& [object, step_size] : callbacks) made.push_back(callback_of(object, step_size));
    return PyDataset{d.dataset.with_callbacks(std::move(made)), d.tokens};
  });
}

// Runs a query that opens the sources. If Python objects are among them, it runs in the calling thread, to which they
// may be bound.
template <class F>
auto ask(const PyDataset& d, const F& question) {
  if (!d.tokens.empty()) {
    const nb::gil_scoped_release unlocked;
    return question(d.dataset);
  }
  std::optional<decltype(question(d.dataset))> answer;
  run_interruptibly([&] { answer.emplace(question(d.dataset)); });
  return *std::move(answer);
}

// The same for equal transforms.
std::size_t hash_of(const data::Transform& transform) {
  std::size_t hash = std::hash<std::string>{}(transform.op);
  for (const data::Transform& operation : transform.operations) hash = hash * 31 + hash_of(operation);
  return hash;
}

// The graph before the passes, or after them.
data::DataGraph graph_of(const PyDataset& d, bool prepared) {
  return prepared ? data::prepare(d.dataset.graph(), false) : d.dataset.graph();
}

nb::tuple named(Named made) {
  return nb::make_tuple(to_python(made.name), nb::cast(PyTokens{{std::move(made.token)}}));
}

}  // namespace

nb::list columns_to_python(const data::Schema& schema) {
  nb::list list;
  for (const data::Column& column : schema)
    list.append(nb::make_tuple(to_python(column.name), std::string(name_of(column.dtype)),
                               nb::tuple(nb::cast(column.shape.dims()))));
  return list;
}

data::Schema columns_from_python(nb::handle columns) {
  data::Schema schema;
  for (nb::handle column : columns) {
    const std::string name = text_of(column[0]), type = shown(column[1]);
    const std::optional<DType> dtype = parse_dtype(type);
    if (!dtype)
      throw Error("column '" + name + "' has the unknown type '" + type +
                      "' (allowed: f64, f32, bf16, f16, u8, i32, i64, bool, bytes)",
                  ErrorKind::usage);
    schema.push_back({name, *dtype, Shape(nb::cast<std::vector<std::int64_t>>(nb::list(nb::borrow(column[2]))))});
  }
  return schema;
}

void bind_dataset(nb::module_& m) {
  m.def("node_table", &node_table);
  m.def("transform_table", &transform_table);
  m.def("reference_page", &data::reference_page);
  m.def("passes_page", &data::passes_page);

  nb::class_<PyTokens>(m, "Tokens").def(nb::init<>());

  nb::class_<PyTransform>(m, "Transform")
      .def_prop_ro("op", [](const PyTransform& t) { return t.transform.op; })
      .def_prop_ro("args", [](const PyTransform& t) { return to_python(t.transform.args); })
      .def_prop_ro("operations",
                   [](const PyTransform& t) {
                     Transforms inner;
                     for (const data::Transform& operation : t.transform.operations)
                       inner.push_back({operation, t.tokens});
                     return inner;
                   })
      .def(
          "__eq__", [](const PyTransform& a, const PyTransform& b) { return a.transform == b.transform; },
          nb::is_operator())
      .def("__hash__", [](const PyTransform& t) { return hash_of(t.transform); })
      .def("__repr__", [](const PyTransform& t) {
        std::string text = t.transform.op + "(";
        for (const auto& [name, value] : t.transform.args)
          text += (text.back() == '(' ? "" : ", ") + name + "=" + nb::cast<std::string>(nb::repr(to_python(value)));
        return text + ")";
      });
  m.def("make_transform", &make_transform);

  nb::class_<PyDataset>(m, "Dataset")
      .def("add", &add_node)
      .def("with_callbacks", &with_callbacks)
      .def("with_seed",
           [](const PyDataset& d, std::uint64_t seed) { return PyDataset{d.dataset.with_seed(seed), d.tokens}; })
      .def("with_hints",
           [](const PyDataset& d, int workers, std::int64_t memory_limit, std::int64_t slots) {
             return building([&] {
               return PyDataset{
                   d.dataset.with_hints({.workers = workers, .memory_limit = memory_limit, .slots = slots}), d.tokens};
             });
           })
      .def("size", [](const PyDataset& d) { return ask(d, [](const data::Dataset& made) { return made.size(); }); })
      .def("num_samples",
           [](const PyDataset& d) { return ask(d, [](const data::Dataset& made) { return made.num_samples(); }); })
      .def("num_samples_if_known",
           [](const PyDataset& d) {
             return ask(d, [](const data::Dataset& made) { return made.num_samples_if_known(); });
           })
      .def("has_callbacks",
           [](const PyDataset& d) {
             const std::vector<data::Node>& nodes = d.dataset.graph().nodes;
             return std::any_of(nodes.begin(), nodes.end(), [](const data::Node& n) { return !n.callbacks.empty(); });
           })
      .def("batch_size", [](const PyDataset& d) { return d.dataset.batch_size(); })
      .def("batched", [](const PyDataset& d) { return data::batch_node(d.dataset.graph()) != nullptr; })
      .def("repeat_count", [](const PyDataset& d) { return d.dataset.repeat_count(); })
      .def("columns",
           [](const PyDataset& d) {
             return columns_to_python(ask(d, [](const data::Dataset& made) { return made.columns(); }));
           })
      .def("num_classes",
           [](const PyDataset& d) { return ask(d, [](const data::Dataset& made) { return made.num_classes(); }); })
      .def("class_names",
           [](const PyDataset& d) {
             return to_python(data::Value(ask(d, [](const data::Dataset& made) { return made.class_names(); })));
           })
      .def("class_indexing",
           [](const PyDataset& d) {
             nb::dict labels;
             for (const auto& [name, label] : ask(d, [](const data::Dataset& made) { return made.class_indexing(); }))
               labels[to_python(name)] = label;
             return labels;
           })
      .def("label_base",
           [](const PyDataset& d) { return ask(d, [](const data::Dataset& made) { return made.label_base(); }); })
      .def("image_tail",
           [](const PyDataset& d) {
             const auto tail = ask(d, [](const data::Dataset& made) { return made.image_tail(); });
             return nb::make_tuple(tail.normalize, nb::cast(tail.mean), nb::cast(tail.std), tail.flip);
           })
      .def("seed", [](const PyDataset& d) { return d.dataset.graph().seed; })
      .def("to_json", [](const PyDataset& d, int indent) { return d.dataset.to_json(indent); })
      .def("to_minddata_json",
           [](const PyDataset& d, int indent) { return data::to_minddata_json(d.dataset.graph(), indent, {}); })
      .def("to_text",
           [](const PyDataset& d, bool prepared, bool open_files) {
             return to_python(data::to_text(graph_of(d, prepared), {.open_files = open_files}));
           })
      .def("to_svg",
           [](const PyDataset& d, bool open_files) {
             const std::vector<data::Drawing> both{{.title = "before the passes", .graph = graph_of(d, false)},
                                                   {.title = "after the passes", .graph = graph_of(d, true)}};
             return to_python(data::to_svg(both, {.open_files = open_files}));
           })
      .def("hash", [](const PyDataset& d) { return d.dataset.hash(); })
      .def("save", [](const PyDataset& d, nb::object path, int workers, std::uint64_t epoch) {
        const std::string file = text_of(path);
        const nb::gil_scoped_release unlocked;
        return data::save(d.dataset, file, {.workers = workers, .epoch = epoch});
      });
  m.def("make_source", &make_source);
  m.def("from_json", [](const std::string& text) {
    return building([&] { return PyDataset{data::Dataset::from_json(text), {}}; });
  });
  m.def("from_minddata_json", [](const std::string& text) {
    return building([&] { return PyDataset{data::Dataset(data::from_minddata_json(text, {})), {}}; });
  });
  // The JSON of the graph; sources are not opened.
  m.def("minddata_as_json", [](const std::string& text) {
    return building([&] { return data::to_json(data::from_minddata_json(text, {}), -1); });
  });
  m.def("minddata_transforms", [](const std::string& text) {
    return building([&] {
      Transforms made;
      for (data::Transform& transform : data::transforms_of_minddata_json(text)) {
        data::complete_args(transform.op, data::transform_entry(transform.op).args, transform.args);
        made.push_back({std::move(transform), {}});
      }
      return made;
    });
  });
  m.def("join", &join, nb::arg("op"), nb::arg("inputs"), nb::arg("weights"), nb::arg("count"), nb::arg("seed").none());

  nb::class_<PyTurn>(m, "Turn", "The turn of an object, as calls of Python functions in graphs take it: for `with`.")
      .def(nb::init<nb::object>())
      .def("__enter__",
           [](PyTurn& turn) {
             const nb::gil_scoped_release unlocked;
             turn.held->mutex().lock();
           })
      .def("__exit__", [](PyTurn& turn, const nb::args&) { turn.held->mutex().unlock(); });

  nb::class_<PyCode>(m, "Code").def(nb::init<nb::object, nb::object, nb::object>(), nb::arg("function"),
                                    nb::arg("turn").none(), nb::arg("version"));
  m.def("name_function", [](const std::string& wish, const PyCode& function, const std::string& dtype) {
    const std::optional<DType> result = parse_dtype(dtype);
    if (!dtype.empty() && !result)
      throw Error("[function] unknown dtype '" + dtype + "' (allowed: f64, f32, bf16, f16, u8, i32, i64, bool, bytes)",
                  ErrorKind::usage);
    return named(name_function(wish, function.code, result));
  });
  m.def("name_predicate",
        [](const std::string& wish, const PyCode& predicate) { return named(name_predicate(wish, predicate.code)); });
  m.def("name_generator", [](const std::string& wish, nb::object columns, std::int64_t rows, const PyCode& row) {
    return named(name_generator(wish, columns_from_python(columns), rows, row.code));
  });
  m.def("name_stream",
        [](const std::string& wish, nb::object columns, std::int64_t rows, const PyCode& open, std::int64_t window) {
          return named(name_stream(wish, columns_from_python(columns), rows, open.code, window));
        });
  m.def("name_files", [](const std::string& wish, nb::object paths, std::vector<std::int64_t> labels) {
    std::vector<std::string> files;
    for (nb::handle path : paths) files.push_back(text_of(path));
    return named(name_files(wish, std::move(files), std::move(labels)));
  });
}

}  // namespace ridgeline::python
