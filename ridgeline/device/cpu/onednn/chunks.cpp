// The library's convolutions by chunks of a batch: primitives made for one thread, each over some images, divided among
// the team. The bounds of chunks, and the order in which gradients of weights are added, depend on the shapes alone, so
// the bits are the same for any size of the team.
#include <algorithm>

#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/image_parts.h"
#include "ridgeline/device/cpu/onednn/common.h"

namespace ridgeline::device {

KernelFactory make_onednn_conv2d, make_onednn_conv2d_bwd_data, make_onednn_conv2d_bwd_weights;  // conv.cpp

namespace {

constexpr std::int64_t kMostChunks = 16;

struct Batch {
  std::int64_t images = 0;
  std::int64_t chunk = 0;  // images
  std::int64_t chunks() const { return (images + chunk - 1) / chunk; }
  std::int64_t images_of(std::int64_t i) const { return std::min(chunk, images - i * chunk); }
};

Batch batch_of(std::int64_t images, std::int64_t most_chunks) {
  const std::int64_t chunks = std::min(images, most_chunks);
  return {images, (images + chunks - 1) / chunks};
}

class ChunkedKernel final : public Kernel {
 public:
  explicit ChunkedKernel(const Batch& batch) : batch_(batch) {}

  // Kernels of full chunks and of the last one for each thread of the team; a Refusal where there is none.
  std::optional<Refusal> make(KernelRequest request, KernelFactory* factory, const ImageParts& rule) {
    for (std::int64_t i = 0; i < threads_; ++i) {
      for (const std::int64_t images : {batch_.chunk, batch_.images_of(batch_.chunks() - 1)}) {
        const ComputeScope alone(1);
        KernelChoice choice = factory(rule.of(request, images));
        if (const auto* refusal = std::get_if<Refusal>(&choice)) return *refusal;
        auto& kernel = std::get<std::unique_ptr<Kernel>>(choice);
        if (parts_.empty()) {
          name = kernel->name + ", chunks";
          products = kernel->products;
          input_layouts = kernel->input_layouts;
          output_layouts = kernel->output_layouts;
          fix(request.inputs, input_layouts);  // the chunks that follow take the same
          fix(request.outputs, output_layouts);
        }
        if (!same(kernel->input_layouts, input_layouts) || !same(kernel->output_layouts, output_layouts))
          return Refusal{"chunks of " + std::to_string(images) + " images would have another layout"};
        part_scratch_ = std::max(part_scratch_, rounded(kernel->scratch_bytes));
        parts_.push_back(std::move(kernel));
        if (batch_.images % batch_.chunk == 0) break;
      }
    }
    const auto step = [&](bool per_image, const KernelOperand& operand) {
      return per_image ? operand.type.bytes() / static_cast<std::size_t>(batch_.images) : 0;
    };
    for (std::size_t i = 0; i < request.inputs.size(); ++i)
      input_steps_.push_back(step(rule.has_input(i), request.inputs[i]));
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      output_steps_.push_back(step(rule.has_output(i), request.outputs[i]));
      if (rule.has_output(i)) continue;
      const Layout layout = output_layouts.empty() ? Layout() : output_layouts[i];
      sums_.push_back({i, layout.bytes(request.outputs[i].type), sums_bytes_});
      sums_bytes_ += rounded(sums_.back().bytes);
    }
    scratch_bytes = static_cast<std::size_t>(threads_) * part_scratch_ +
                    static_cast<std::size_t>(batch_.chunks() - 1) * sums_bytes_;
    return std::nullopt;
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    parallel_team([&](int thread, int threads) {
      const std::int64_t end = batch_.chunks() * (thread + 1) / threads;
      for (std::int64_t i = batch_.chunks() * thread / threads; i < end; ++i) run_chunk(a, i, thread);
    });
    for (const Sum& sum : sums_) add_up(a, sum);
  }

 private:
  struct Sum {
    std::size_t output, bytes, at;  // `at` in the partial results of a chunk
  };

  static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  static bool same(const std::vector<Layout>& a, const std::vector<Layout>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  static void fix(std::vector<KernelOperand>& operands, const std::vector<Layout>& layouts) {
    for (std::size_t i = 0; i < layouts.size(); ++i) operands[i].layout = layouts[i], operands[i].free = false;
  }

  // The first chunk's summand is in the result, those of the others after the threads' scratch memory.
  char* partial(const KernelArguments& a, const Sum& sum, std::int64_t chunk) const {
    if (chunk == 0) return static_cast<char*>(a.outputs[sum.output]);
    return static_cast<char*>(a.scratch) + static_cast<std::size_t>(threads_) * part_scratch_ +
           static_cast<std::size_t>(chunk - 1) * sums_bytes_ + sum.at;
  }

  void run_chunk(const KernelArguments& a, std::int64_t chunk, int thread) const {
    void* inputs[4];
    void* outputs[2];
    const auto first = static_cast<std::size_t>(chunk * batch_.chunk);
    for (std::size_t i = 0; i < input_steps_.size(); ++i)
      inputs[i] = static_cast<char*>(a.inputs[i]) + first * input_steps_[i];
    for (std::size_t i = 0; i < output_steps_.size(); ++i)
      outputs[i] = static_cast<char*>(a.outputs[i]) + first * output_steps_[i];
    for (const Sum& sum : sums_) outputs[sum.output] = partial(a, sum, chunk);
    const bool divides = batch_.images % batch_.chunk == 0;
    const bool last = !divides && chunk + 1 == batch_.chunks();
    Kernel& kernel = *parts_[static_cast<std::size_t>(divides ? thread : 2 * thread + (last ? 1 : 0))];
    kernel.run({inputs, outputs, static_cast<char*>(a.scratch) + static_cast<std::size_t>(thread) * part_scratch_});
  }

  // In the order of the chunks.
  void add_up(const KernelArguments& a, const Sum& sum) const {
    const auto n = static_cast<std::int64_t>(sum.bytes / sizeof(float));
    float* const result = static_cast<float*>(a.outputs[sum.output]);
    parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; block += 4096) {  // stays in the first cache
        const std::int64_t stop = std::min(end, block + 4096);
        for (std::int64_t chunk = 1; chunk < batch_.chunks(); ++chunk) {
          const auto* from = reinterpret_cast<const float*>(partial(a, sum, chunk));
          for (std::int64_t i = block; i < stop; ++i) result[i] += from[i];
        }
      }
    });
  }

  Batch batch_;
  int threads_ = compute_threads();
  std::vector<std::unique_ptr<Kernel>> parts_;  // by thread: of a whole chunk, and of the last if it is shorter
  std::vector<std::size_t> input_steps_, output_steps_;  // bytes an image; 0: shared
  std::vector<Sum> sums_;
  std::size_t part_scratch_ = 0, sums_bytes_ = 0;
};

KernelChoice make_chunked(const KernelRequest& request, std::int64_t most_chunks, KernelFactory* factory) {
  auto kernel = std::make_unique<ChunkedKernel>(batch_of(request.inputs[0].type.shape[0], most_chunks));
  if (auto refusal = kernel->make(request, factory, *image_parts(request.def.name))) return *refusal;
  return kernel;
}

std::optional<Refusal> refuse_single(const KernelRequest& request) {
  if (auto refusal = refuse_empty(request)) return refusal;
  if (request.inputs[0].type.shape[0] > 1) return std::nullopt;
  return Refusal{"one image: there is nothing to cut into chunks"};
}

}  // namespace

KernelChoice make_chunked_onednn_conv2d(const KernelRequest& request) {
  if (auto refusal = refuse_single(request)) return *refusal;
  return make_chunked(request, kMostChunks, make_onednn_conv2d);
}

KernelChoice make_chunked_onednn_conv2d_bwd_data(const KernelRequest& request) {
  if (auto refusal = refuse_single(request)) return *refusal;
  return make_chunked(request, kMostChunks, make_onednn_conv2d_bwd_data);
}

KernelChoice make_chunked_onednn_conv2d_bwd_weights(const KernelRequest& request) {
  if (auto refusal = refuse_single(request)) return *refusal;
  for (const KernelOperand& result : request.outputs) {
    if (result.type.dtype != DType::f32) return Refusal{"the parts of a gradient are added in f32"};
  }
  // Summands are written and read once: as many chunks as make that a quarter of the operands' bytes, but at least
  // four.
  const std::size_t operands = request.inputs[0].type.bytes() + request.inputs[1].type.bytes();
  const auto affordable = static_cast<std::int64_t>(operands / (4 * request.outputs[0].type.bytes()));
  const std::int64_t chunks = std::clamp<std::int64_t>(affordable, 4, kMostChunks);
  return make_chunked(request, chunks, make_onednn_conv2d_bwd_weights);
}

}  // namespace ridgeline::device
