#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/device/cuda/cublas/node.h"
#include "ridgeline/device/cuda/cudnn/blocks.h"
#include "ridgeline/device/cuda/cudnn/node.h"
#include "tests/device/cuda/card/library_attempts.h"

namespace ridgeline::cuda {
namespace {

class Timer {
 public:
  explicit Timer(const PlansOnCard& card) : card_(card) {
    card.calls.make("cuEventCreate", "a timer", &Driver::event_create, &from_, true);
    card.calls.make("cuEventCreate", "a timer", &Driver::event_create, &to_, true);
  }
  ~Timer() {
    card_.calls.answer("cuEventDestroy", &Driver::event_destroy, from_);
    card_.calls.answer("cuEventDestroy", &Driver::event_destroy, to_);
  }
  // Milliseconds of one run.
  double measure(const std::function<void()>& run, int times) {
    card_.calls.make("cuEventRecord", "a timer", &Driver::event_record, from_, card_.stream);
    for (int i = 0; i < times; ++i) run();
    card_.calls.make("cuEventRecord", "a timer", &Driver::event_record, to_, card_.stream);
    card_.calls.make("cuEventSynchronize", "a timer", &Driver::event_synchronize, to_);
    float milliseconds = 0;
    card_.calls.make("cuEventElapsedTime", "a timer", &Driver::event_elapsed, &milliseconds, from_, to_);
    return static_cast<double>(milliseconds) / times;
  }

 private:
  const PlansOnCard& card_;
  EventHandle from_ = nullptr, to_ = nullptr;
};

// FLOPs and bytes a second of an H100 (SXM).
double rate_of(DType type, bool tf32) { return type != DType::f32 ? 790e12 : tf32 ? 400e12 : 51e12; }
constexpr double kBytesPerSecond = 3.0e12;

double limit_ms(const ModelLayer& layer, bool tf32) {
  double bytes = 0;
  for (const ValueType& type : layer.inputs) bytes += static_cast<double>(type.bytes());
  for (const ValueType& type : layer.outputs) bytes += static_cast<double>(type.bytes());
  const double flops = layer.dense() ? cublas::product_of(layer.node, layer.inputs, layer.outputs).flops()
                                     : cudnn::convolution_of(layer.node, layer.inputs, layer.outputs).flops();
  return 1e3 * std::max(flops / rate_of(layer.inputs[0].dtype, tf32), bytes / kBytesPerSecond);
}

struct Variant {
  std::string name;  // empty: as the graph has it
  ModelLayer layer;
};

// As the graph has it; with bias or result in the operands' type; and of first layers over blocks of pixels.
std::vector<Variant> variants_of(const ModelLayer& layer) {
  std::vector<Variant> variants;
  ModelLayer same = layer;
  if (same.node.op == "conv2d_bwd_weights") {  // the bias gradient is another kernel's
    same.outputs.resize(1);
    same.node.attributes.set("bias", false);
  }
  ModelLayer graph = same;
  const DType type = layer.inputs[0].dtype;
  bool changed = false;
  if (same.node.op == "conv2d" || same.node.op == "dense") {
    for (std::size_t i = 2; i < same.inputs.size(); ++i) {
      changed = changed || same.inputs[i].dtype != type;
      same.inputs[i].dtype = type;
    }
  }
  for (ValueType& output : same.outputs) {
    changed = changed || output.dtype != type;
    output.dtype = type;
  }
  variants.push_back({"", graph});
  if (changed) variants.push_back({"same type", same});
  if (!layer.dense() && layer.node.op != "conv2d_bwd_data" && layer.inputs[0].shape[3] == 3) {
    const auto blocks = cudnn::blocks_of(cudnn::convolution_of(same.node, same.inputs, same.outputs));
    if (!blocks) return variants;
    ModelLayer blocked = same;
    const cudnn::Convolution& c = blocks->convolution;
    blocked.inputs[0].shape = c.image;
    (layer.node.op == "conv2d" ? blocked.inputs[1] : blocked.outputs[0]).shape = c.filter;
    blocked.node.attributes.set("stride", std::vector<std::int64_t>{1, 1});
    blocked.node.attributes.set("pad", std::vector<std::int64_t>{0, 0, 0, 0});
    if (layer.node.op != "conv2d") {
      blocked.node.attributes.set("kernel", std::vector<std::int64_t>{c.filter[1], c.filter[2]});
    }
    variants.push_back({"blocks", blocked});
  }
  return variants;
}

struct Sums {
  double chosen = 0, best = 0, limit = 0;
};

}  // namespace

void time_model_layers(const PlansOnCard& card, const std::vector<TimedModel>& models, const std::vector<DType>& types,
                       bool tf32, int plans, double budget) {
  LayerAttempts libraries(card);
  Timer timer(card);
  const CardMemory workspace(card.calls, kPlanWorkspaceBytes);
  const double begin = card.seconds();
  double compiling = 0;
  for (const DType type : types) {
    for (const TimedModel& model : models) {
      Sums sums;
      int skipped = 0;
      for (const ModelLayer& layer : layers_of(model.model, model.batch, type)) {
        bool counted = false;
        std::vector<Variant> variants = variants_of(layer);
        for (const Variant& variant : variants) {
          const std::string title =
              fmt::format("{} {} {}{} {}x [{}]{}", model.model, model.batch, name_of(type), tf32 ? " as tf32" : "",
                          layer.count, short_text(variant.layer), variant.name.empty() ? "" : " " + variant.name);
          if (card.seconds() - begin > budget) {
            ++skipped;
            continue;
          }
          // What is compiled at run time takes seconds: of those, two a layer, and a third of the time at most.
          const bool too_long = compiling > budget / 3;
          if (too_long && variant.name.empty() && variants.size() > 1) continue;
          std::string why;
          const std::vector<Attempt> attempts =
              libraries.of(variant.layer, tf32, static_cast<std::size_t>(plans), 2, why);
          if (attempts.empty()) {
            card.say(fmt::format("refused {}: {}", title, why));
            continue;
          }
          try {
            LayerMemory memory(card.calls, variant.layer);
            for (std::size_t i = 0; i < memory.inputs.size(); ++i) {
              memory.inputs[i]->fill(variant.layer.inputs[i].dtype, card.stream);
            }
            const double limit = limit_ms(variant.layer, tf32);
            std::string all;
            double chosen = 0, best = 1e30;
            std::size_t best_index = 0;
            for (std::size_t i = 0; i < attempts.size(); ++i) {
              compiling += attempts[i].compiled ? attempts[i].build_seconds : 0;
              const auto run = [&] {
                attempts[i].run(memory.input_addresses.data(), memory.output_addresses.data(), workspace.address());
              };
              double ms = 0;
              try {
                run();
                const double once = timer.measure(run, 1);
                ms = timer.measure(run, std::clamp(static_cast<int>(5.0 / std::max(once, 1e-3)), 2, 30));
              } catch (const std::exception& error) {
                all += fmt::format(" failed({})", error.what());
                continue;
              }
              all += fmt::format(" {:.4f}", ms);
              if (i == 0) chosen = ms;
              if (ms < best) best = ms, best_index = i;
            }
            // Three runs of the fastest, by the first bytes of the result.
            bool repeats = true;
            Tensor first(
                DType::u8,
                {static_cast<std::int64_t>(std::min<std::size_t>(memory.outputs[0]->bytes(), std::size_t{8} << 20))});
            Tensor again(DType::u8, first.shape());
            for (int i = 0; i < 3; ++i) {
              attempts[best_index].run(memory.input_addresses.data(), memory.output_addresses.data(),
                                       workspace.address());
              memory.outputs[0]->download(i == 0 ? first : again, card.stream);
              if (i > 0) repeats = repeats && std::memcmp(first.raw(), again.raw(), first.byte_size()) == 0;
            }
            card.say(fmt::format(
                "{}: first {:.4f} ms {:.0f} %, best #{} {:.4f} ms {:.0f} % {}{}{} workspace {:.1f} MB, limit {:.4f}, "
                "all{}",
                title, chosen, 100 * limit / chosen, best_index, best, 100 * limit / best, attempts[best_index].name,
                attempts[best_index].compiled ? " compiled" : "", repeats ? "" : " BITS DIFFER",
                static_cast<double>(attempts[best_index].workspace_bytes) / 1e6, limit, all));
            // The sums take the operands' type throughout.
            if (!counted && (variants.size() == 1 || variant.name == "same type" || type == DType::f32)) {
              counted = true;
              sums.chosen += layer.count * chosen, sums.best += layer.count * best, sums.limit += layer.count * limit;
            }
          } catch (const std::exception& error) {
            card.say(fmt::format("FAILED {}: {}", title, error.what()));
          }
        }
      }
      card.say(fmt::format("sum {} {} {}{}: first plans {:.3f} ms, fastest {:.3f} ms, limit {:.3f} ms; {} skipped",
                           model.model, model.batch, name_of(type), tf32 ? " as tf32" : "", sums.chosen, sums.best,
                           sums.limit, skipped));
    }
  }
}

}  // namespace ridgeline::cuda
