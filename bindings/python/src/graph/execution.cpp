#include "execution.h"

#include <unistd.h>

#include <utility>

#include "../arrays.h"
#include "../bind.h"
#include "../train/graph_values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/nn/eager_gradients.h"

namespace ridgeline::python {

FunctionSession::FunctionSession(const std::string& device, int threads) : process_(::getpid()) {
  device_named(device);
  session_ = std::make_unique<Session>(SessionOptions{.compute_threads = threads, .device = device});
}

FunctionSession::~FunctionSession() {
  if (!of_this_process()) static_cast<void>(session_.release());
}

bool FunctionSession::of_this_process() const { return process_ == ::getpid(); }

FunctionProgram::FunctionProgram(std::shared_ptr<FunctionSession> session, const PyGraph& graph,
                                 std::vector<PyArray> constants, bool fusion)
    : session_(std::move(session)), graph_(graph.graph), constants_(std::move(constants)) {
  const nb::gil_scoped_release released;
  const std::lock_guard turn(session_->turn());
  CompileOptions options;
  if (!fusion) options.fusion = false;
  program_ = building([&] { return compile(*graph_, session_->session(), options); });
  const std::size_t given = graph_->arguments.size() - constants_.size();
  for (std::size_t i = 0; i < constants_.size(); ++i)
    program_->bind(graph_->value(graph_->arguments[given + i]).name, constants_[i].tensor);
}

FunctionProgram::~FunctionProgram() {
  if (!session_->of_this_process()) static_cast<void>(program_.release());
}

std::vector<PyArray> FunctionProgram::run(const std::vector<PyArray>& arguments) {
  std::vector<PyArray> results;
  const nb::gil_scoped_release released;
  const std::lock_guard turn(session_->turn());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    program_->bind(graph_->value(graph_->arguments[i]).name, arguments[i].tensor);
  if (!program_->run()) throw Error("the session was stopped", ErrorKind::interrupted);
  for (std::size_t i = 0; i < graph_->returns.size(); ++i) results.push_back({program_->output(i).clone()});
  return results;
}

EagerRun::EagerRun(std::shared_ptr<FunctionSession> session)
    : session_(std::move(session)), eager_(std::make_unique<Eager>(session_->session())) {}

EagerRun::~EagerRun() {
  if (!session_->of_this_process()) static_cast<void>(eager_.release());
}

void EagerRun::begin(nb::object code) {
  code_ = std::move(code);
  eager_->forget();
}

Value EagerRun::constant(nb::handle array, const Location&) {
  return eager_->input(from_array("an array that a function reads", array));
}

const Tensor* EagerRun::find(const Value& value) const {
  return value.is_of(eager_->builder()) ? &eager_->tensor(value) : nullptr;
}

Value EagerRun::input(const PyArray& array) { return eager_->input(array.tensor); }

PyArray EagerRun::output(const Value& value) const { return {eager_->tensor(value).clone()}; }

std::vector<PyArray> EagerRun::gradients(const Value& loss, const std::vector<Value>& with_respect_to) {
  const auto turn = work();
  std::vector<PyArray> arrays;
  for (Tensor& tensor : building([&] { return nn::eager_gradients(*eager_, loss, with_respect_to); }))
    arrays.push_back({std::move(tensor)});
  return arrays;
}

std::vector<Value> EagerRun::call(const std::string& name, const PyGraph& body, const std::vector<Value>& arguments,
                                  const std::vector<PyArray>& constants) {
  std::vector<Value> values = arguments;
  for (const PyArray& constant : constants) values.push_back(eager_->input(constant.tensor));
  const Location where = user_line();
  const CallerFrames frames(builder(), code());
  const auto turn = work();
  return building([&] {
    std::string own = name;
    for (int n = 1; builder().graph().functions.contains(own); ++n) own = numbered_name(name, n);
    return builder().call(own, *body.graph, values, where);
  });
}

PyGraph gradient_graph(const PyGraph& body, const std::string& name, std::size_t loss,
                       const std::vector<std::size_t>& arguments, bool keep_results) {
  return building([&] {
    Graph graph = inline_calls(*body.graph);
    graph.name = name;
    std::vector<ValueId> wanted;
    for (const std::size_t i : arguments) wanted.push_back(graph.arguments.at(i));
    std::vector<ValueId> gradients = differentiate(graph, graph.returns.at(loss).value, wanted);
    if (!keep_results) graph.returns.clear();
    GraphBuilder builder(std::move(graph));
    builder.set_result_kind(ValueKind::grad);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const ValueInfo& argument = builder.graph().value(wanted[i]);
      const ValueType type = argument.type;
      const std::string result = "gradient/" + argument.name;
      Value gradient = builder.value(gradients[i]);
      if (gradients[i] == kNoValue) {
        gradient = builder.constant(0, type.dtype);
        if (type.shape.rank() > 0)
          gradient = builder.apply_at({}, "broadcast_to", {gradient}, {{"shape", type.shape.dims()}});
      }
      builder.returns(result, gradient, Location{});
    }
    Graph made = builder.finish();
    remove_dead_nodes(made);
    return PyGraph{std::make_shared<const Graph>(std::move(made))};
  });
}

}  // namespace ridgeline::python
