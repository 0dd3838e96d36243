#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/kernel_case_list.h"

namespace ridgeline::cuda::testing {

namespace {

void first_layers(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    if (type == DType::f32) return;
    DirectShape s{};
    s.type = s.result = type;
    s.n = pick(random, {1, 3});
    s.c = pick(random, {1, 3, 3, 4});
    s.k = pick(random, {8, 24, 64, 96, 128});
    s.r = pick(random, {1, 3, 7, 11});
    s.s = pick(random, {1, 3, 7, 11});
    s.h = s.r + pick(random, {0, 5, 12});
    s.w = s.s + pick(random, {0, 5, 29, 77});
    s.stride_h = pick(random, {1, 2, 3, 4});
    s.stride_w = pick(random, {1, 2, 3, 4});
    s.top = pick(random, {0, 1, 3});
    s.left = pick(random, {0, 1, 2, 3});
    if (random() % 6 == 0) {  // more tiles than blocks
      s.n = s.r * s.s > 49 ? 150 : 500;
      s.k = 8;
      s.h = s.r + 1;
      s.w = s.s + 4;
    }
    s.oh = (s.h + 2 * s.top - s.r) / s.stride_h + 1;
    s.ow = (s.w + 2 * s.left - s.s) / s.stride_w + 1;
    const bool bias = random() % 2 != 0, wide = random() % 2 != 0, relu = random() % 2 != 0;
    const std::int64_t image = s.n * s.h * s.w * s.c, result = s.n * s.oh * s.ow * s.k, weights = s.k * s.r * s.s * s.c;
    const std::string shape = " " + text(s.r) + "x" + text(s.s) + " " + text(s.c) + " to " + text(s.k);
    cases.add(
        "first_layer" + shape, type,
        [=](CaseRun& c) {
          void *x = c.values(type, image), *w = c.values(type, weights), *y = c.room(type, result);
          Epilogue e{};
          if (bias) e.bias = c.values(wide ? DType::f32 : type, s.k);
          e.bias_type = wide ? DType::f32 : type;
          e.relu = relu;
          first_layer(c.sink(), s, x, w, e, y, c.noise(first_layer_scratch(s)));
          c.result(y, type, result);
        },
        true);
    DirectShape g = s;
    if (random() % 2 != 0) g.result = DType::f32;
    cases.add(
        "first_layer_gradient" + shape, type,
        [=](CaseRun& c) {
          void *x = c.values(type, image), *dy = c.values(type, result), *dw = c.room(g.result, weights);
          first_layer_gradient(c.sink(), g, x, dy, dw, c.noise(first_layer_gradient_scratch(g)));
          c.result(dw, g.result, weights);
        },
        true);
  });
}

void few_rows_products(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    if (type == DType::f32) return;
    FewRowsShape s{type, random() % 2 != 0 ? type : DType::f32, pick(random, {1, 3, 9, 16, 17, 31, 32}),
                   pick(random, {8, 40, 264, 520, 1096}), pick(random, {1, 10, 32, 33, 132})};
    FewRowsShape g = s;
    if (random() % 2 != 0) {  // sums in parts
      s.inputs = pick(random, {4096, 5000});
      s.outputs = pick(random, {1, 10, 33});
      g.outputs = pick(random, {2048, 2501});
      g.inputs = pick(random, {8, 72});
    }
    const bool bias = random() % 2 != 0, wide = random() % 2 != 0, addend = random() % 2 != 0, relu = random() % 2 != 0;
    const auto text_of = [](const FewRowsShape& shape) {
      return " " + text(shape.rows) + ", " + text(shape.inputs) + " to " + text(shape.outputs);
    };
    cases.add(
        "few_rows" + text_of(s), type,
        [=](CaseRun& c) {
          const std::int64_t result = s.rows * s.outputs;
          void *x = c.values(type, s.rows * s.inputs), *w = c.values(type, s.inputs * s.outputs),
               *y = c.room(s.result, result);
          Epilogue e{};
          if (bias) e.bias = c.values(wide ? DType::f32 : type, s.outputs);
          e.bias_type = wide ? DType::f32 : type;
          if (addend) e.addend = c.values(s.result, result);
          e.relu = relu;
          few_rows(c.sink(), s, x, w, e, y, c.noise(few_rows_scratch(s)));
          c.result(y, s.result, result);
        },
        true);
    cases.add(
        "few_rows_gradient" + text_of(g), type,
        [=](CaseRun& c) {
          const std::int64_t result = g.rows * g.inputs;
          void *dy = c.values(type, g.rows * g.outputs), *w = c.values(type, g.inputs * g.outputs),
               *dx = c.room(g.result, result);
          few_rows_gradient(c.sink(), g, dy, w, dx, c.noise(few_rows_gradient_scratch(g)));
          c.result(dx, g.result, result);
        },
        true);
  });
}

}  // namespace

void add_tensor_core_cases(Cases& cases) {
  first_layers(cases);
  few_rows_products(cases);
}

}  // namespace ridgeline::cuda::testing
