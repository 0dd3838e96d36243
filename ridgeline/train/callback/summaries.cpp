#include "ridgeline/train/callback/summaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/image/png/png.h"
#include "ridgeline/train/step_graph.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kPictures = 4;

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Picture n of [N,H,W,C] as bytes; normalised ones over the range that they have.
image::Image picture_of(const Tensor& images, std::int64_t n) {
  const Shape& shape = images.shape();
  image::Image picture(static_cast<int>(shape[1]), static_cast<int>(shape[2]), static_cast<int>(shape[3]));
  const std::int64_t size = shape[1] * shape[2] * shape[3];
  if (images.dtype() == DType::u8) {
    std::copy_n(images.data<std::uint8_t>() + n * size, size, picture.data());
    return picture;
  }
  double least = INFINITY, most = -INFINITY;
  for (std::int64_t i = 0; i < size; ++i) {
    least = std::min(least, images.at(n * size + i));
    most = std::max(most, images.at(n * size + i));
  }
  const double scale = most > least ? 255 / (most - least) : 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double value = scale * (images.at(n * size + i) - least);
    picture.data()[i] = static_cast<std::uint8_t>(std::isfinite(value) ? std::clamp(value + 0.5, 0.0, 255.0) : 0);
  }
  return picture;
}

// The step without its updates, returning the gradients by their parameters.
Graph gradient_graph(const Graph& step) {
  Graph graph = step;
  graph.name = "gradients";
  graph.returns.clear();
  for (const auto& [parameter, gradient] : gradients_of_updates(step)) graph.returns.push_back({parameter, gradient});
  graph.updates.clear();
  remove_dead_nodes(graph);
  return graph;
}

// The writing rank alone recomputes the gradients, so this must not exchange anything.
void refuse_exchanges(const Graph& step) {
  for (const Node& node : step.nodes) {
    if (!op_def(node.op).has(kCollective) || node.attributes.integer("ranks") == 1) continue;
    throw Error("histograms of gradients: one rank computes them, and the step exchanges values with others (" +
                    node.name + ", " + node.op + "): leave out histogram_steps, or what needs the other ranks " +
                    "(sync_batch_norm, bad_samples=skip)",
                ErrorKind::usage);
  }
}

}  // namespace

std::int64_t Summaries::next_stop(std::int64_t step) const {
  return std::min(next_multiple(step, options_.histogram_steps), next_multiple(step, options_.picture_steps));
}

void Summaries::begin(RunContext& context) {
  if (options_.histogram_steps > 0) refuse_exchanges(context.model().training_graph());
  if (options_.graph) events_.add_graph(wall_time(), graph_def(context.model().training_graph()));
}

void Summaries::step_end(RunContext& context) {
  if (context.failing() || context.loop_steps() == 0) return;
  if (is_multiple(context.step(), options_.histogram_steps)) {
    write_weights(context);
    write_gradients(context);
  }
  if (is_multiple(context.step(), options_.picture_steps)) write_pictures(context);
}

void Summaries::write_weights(RunContext& context) {
  const ParameterStore& store = context.model().session().parameters();
  const Graph& graph = context.model().training_graph();
  for (const ValueId id : graph.arguments) {
    const ValueInfo& value = graph.value(id);
    if (value.kind != ValueKind::param || value.type.dtype != DType::f32) continue;
    const Tensor weights = store.get(value.name);
    events_.add_histogram(context.step(), wall_time(), "weights/" + value.name, histogram_of(weights.span<float>()));
  }
}

void Summaries::write_gradients(RunContext& context) {
  Program& program = context.model().beside("histograms of gradients", [&] {
    const Graph gradients = gradient_graph(context.model().training_graph());
    CompileOptions options = options_.compile;
    options.precision = with_exact_scope(options.precision, gradients);
    return compile(gradients, context.model().session(), options);
  });
  const Graph& graph = program.graph();
  for (const ValueId id : graph.arguments) {
    const ValueInfo& argument = graph.value(id);
    if (argument.kind != ValueKind::input) continue;
    const Tensor bound = context.feed().input(argument.name);
    if (!bound.defined()) throw Error("histograms of gradients need a feed that knows its input " + argument.name);
    program.bind(argument.name, bound);
  }
  if (!program.run()) return;  // the session was stopped
  for (const Return& gradient : graph.returns) {
    const Tensor values = program.output(gradient.name);
    if (values.dtype() == DType::f32)
      events_.add_histogram(context.step(), wall_time(), "gradients/" + gradient.name,
                            histogram_of(values.span<float>()));
  }
}

void Summaries::write_pictures(RunContext& context) {
  const Tensor images = context.feed().input(nn::kImagesInput);
  if (!images.defined() || images.shape().rank() != 4) return;
  const std::int64_t channels = images.shape()[3];
  if (channels != 1 && channels != 3) return;
  for (std::int64_t n = 0; n < std::min(kPictures, images.shape()[0]); ++n) {
    const image::Image picture = picture_of(images, n);
    const std::vector<std::uint8_t> encoded = image::encode_png(picture.view());
    events_.add_picture(context.step(), wall_time(),
                        {.tag = fmt::format("images/{}", n),
                         .height = picture.height(),
                         .width = picture.width(),
                         .channels = picture.channels(),
                         .encoded = encoded});
  }
}

}  // namespace ridgeline::train
