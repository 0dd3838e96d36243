#include "ridgeline/compile/run/graph_run.h"

#include <cmath>

#include "ridgeline/compile/lower/check_memory.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

Tensor draw(const ValueInfo& info, std::uint64_t seed) {
  const DType dtype = info.type.dtype;
  if (dtype == DType::bytes) throw Error("argument " + info.name + " holds byte strings, which no kernel reads");
  Tensor t(dtype, info.type.shape);
  const PhiloxKey key = philox_key(seed, info.name);
  const auto value = [&](std::int64_t i) {
    const double u = uniform_float(philox_element(key, 0, static_cast<std::uint64_t>(i)));
    if (is_floating(dtype)) return info.kind == ValueKind::state ? u : 2 * u - 1;
    return std::floor(u * (dtype == DType::u8 ? 256 : 2));
  };
  parallel_for(t.elements(), 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) t.set(i, value(i));
  });
  return t;
}

}  // namespace

Arguments draw_arguments(const Graph& graph, std::uint64_t seed) {
  check_memory(graph);
  Arguments arguments;
  for (ValueId id : graph.arguments) arguments[graph.value(id).name] = draw(graph.value(id), seed);
  return arguments;
}

GraphRun::GraphRun(const Graph& graph, const SessionOptions& session, const CompileOptions& compile)
    : session_(session), graph_(graph), program_(ridgeline::compile(graph, session_, compile)) {}

void GraphRun::set(const Arguments& arguments) {
  check_arguments(graph_, arguments);
  for (ValueId id : graph_.arguments) {
    const ValueInfo& info = graph_.value(id);
    const Tensor& value = arguments.at(info.name);
    if (info.kind == ValueKind::input)
      program_->bind(info.name, value);
    else
      session_.parameters().set(info.name, value, info.kind);
  }
}

std::vector<Tensor> GraphRun::returns() {
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < graph_.returns.size(); ++i) values.push_back(program_->output(i).clone());
  return values;
}

Arguments GraphRun::updated() {
  Arguments values;
  for (const Update& update : graph_.updates) {
    const std::string& name = graph_.value(update.current).name;
    values[name] = session_.parameters().get(name);
  }
  return values;
}

}  // namespace ridgeline
