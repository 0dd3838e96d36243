#include <array>

#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/loop/update_kernel.h"
#include "ridgeline/graph/loop/text.h"
#include "tests/device/cuda/kernel_operands.h"

namespace ridgeline::cuda::testing {
namespace {

using Prepared = std::function<void()>;

// A rate of `bytes` for what `prepare` makes of a CaseRun that outlives the calls.
template <class Prepare>
KernelRate rate(std::string name, double bytes, const Prepare& prepare) {
  return {std::move(name), bytes, [prepare](KernelRunner& runner) -> Prepared {
            auto run = std::make_shared<CaseRun>(runner, 1);
            return [run, call = Prepared(prepare(*run))] { call(); };
          }};
}

float* floats(void* p) { return static_cast<float*>(p); }

// A layer's batch norm; `images`: those that both passes read or write.
struct NormLayer {
  std::int64_t rows, channels;
  bool addend = false;  // forward a residual branch, backward a second gradient
  NormGate gate = NormGate::none;
  bool passed = false;
  DType type = DType::bf16;

  std::int64_t elements() const { return rows * channels; }
  BatchNorm norm() const { return {type, rows, channels, 1e-5}; }
  // x twice, addend, y.
  int forward_images() const { return 3 + addend; }
  // x, dy, addend, y, g; x and g or what it is made of, dx.
  int backward_images() const {
    const int read = 1 + addend + (gate == NormGate::of_y);
    return 1 + read + passed + 2 + (passed ? 1 : read);
  }
  std::string name(int images) const {
    const char* const gates[] = {"", " of_x", " of_y"};
    return " " + std::string(name_of(type)) + " " + std::to_string(rows) + "x" + std::to_string(channels) +
           (addend ? " addend" : "") + gates[static_cast<int>(gate)] + (passed ? " passed" : "") + ", " +
           std::to_string(images) + " images";
  }
  double bytes(int images) const {
    return static_cast<double>(elements()) * static_cast<double>(size_of(type)) * images;
  }
};

BatchNormTrain train_of(const NormLayer& layer, CaseRun& c) {
  const std::int64_t all = layer.elements(), channels = layer.channels;
  BatchNormTrain a{};
  a.x = c.many(layer.type, all);
  a.gamma = floats(c.positive(DType::f32, channels));
  a.beta = floats(c.values(DType::f32, channels));
  a.running_mean = a.new_running_mean = floats(c.values(DType::f32, channels));
  a.running_var = a.new_running_var = floats(c.positive(DType::f32, channels));
  if (layer.addend) a.addend = c.many(layer.type, all);
  a.relu = layer.gate != NormGate::none;
  a.y = c.room(layer.type, all);
  a.mean = floats(c.room(DType::f32, channels));
  a.inv_std = floats(c.room(DType::f32, channels));
  a.scratch = c.noise(batch_norm_scratch(layer.norm()));
  return a;
}

BatchNormGradient gradient_of(const NormLayer& layer, CaseRun& c) {
  const std::int64_t all = layer.elements(), channels = layer.channels;
  BatchNormGradient a{};
  a.x = c.many(layer.type, all);
  a.dy = c.many(layer.type, all);
  a.gamma = floats(c.positive(DType::f32, channels));
  a.mean = floats(c.values(DType::f32, channels));
  a.inv_std = floats(c.positive(DType::f32, channels));
  a.gate = layer.gate;
  if (layer.gate == NormGate::of_x) a.beta = floats(c.values(DType::f32, channels));
  if (layer.gate == NormGate::of_y) a.y = c.many(layer.type, all);
  if (layer.addend) a.addend = c.many(layer.type, all);
  a.dx = c.room(layer.type, all);
  if (layer.passed) a.g = c.room(layer.type, all);
  a.dgamma = floats(c.room(DType::f32, channels));
  a.dbeta = floats(c.room(DType::f32, channels));
  a.scratch = c.noise(batch_norm_scratch(layer.norm()));
  return a;
}

void norms(std::vector<KernelRate>& rates, const NormLayer& layer) {
  const int forward = layer.forward_images(), backward = layer.backward_images();
  rates.push_back(rate("batch_norm_train" + layer.name(forward), layer.bytes(forward), [=](CaseRun& c) {
    const BatchNormTrain a = train_of(layer, c);
    return [=, &c] { batch_norm_train(c.sink(), layer.norm(), a); };
  }));
  rates.push_back(rate("batch_norm_gradient" + layer.name(backward), layer.bytes(backward), [=](CaseRun& c) {
    const BatchNormGradient a = gradient_of(layer, c);
    return [=, &c] { batch_norm_gradient(c.sink(), layer.norm(), a); };
  }));
}

void pools(std::vector<KernelRate>& rates, DType type, const Pool& shape, const char* what) {
  Pool p = shape;
  p.type = type;
  const std::int64_t image = p.n * p.h * p.w * p.c, pooled = p.n * p.oh * p.ow * p.c;
  const auto size = static_cast<double>(size_of(type));
  const double x = static_cast<double>(image) * size, y = static_cast<double>(pooled) * size;
  const auto index = static_cast<double>(pooled);
  const std::string name = std::string(what) + " " + std::string(name_of(type));
  rates.push_back(rate("max_pool " + name, x + y + index, [=](CaseRun& c) {
    void *from = c.many(type, image), *to = c.room(type, pooled), *where = c.room(DType::u8, pooled);
    return [=, &c] { max_pool(c.sink(), p, from, to, where); };
  }));
  rates.push_back(rate("max_pool_gradient " + name, x + 2 * y + index, [=](CaseRun& c) {
    void *dy = c.many(type, pooled), *gate = c.many(type, pooled), *dx = c.room(type, image),
         *where = c.bytes(pooled, 9);
    return [=, &c] { max_pool_gradient(c.sink(), p, dy, where, gate, dx); };
  }));
}

void depthwises(std::vector<KernelRate>& rates, DType type, std::int64_t side, std::int64_t channels,
                std::int64_t stride) {
  DirectShape s{};
  s.type = s.result = type;
  s.n = 256;
  s.h = s.w = side;
  s.oh = s.ow = (side - 1) / stride + 1;
  s.c = s.k = s.groups = channels;
  s.r = s.s = 3;
  s.top = s.left = 1;
  s.stride_h = s.stride_w = stride;
  const std::int64_t image = s.n * s.h * s.w * s.c, result = s.n * s.oh * s.ow * s.k;
  const double bytes = static_cast<double>(image + result) * static_cast<double>(size_of(type));
  const std::string name = " " + std::string(name_of(type)) + " " + std::to_string(side) + "x" +
                           std::to_string(channels) + " stride " + std::to_string(stride);
  rates.push_back(rate("depthwise" + name, bytes, [=](CaseRun& c) {
    void *x = c.many(type, image), *w = c.values(type, 9 * channels), *y = c.room(type, result);
    return [=, &c] { depthwise(c.sink(), s, x, w, {}, y); };
  }));
  rates.push_back(rate("depthwise_data_gradient" + name, bytes, [=](CaseRun& c) {
    void *dy = c.many(type, result), *w = c.values(type, 9 * channels), *dx = c.room(type, image);
    return [=, &c] { depthwise_data_gradient(c.sink(), s, dy, w, nullptr, dx); };
  }));
  rates.push_back(rate("depthwise_weight_gradient" + name, bytes, [=](CaseRun& c) {
    void *x = c.many(type, image), *dy = c.many(type, result), *dw = c.room(type, 9 * channels);
    void* scratch = c.noise(depthwise_weight_gradient_scratch(s));
    return [=, &c] { depthwise_weight_gradient(c.sink(), s, x, dy, dw, scratch); };
  }));
}

// Of an image of 3 channels and 224x224 pixels, in bf16: forward with bias and relu, weights' gradient.
void first_layers(std::vector<KernelRate>& rates, const char* model, std::int64_t batch, std::int64_t filters,
                  std::int64_t side, std::int64_t stride, std::int64_t pad) {
  constexpr DType type = DType::bf16;
  DirectShape s{};
  s.type = s.result = type;
  s.n = batch;
  s.h = s.w = 224;
  s.oh = s.ow = (224 + 2 * pad - side) / stride + 1;
  s.c = 3;
  s.k = filters;
  s.r = s.s = side;
  s.top = s.left = pad;
  s.stride_h = s.stride_w = stride;
  const std::int64_t image = s.n * s.h * s.w * s.c, result = s.n * s.oh * s.ow * s.k, weights = s.k * side * side * 3;
  const double bytes = static_cast<double>(image + result) * static_cast<double>(size_of(type));
  const std::string name = std::string(" ") + model + " " + std::to_string(batch) + " " + std::to_string(side) + "x" +
                           std::to_string(side) + " by " + std::to_string(stride) + " to " + std::to_string(filters);
  rates.push_back(rate("first_layer" + name, bytes, [=](CaseRun& c) {
    void *x = c.many(type, image), *w = c.values(type, weights), *y = c.room(type, result);
    Epilogue e{};
    e.bias = c.values(DType::f32, filters);
    e.relu = true;
    void* scratch = c.noise(first_layer_scratch(s));
    return [=, &c] { first_layer(c.sink(), s, x, w, e, y, scratch); };
  }));
  rates.push_back(rate("first_layer_gradient" + name, bytes, [=](CaseRun& c) {
    void *x = c.many(type, image), *dy = c.many(type, result), *dw = c.room(type, weights);
    void* scratch = c.noise(first_layer_gradient_scratch(s));
    return [=, &c] { first_layer_gradient(c.sink(), s, x, dy, dw, scratch); };
  }));
}

// Forward with bias and relu, and the gradient of the data.
void few_rows_products(std::vector<KernelRate>& rates, const RatedLayer& layer) {
  constexpr DType type = DType::bf16;
  const FewRowsShape s{type, type, layer.rows, layer.inputs, layer.outputs};
  const std::int64_t x = s.rows * s.inputs, y = s.rows * s.outputs, weights = layer.weights(), copies = layer.copies();
  const double bytes = 2.0 * static_cast<double>(weights + x + y);
  const auto next = [=](const void* all, std::int64_t& call) {
    return static_cast<const std::byte*>(all) + call++ % copies * weights * 2;
  };
  rates.push_back(rate("few_rows bf16 " + layer.text(), bytes, [=](CaseRun& c) {
    void *from = c.many(type, x), *all = c.many(type, weights * copies), *to = c.room(type, y);
    Epilogue e{};
    e.bias = c.values(DType::f32, s.outputs);
    e.relu = true;
    void* scratch = c.noise(few_rows_scratch(s));
    return [=, &c, call = std::int64_t{0}]() mutable { few_rows(c.sink(), s, from, next(all, call), e, to, scratch); };
  }));
  rates.push_back(rate("few_rows_gradient bf16 " + layer.text(), bytes, [=](CaseRun& c) {
    void *from = c.many(type, y), *all = c.many(type, weights * copies), *to = c.room(type, x);
    void* scratch = c.noise(few_rows_gradient_scratch(s));
    return [=, &c, call = std::int64_t{0}]() mutable {
      few_rows_gradient(c.sink(), s, from, next(all, call), to, scratch);
    };
  }));
}

// Of AlexNet's largest layer in bf16, with momentum, decay, a copy in 16 bits and squares for a penalty.
void dense_updates(std::vector<KernelRate>& rates, std::int64_t rows) {
  const DenseSizes sizes{rows, 9216, 4096};
  const std::int64_t weights = sizes.inputs * sizes.outputs;
  const double bytes =
      18 * static_cast<double>(weights) + 2 * static_cast<double>(rows * (sizes.inputs + sizes.outputs));
  rates.push_back(rate("dense_update bf16 9216 to 4096, rows " + std::to_string(rows), bytes, [=](CaseRun& c) {
    const DenseUpdate at({{"states", std::int64_t{2}}, {"bias", true}, {"squares", true}});
    const DType rate_type[] = {DType::f32}, copy_type[] = {DType::bf16};
    const loop::Expression rule =
        loop::parse("t0 = 0.0001 * x0 + x2; t1 = 0.9 * x1 + t0; t2 = x0 - x3 * t1; t2; t1; t2 : bf16");
    auto made = update_text(rule, at, DType::bf16, rate_type, copy_type);
    const auto kernel = std::make_shared<UpdateKernel>(std::get<UpdateText>(std::move(made)), sizes);
    c.compile(kernel->text().name, kernel->text().text);
    void *w = c.many(DType::f32, weights), *m = c.many(DType::f32, weights);
    const std::vector<void*> in = {w, m, c.many(DType::bf16, rows * sizes.inputs),
                                   c.many(DType::bf16, rows * sizes.outputs), c.of(std::vector<float>{1e-3f})};
    const std::vector<void*> out = {w, m, c.room(DType::f32, sizes.outputs), c.room(DType::f32, 1),
                                    c.room(DType::bf16, weights)};
    void* scratch = c.noise(kernel->scratch_bytes());
    return [=, &c] { kernel->give(c.sink(), in.data(), out.data(), scratch); };
  }));
}

// Of a transformer and of a net that joins its layers' results, in bf16.
void sequences(std::vector<KernelRate>& rates) {
  const DType type = DType::bf16;
  const SampleNorm norms[] = {{type, 256 * 197, 1, 768, 1}, {type, 256, 56 * 56, 64, 32}};
  for (const SampleNorm& norm : norms) {
    const std::int64_t all = norm.samples * norm.positions * norm.channels, lines = norm.samples * norm.groups;
    const double image = 2.0 * static_cast<double>(all);
    const std::string name = norm.groups == 1 ? "layer_norm" : "group_norm";
    rates.push_back(rate(name + " bf16", 2 * image, [=](CaseRun& c) {
      void *x = c.many(type, all), *y = c.room(type, all), *scratch = c.noise(sample_norm_scratch(norm));
      const float *gamma = floats(c.positive(DType::f32, norm.channels)),
                  *beta = floats(c.values(DType::f32, norm.channels));
      float *mean = floats(c.room(DType::f32, lines)), *inv_std = floats(c.room(DType::f32, lines));
      return [=, &c] { sample_norm(c.sink(), norm, x, gamma, beta, y, mean, inv_std, scratch); };
    }));
    rates.push_back(rate(name + "_gradient bf16", 3 * image, [=](CaseRun& c) {
      SampleNormGradient a{};
      a.x = c.many(type, all);
      a.dy = c.many(type, all);
      a.gamma = floats(c.positive(DType::f32, norm.channels));
      a.mean = floats(c.values(DType::f32, lines));
      a.inv_std = floats(c.positive(DType::f32, lines));
      a.dx = c.room(type, all);
      a.dgamma = floats(c.room(DType::f32, norm.channels));
      a.dbeta = floats(c.room(DType::f32, norm.channels));
      a.scratch = c.noise(sample_norm_gradient_scratch(norm));
      return [=, &c] { sample_norm_gradient(c.sink(), norm, a); };
    }));
  }
  const SoftmaxAxis axis{type, 64 * 12 * 197, 197, 1};
  const std::int64_t weights = axis.outer * axis.classes;
  rates.push_back(rate("softmax bf16 64x12x197x197", 4.0 * static_cast<double>(weights), [=](CaseRun& c) {
    void *x = c.many(type, weights), *y = c.room(type, weights);
    return [=, &c] { softmax(c.sink(), axis, x, y); };
  }));
  rates.push_back(rate("softmax_gradient bf16 64x12x197x197", 6.0 * static_cast<double>(weights), [=](CaseRun& c) {
    void *y = c.many(type, weights), *dy = c.many(type, weights), *dx = c.room(type, weights);
    return [=, &c] { softmax_gradient(c.sink(), axis, y, dy, dx); };
  }));
  const std::int64_t rows = 256 * 28 * 28, part = 32, whole = 512;
  rates.push_back(rate("a part of concat bf16", 4.0 * static_cast<double>(rows * (whole - part)), [=](CaseRun& c) {
    void *x = c.many(type, rows * (whole - part)), *y = c.room(type, rows * whole);
    return [=, &c] {
      const CopyAxis axes[] = {{.extent = rows, .to_stride = whole, .from_extent = rows, .from_stride = whole - part},
                               {.extent = whole - part, .to_stride = 1, .from_extent = whole - part, .from_stride = 1}};
      strided_copy(c.sink(), 2, x, y, axes);
    };
  }));
}

}  // namespace

// AlexNet's.
std::vector<RatedLayer> rated_layers() {
  std::vector<RatedLayer> layers;
  for (const std::int64_t rows : {1, 8, 32}) {
    layers.push_back({rows, 9216, 4096});
    layers.push_back({rows, 4096, 4096});
    layers.push_back({rows, 4096, 1000});
  }
  return layers;
}

std::vector<KernelRate> kernel_rates() {
  std::vector<KernelRate> rates;
  const std::int64_t n = std::int64_t{1} << 27;
  const auto count = static_cast<double>(n);
  for (auto [from, to] : {std::pair(DType::f32, DType::bf16), std::pair(DType::bf16, DType::f32)}) {
    rates.push_back(rate("cast " + std::string(name_of(from)) + " " + std::string(name_of(to)), 6 * count,
                         [=, from = from, to = to](CaseRun& c) {
                           void *x = c.many(from, n), *y = c.room(to, n);
                           return [=, &c] { cast(c.sink(), from, x, to, y, n); };
                         }));
  }
  rates.push_back(rate("momentum_update 61M, bf16 copy", 22 * 61e6, [=](CaseRun& c) {
    MomentumUpdate u{};
    u.rate = floats(c.of(std::vector<float>{1e-3f}));
    u.weight_decay = 1e-4;
    u.momentum = 0.9;
    std::vector<MomentumTensor> list;
    for (std::int64_t elements : {37748736, 16777216, 4096000, 884736, 884736, 608704}) {
      MomentumTensor t{};
      t.w = t.new_w = floats(c.many(DType::f32, elements));
      t.m = t.new_m = floats(c.many(DType::f32, elements));
      t.g = floats(c.many(DType::f32, elements));
      t.copy = c.room(DType::bf16, elements);
      t.elements = elements;
      list.push_back(t);
    }
    return [=, &c] { momentum_update(c.sink(), u, list); };
  }));
  for (const std::int64_t some : {1, 32, 128, 256}) dense_updates(rates, some);
  for (const RatedLayer& layer : rated_layers()) few_rows_products(rates, layer);
  // Of ResNet-50 and MobileNetV2 at 256 images.
  norms(rates, {802816, 256, true, NormGate::of_y, true});
  norms(rates, {3211264, 64, false, NormGate::of_x});
  norms(rates, {802816, 144});
  norms(rates, {3211264, 96});
  norms(rates, {200704, 192});
  norms(rates, {50176, 1024, true, NormGate::of_y, true});
  norms(rates, {50176, 256, false, NormGate::of_x});
  norms(rates, {12544, 2048, true, NormGate::of_y, true});
  norms(rates, {200704, 128, false, NormGate::of_x, false, DType::f32});
  pools(rates, DType::bf16, {DType::bf16, 1024, 55, 55, 96, 27, 27, 3, 3, 2, 2, 0, 0}, "1024x55x55x96 3x3/2");
  pools(rates, DType::bf16, {DType::bf16, 256, 112, 112, 64, 56, 56, 3, 3, 2, 2, 1, 1}, "256x112x112x64 3x3/2");
  pools(rates, DType::bf16, {DType::bf16, 128, 224, 224, 64, 112, 112, 2, 2, 2, 2, 0, 0}, "128x224x224x64 2x2/2");
  const Pool whole{DType::bf16, 256, 7, 7, 2048, 1, 1, 7, 7, 1, 1, 0, 0};
  rates.push_back(rate("average_pool 256x7x7x2048 bf16", 256.0 * 50 * 2048 * 2, [=](CaseRun& c) {
    void *x = c.many(DType::bf16, 256 * 49 * 2048), *y = c.room(DType::bf16, 256 * 2048);
    return [=, &c] { average_pool(c.sink(), whole, true, x, y); };
  }));
  rates.push_back(rate("average_pool_gradient 256x7x7x2048 bf16", 256.0 * 50 * 2048 * 2, [=](CaseRun& c) {
    void *dy = c.many(DType::bf16, 256 * 2048), *dx = c.room(DType::bf16, 256 * 49 * 2048);
    return [=, &c] { average_pool_gradient(c.sink(), whole, true, dy, dx); };
  }));
  rates.push_back(rate("column_sums bf16 200704x256", 200704.0 * 256 * 2, [=](CaseRun& c) {
    void *x = c.many(DType::bf16, 200704 * 256), *y = c.room(DType::f32, 256);
    void* scratch = c.noise(column_sums_scratch(DType::bf16, 200704, 256));
    return [=, &c] { column_sums(c.sink(), DType::bf16, x, 200704, 256, 1, DType::f32, y, scratch); };
  }));
  rates.push_back(rate("dropout bf16 128M", 4 * count, [=](CaseRun& c) {
    void *x = c.many(DType::bf16, n), *y = c.room(DType::bf16, n);
    const auto* step = static_cast<std::int64_t*>(c.of(std::vector<std::int64_t>{7}));
    return [=, &c] { dropout(c.sink(), DType::bf16, x, y, step, 99, 0.5, n); };
  }));
  for (std::int64_t channels : {3, 8}) {
    const ImageTailShape s{DType::bf16, 1024, 224, 224, channels};
    const std::int64_t pixels = 1024 * 224 * 224;
    rates.push_back(rate("image_tail bf16 1024x224x224x" + std::to_string(channels),
                         static_cast<double>(pixels * (3 + 2 * channels)), [=](CaseRun& c) {
                           void *x = c.bytes(pixels * 3), *flip = c.bytes(1024, 2),
                                *y = c.room(DType::bf16, pixels * channels);
                           std::array<float, 768> table{};
                           for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i) / 99;
                           return [=, &c] { image_tail(c.sink(), s, x, flip, table, y); };
                         }));
  }
  const std::int64_t pixels = 1024 * 224 * 224;
  rates.push_back(rate("image_tail_blocks bf16 1024x224x224 by 4", static_cast<double>(pixels * 9), [=](CaseRun& c) {
    const ImageTailShape s{DType::bf16, 1024, 224, 224, 3};
    const ImageBlocks b{4, 2, 2, 57, 57};
    void *x = c.bytes(pixels * 3), *flip = c.bytes(1024, 2), *y = c.room(DType::bf16, 1024 * 57 * 57 * 48);
    std::array<float, 768> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i) / 99;
    return [=, &c] { image_tail_blocks(c.sink(), s, b, x, flip, table, y); };
  }));
  const Normalisation lrn{DType::bf16, 1024 * 27 * 27 * 96, 96, 2, 2, 2e-5, 0.75};
  const auto lrn_bytes = 2.0 * static_cast<double>(lrn.elements);
  rates.push_back(rate("local_response_norm bf16", 2 * lrn_bytes, [=](CaseRun& c) {
    void *x = c.many(DType::bf16, lrn.elements), *y = c.room(DType::bf16, lrn.elements);
    return [=, &c] { local_response_norm(c.sink(), lrn, x, y); };
  }));
  rates.push_back(rate("local_response_norm_gradient bf16", 3 * lrn_bytes, [=](CaseRun& c) {
    void *x = c.many(DType::bf16, lrn.elements), *dy = c.many(DType::bf16, lrn.elements),
         *dx = c.room(DType::bf16, lrn.elements);
    return [=, &c] { local_response_norm_gradient(c.sink(), lrn, x, dy, dx); };
  }));
  rates.push_back(rate("softmax_cross_entropy bf16 1024x1000", 1024.0 * 1000 * 4, [=](CaseRun& c) {
    Targets t{};
    t.labels = static_cast<std::int32_t*>(c.labels(1024, 1000));
    void *x = c.many(DType::bf16, 1024000), *p = c.room(DType::bf16, 1024000), *loss = c.room(DType::bf16, 1024);
    return [=, &c] { softmax_cross_entropy(c.sink(), DType::bf16, x, t, loss, p, nullptr, 1024, 1000); };
  }));
  struct Layer {
    std::int64_t side, channels, stride;
  };
  constexpr Layer kMobileNet[] = {{112, 32, 1}, {112, 96, 2}, {56, 144, 1}, {56, 144, 2}, {28, 192, 1},
                                  {28, 192, 2}, {14, 384, 1}, {14, 576, 1}, {14, 576, 2}, {7, 960, 1}};
  for (const Layer& layer : kMobileNet) depthwises(rates, DType::bf16, layer.side, layer.channels, layer.stride);
  first_layers(rates, "resnet", 256, 64, 7, 2, 3);
  first_layers(rates, "alexnet", 1024, 64, 11, 4, 2);
  first_layers(rates, "alexnet", 32, 64, 11, 4, 2);
  first_layers(rates, "vgg", 128, 64, 3, 1, 1);
  first_layers(rates, "mobilenet_v2", 256, 32, 3, 2, 1);
  sequences(rates);
  return rates;
}

}  // namespace ridgeline::cuda::testing
