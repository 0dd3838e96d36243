#include "tests/device/cuda/kernel_cases.h"

#include <array>

#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/kernel_case_list.h"

namespace ridgeline::cuda::testing {
namespace {

void copies(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const std::int64_t n = pick(random, {1, 7, 8, 2047, 2048, 2049, 5000});
    for (DType to : kTypes) {
      if (to == type) continue;
      cases.add("cast " + text(n) + " to " + std::string(name_of(to)), type, [=](CaseRun& c) {
        void *x = c.values(type, n, true), *y = c.room(to, n);
        cast(c.sink(), type, x, to, y, n);
        c.result(y, to, n);
      });
    }
    const std::int64_t b = pick(random, {1, 3}), r = pick(random, {1, 31, 32, 33, 70}),
                       k = pick(random, {1, 3, 64, 65});
    const std::size_t size = static_cast<std::size_t>(pick(random, {1, 2, 4, 8}));
    cases.add("transpose " + text(b) + "x" + text(r) + "x" + text(k) + " of " + text(static_cast<std::int64_t>(size)),
              type, [=](CaseRun& c) {
                const std::int64_t bytes = b * r * k * static_cast<std::int64_t>(size);
                void *x = c.bytes(bytes), *y = c.noise(static_cast<std::size_t>(bytes));
                transpose(c.sink(), size, x, y, b, r, k);
                c.result(y, DType::u8, bytes);
              });
    const std::int64_t from = pick(random, {1, 3, 8, 48}), to = pick(random, {1, 3, 8, 48}),
                       rows = pick(random, {1, 9, 121});
    cases.add("resize_rows " + text(from) + " to " + text(to), type, [=](CaseRun& c) {
      for (DType kept : {DType::f32, type}) {
        for (DType as : {DType::f32, type}) {
          void *x = c.values(kept, rows * from), *y = c.room(as, rows * to);
          resize_rows(c.sink(), kept, x, from, as, y, to, rows);
          c.result(y, as, rows * to);
        }
      }
    });
    cases.add("strided_copy", type, [=](CaseRun& c) {
      // Axes [3][r][k] of which the middle one is padded and goes backwards.
      void *x = c.bytes(3 * r * k * static_cast<std::int64_t>(size)),
           *y = c.noise(static_cast<std::size_t>(3 * (r + 4) * k) * size);
      const CopyAxis axes[] = {{3, (r + 4) * k, 0, 1, 3, r * k}, {r + 4, k, r + 1, -1, r, k}, {k, 1, 0, 1, k, 1}};
      strided_copy(c.sink(), size, x, y, axes);
      c.result(y, DType::u8, 3 * (r + 4) * k * static_cast<std::int64_t>(size));
    });
    cases.add("fill_words " + text(n), type, [=](CaseRun& c) {
      void* y = c.room(DType::f32, n);
      fill_words(c.sink(), y, 0x3f8ccccdu, n);
      c.result(y, DType::f32, n);
    });
  });
}

void batch_norms(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const std::int64_t rows = pick(random, {2, 3, 77, 256, 1025, 5000});
    const std::int64_t channels =
        rows > 2000 ? pick(random, {1, 3, 8, 24}) : pick(random, {1, 3, 8, 12, 24, 64, 144, 200, 264, 576});
    const BatchNorm norm{type, rows, channels, 1e-5};
    const bool relu = random() % 2 != 0, addend = random() % 2 != 0, inverse = random() % 2 != 0;
    const auto passing = static_cast<int>(random() % 6);
    const float ceiling = random() % 2 != 0 ? 0.75f : kNoCeiling;
    const std::int64_t all = norm.rows * norm.channels, ch = norm.channels;
    const std::string shape = " " + text(norm.rows) + "x" + text(norm.channels);
    cases.add("batch_norm_train" + shape, type, [=](CaseRun& c) {
      BatchNormTrain a{};
      a.x = c.values(type, all);
      a.gamma = static_cast<float*>(c.positive(DType::f32, ch));
      a.beta = static_cast<float*>(c.values(DType::f32, ch));
      a.running_mean = static_cast<float*>(c.values(DType::f32, ch));
      a.running_var = static_cast<float*>(c.positive(DType::f32, ch));
      if (addend) a.addend = c.values(type, all);
      a.relu = relu;
      a.ceiling = ceiling;
      a.y = c.room(type, all);
      float** const results[] = {&a.mean, &a.inv_std, &a.new_running_mean, &a.new_running_var};
      for (float** r : results) *r = static_cast<float*>(c.room(DType::f32, ch));
      a.scratch = c.noise(batch_norm_scratch(norm));
      batch_norm_train(c.sink(), norm, a);
      c.result(a.y, type, all);
      for (float** r : results) c.result(*r, DType::f32, ch);
    });
    cases.add("batch_norm_eval" + shape, type, [=](CaseRun& c) {
      BatchNormEval a{};
      a.x = c.values(type, all, true);
      a.gamma = static_cast<float*>(c.positive(DType::f32, ch));
      a.beta = static_cast<float*>(c.values(DType::f32, ch));
      a.mean = static_cast<float*>(c.values(DType::f32, ch));
      a.var = static_cast<float*>(c.positive(DType::f32, ch));
      a.var_is_inv_std = inverse;
      if (addend) a.addend = c.values(type, all);
      a.relu = relu;
      a.ceiling = ceiling;
      a.y = c.room(type, all);
      a.scratch = c.noise(batch_norm_scratch(norm));
      batch_norm_eval(c.sink(), norm, a);
      c.result(a.y, type, all);
    });
    // Each gate without and with an addend, and one of these six also gives the gated gradient.
    for (int form = 0; form < 7; ++form) {
      const bool passed = form == 6;
      const int kind = passed ? passing : form;
      const auto gate = static_cast<NormGate>(kind % 3);
      const bool added = kind >= 3;
      cases.add("batch_norm_gradient" + shape, type, [=](CaseRun& c) {
        BatchNormGradient a{};
        a.x = c.values(type, all);
        a.dy = c.values(type, all);
        a.gamma = static_cast<float*>(c.positive(DType::f32, ch));
        a.mean = static_cast<float*>(c.values(DType::f32, ch));
        a.inv_std = static_cast<float*>(c.positive(DType::f32, ch));
        a.gate = gate;
        a.ceiling = ceiling;
        if (gate == NormGate::of_x) a.beta = static_cast<float*>(c.values(DType::f32, ch));
        if (gate == NormGate::of_y) a.y = c.values(type, all);
        if (added) a.addend = c.values(type, all);
        if (passed) a.g = c.room(type, all);
        a.dx = c.room(type, all);
        a.dgamma = static_cast<float*>(c.room(DType::f32, ch));
        a.dbeta = static_cast<float*>(c.room(DType::f32, ch));
        a.scratch = c.noise(batch_norm_scratch(norm));
        batch_norm_gradient(c.sink(), norm, a);
        c.result(a.dx, type, all);
        c.result(a.dgamma, DType::f32, ch);
        c.result(a.dbeta, DType::f32, ch);
        if (passed) c.result(a.g, type, all);
      });
    }
  });
}

void sums(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const std::int64_t rows = pick(random, {1, 33, 1000, 4099});
    for (const std::int64_t ch : {pick(random, {1, 5}), pick(random, {8, 96, 144, 1000})}) {
      cases.add("column_sums " + text(rows) + "x" + text(ch), type, [=](CaseRun& c) {
        void *x = c.values(type, rows * ch), *scratch = c.noise(column_sums_scratch(type, rows, ch));
        for (DType as : {DType::f32, type}) {
          void* y = c.room(as, ch);
          column_sums(c.sink(), type, x, rows, ch, 0.5, as, y, scratch);
          c.result(y, as, ch);
        }
      });
    }
    cases.add("reduce over axes apart", type, [=](CaseRun& c) {
      // [3, 5, 4, 7, 6] over axes 1, 3 and 4, and 0, 2 and 4.
      for (const bool maximum : {false, true}) {
        const std::vector<Reduction> two = {{type, 60, 42, 1, maximum}, {type, 3, 5, 4, maximum, maximum ? 1 : 0.25}};
        const std::vector<Reduction> three = {
            {type, 420, 6, 1, maximum}, {type, 15, 4, 7, maximum}, {type, 1, 3, 35, maximum}};
        void* x = c.values(type, 2520, maximum);
        for (const auto& steps : {two, three}) {
          const std::int64_t n = steps.back().outer * steps.back().inner;
          void* y = c.room(type, n);
          reduce(c.sink(), steps, x, y, c.noise(reduce_scratch(steps)));
          c.result(y, type, n);
        }
      }
    });
    cases.add("reduce_sum of a long row", type, [=](CaseRun& c) {
      const Reduction all{type, 1, 40000, 3, false, 0.5};
      void *x = c.values(type, 120000), *y = c.room(type, 3), *scratch = c.noise(reduce_scratch(all));
      reduce(c.sink(), all, x, y, scratch);
      c.result(y, type, 3);
    });
    Reduction r{type,
                pick(random, {1, 4, 100}),
                pick(random, {1, 49, 1000, 40000}),
                pick(random, {1, 3, 40}),
                random() % 3 == 0,
                1};
    if (r.outer * r.inner > 500 && r.reduced > 1000) r.reduced = 77;
    cases.add((r.maximum ? "reduce_max " : "reduce_sum ") + text(r.outer) + "x" + text(r.reduced) + "x" + text(r.inner),
              type, [=](CaseRun& c) {
                void *x = c.values(type, r.outer * r.reduced * r.inner, r.maximum),
                     *y = c.room(type, r.outer * r.inner);
                void* scratch = c.noise(reduce_scratch(r));
                reduce(c.sink(), r, x, y, scratch);
                c.result(y, type, r.outer * r.inner);
              });
  });
}

void updates(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    std::vector<std::int64_t> sizes;
    const std::int64_t tensors = pick(random, {1, 3, 70});
    for (std::int64_t i = 0; i < tensors; ++i) sizes.push_back(pick(random, {1, 3, 64, 1000, 4096, 4100, 9000}));
    const bool momentum = random() % 4 != 0, nesterov = random() % 2 != 0, penalty = random() % 2 != 0;
    const int apply = static_cast<int>(random() % 3);
    const DType copy = type == DType::f32 ? DType::bf16 : type;
    const double decay = random() % 2 != 0 ? 1e-4 : 0;
    cases.add("momentum_update " + text(tensors), type, [=](CaseRun& c) {
      MomentumUpdate u{};
      u.rate = static_cast<float*>(c.of(std::vector<float>{0.0731f}));
      if (apply != 0)
        u.apply = static_cast<bool*>(c.of(std::vector<std::uint8_t>{static_cast<std::uint8_t>(apply - 1)}));
      u.has_momentum = momentum;
      u.nesterov = nesterov;
      u.weight_decay = decay;
      u.copy_type = copy;
      if (penalty) u.penalty = static_cast<float*>(c.room(DType::f32, 1));
      u.penalty_factor = 1e-2;
      u.scratch = c.noise(momentum_scratch(sizes));
      std::vector<MomentumTensor> list;
      for (std::int64_t n : sizes) {
        MomentumTensor t{};
        t.w = static_cast<float*>(c.values(DType::f32, n));
        t.g = static_cast<float*>(c.values(DType::f32, n));
        t.new_w = static_cast<float*>(c.room(DType::f32, n));
        if (momentum) t.m = t.new_m = static_cast<float*>(c.values(DType::f32, n));
        if (type != DType::f32) t.copy = c.room(copy, n);
        t.elements = n;
        list.push_back(t);
      }
      momentum_update(c.sink(), u, list);
      for (const MomentumTensor& t : list) {
        c.result(t.new_w, DType::f32, t.elements);
        if (momentum) c.result(t.new_m, DType::f32, t.elements);
        if (t.copy != nullptr) c.result(t.copy, copy, t.elements);
      }
      if (penalty) c.result(u.penalty, DType::f32, 1);
    });
    const bool special = random() % 2 != 0;
    for (TensorsTotal total :
         {TensorsTotal::squares, TensorsTotal::norm, TensorsTotal::clip, TensorsTotal::all_finite}) {
      cases.add("tensors_total " + text(static_cast<int>(total)), type, [=](CaseRun& c) {
        std::vector<NormTensor> list;
        for (std::int64_t n : sizes)
          list.push_back({c.values(type, n, special && total == TensorsTotal::all_finite), n});
        void *y = c.room(DType::f32, 1), *scratch = c.noise(tensors_total_scratch(sizes));
        tensors_total(c.sink(), total, type, list, 1, 3, y, scratch);
        const bool flag = total == TensorsTotal::all_finite;
        c.result(y, flag ? DType::boolean : DType::f32, 1);
      });
    }
  });
}

void pools(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    Pool p{};
    p.type = type;
    p.n = pick(random, {1, 3});
    p.h = pick(random, {5, 8, 13});
    p.w = pick(random, {4, 7, 14});
    p.c = pick(random, {1, 3, 8, 24});
    p.kh = pick(random, {1, 2, 3});
    p.kw = pick(random, {2, 3});
    p.sh = pick(random, {1, 2, 3});
    p.sw = pick(random, {1, 2});
    p.top = p.kh > 1 ? pick(random, {0, 1}) : 0;
    p.left = pick(random, {0, 1});
    p.oh = (p.h + p.top - p.kh) / p.sh + 1;
    p.ow = (p.w + p.left + 1 - p.kw) / p.sw + 1;
    const bool padding = random() % 2 != 0;
    const std::int64_t image = p.n * p.h * p.w * p.c, pooled = p.n * p.oh * p.ow * p.c;
    const std::string shape =
        " " + text(p.h) + "x" + text(p.w) + "x" + text(p.c) + " by " + text(p.kh) + "x" + text(p.kw);
    cases.add("max_pool" + shape, type, [=](CaseRun& c) {
      void *x = c.values(type, image, true), *y = c.room(type, pooled), *index = c.room(DType::u8, pooled);
      max_pool(c.sink(), p, x, y, index);
      c.result(y, type, pooled);
      c.result(index, DType::u8, pooled);
      void *dy = c.values(type, pooled), *dx = c.room(type, image);
      max_pool_gradient(c.sink(), p, dy, index, padding ? y : nullptr, dx);
      c.result(dx, type, image);
    });
    // Gradients of pools of stride 2 go by tiles of pixels; windows of 2x2 and 3x3 have kernels of their own.
    Pool halved = p;
    halved.c = pick(random, {8, 24});
    halved.sh = halved.sw = 2;
    const std::pair<std::int64_t, std::int64_t> windows[] = {{pick(random, {1, 2, 3, 5}), p.kw}, {2, 2}, {3, 3}};
    for (const auto& [high, wide] : windows) {
      halved.kh = high, halved.kw = wide;
      halved.top = high > 1 ? 1 : 0;
      halved.oh = (halved.h + halved.top - high) / 2 + 1;
      halved.ow = (halved.w + halved.left + 1 - wide) / 2 + 1;
      cases.add("max_pool by tiles " + text(high) + "x" + text(wide), type, [=](CaseRun& c) {
        const std::int64_t from = halved.n * halved.h * halved.w * halved.c;
        const std::int64_t to = halved.n * halved.oh * halved.ow * halved.c;
        void *x = c.values(type, from, true), *y = c.room(type, to), *index = c.room(DType::u8, to);
        max_pool(c.sink(), halved, x, y, index);
        void *dy = c.values(type, to), *dx = c.room(type, from);
        max_pool_gradient(c.sink(), halved, dy, index, padding ? y : nullptr, dx);
        c.result(dx, type, from);
      });
    }
    cases.add("average_pool" + shape, type, [=](CaseRun& c) {
      void *x = c.values(type, image), *y = c.room(type, pooled), *dx = c.room(type, image);
      average_pool(c.sink(), p, padding, x, y);
      average_pool_gradient(c.sink(), p, padding, y, dx);
      c.result(y, type, pooled);
      c.result(dx, type, image);
    });
  });
}

void losses(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const std::int64_t rows = pick(random, {1, 5, 32}), classes = pick(random, {1, 2, 10, 127, 129, 1000});
    const bool shares = random() % 3 == 0, masked = random() % 2 != 0;
    const double smoothing = random() % 2 != 0 ? 0.1 : 0;
    const std::int64_t k = pick(random, {0, 1, 5});
    cases.add("softmax_cross_entropy " + text(rows) + "x" + text(classes), type, [=](CaseRun& c) {
      Targets t{};
      t.smoothing = smoothing;
      if (shares)
        t.shares = c.positive(type, rows * classes);
      else
        t.labels = static_cast<std::int32_t*>(c.labels(rows, classes));
      if (masked) t.mask = c.values(type, rows, true);
      void *x = c.values(type, rows * classes, false, 8), *p = c.room(type, rows * classes), *loss = c.room(type, rows);
      void* bad = c.noise(static_cast<std::size_t>(rows) * 4);
      softmax_cross_entropy(c.sink(), type, x, t, loss, p, bad, rows, classes);
      c.result(loss, type, rows);
      c.result(p, type, rows * classes);
      c.result(bad, DType::i32, rows);
      void *dloss = c.positive(type, rows), *dx = c.room(type, rows * classes);
      softmax_cross_entropy_gradient(c.sink(), type, p, t, dloss, dx, rows, classes);
      c.result(dx, type, rows * classes);
    });
    cases.add("top_k_accuracy " + text(rows) + "x" + text(classes) + " k=" + text(k), type, [=](CaseRun& c) {
      void *x = c.values(type, rows * classes, classes < 100), *hits = c.room(DType::f32, 1);
      const auto* labels = static_cast<std::int32_t*>(c.labels(rows, classes + 1));
      void* bad = c.noise(static_cast<std::size_t>(rows) * 4);
      void* scratch = c.noise(top_k_scratch(rows));
      top_k_accuracy(c.sink(), type, x, labels, masked ? c.values(type, rows, true) : nullptr, k,
                     static_cast<float*>(hits), bad, rows, classes, scratch);
      c.result(hits, DType::f32, 1);
      c.result(bad, DType::i32, rows);
    });
  });
}

void others(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const std::int64_t n = pick(random, {1, 3, 4, 1023, 1024, 5001});
    const std::uint64_t key = random() | std::uint64_t{random()} << 32;
    cases.add("dropout " + text(n), type, [=](CaseRun& c) {
      void *x = c.values(type, n), *y = c.room(type, n);
      const auto* step = static_cast<std::int64_t*>(c.of(std::vector<std::int64_t>{12345678901}));
      dropout(c.sink(), type, x, y, step, key, 0.7, n);
      c.result(y, type, n);
    });
    const ImageTailShape image{type, pick(random, {1, 3}), pick(random, {1, 9, 32}), pick(random, {1, 11, 40}),
                               pick(random, {3, 8})};
    const bool flips = random() % 2 != 0;
    std::array<float, 768> table;
    for (float& v : table) v = static_cast<float>(random()) * 0x1p-31f - 1;
    const std::int64_t pixels = image.n * image.h * image.w;
    cases.add("image_tail " + text(image.h) + "x" + text(image.w) + "x" + text(image.channels), type, [=](CaseRun& c) {
      void *x = c.bytes(pixels * 3), *flip = flips ? c.bytes(image.n, 2) : nullptr,
           *y = c.room(type, pixels * image.channels);
      image_tail(c.sink(), image, x, flip, table, y);
      c.result(y, type, pixels * image.channels);
    });
    const ImageBlocks blocks{pick(random, {2, 4}), pick(random, {0, 2}), pick(random, {0, 1}), (image.h + 5) / 2,
                             (image.w + 3) / 2};
    cases.add("image_tail_blocks " + text(image.h) + "x" + text(image.w), type, [=](CaseRun& c) {
      const std::int64_t all = image.n * blocks.rows * blocks.columns * blocks.side * blocks.side * 3;
      void *x = c.bytes(pixels * 3), *flip = flips ? c.bytes(image.n, 2) : nullptr, *y = c.room(type, all);
      image_tail_blocks(c.sink(), image, blocks, x, flip, table, y);
      c.result(y, type, all);
    });
    const std::int64_t ch = pick(random, {1, 3, 96, 300});
    const Normalisation norm{type, ch * pick(random, {1, 7, 30}), ch, pick(random, {0, 2, 4}), 2,
                             1e-2, random() % 2 != 0 ? 0.75 : 0.6};
    cases.add("local_response_norm " + text(ch), type, [=](CaseRun& c) {
      void *x = c.values(type, norm.elements), *dy = c.values(type, norm.elements);
      void *y = c.room(type, norm.elements), *dx = c.room(type, norm.elements);
      local_response_norm(c.sink(), norm, x, y);
      local_response_norm_gradient(c.sink(), norm, x, dy, dx);
      c.result(y, type, norm.elements);
      c.result(dx, type, norm.elements);
    });
  });
}

void convolutions(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    DirectShape s{};
    s.type = type;
    s.result = random() % 2 != 0 ? type : DType::f32;
    s.n = pick(random, {1, 3});
    s.h = pick(random, {5, 9});
    s.w = pick(random, {6, 11});
    s.groups = pick(random, {1, 2});
    s.c = s.groups * pick(random, {1, 3, 8});
    s.k = s.groups * pick(random, {1, 4});
    s.r = pick(random, {1, 3});
    s.s = pick(random, {1, 2, 3});
    s.stride_h = pick(random, {1, 2});
    s.stride_w = pick(random, {1, 2, 3});
    s.dilation_h = pick(random, {1, 2});
    s.top = pick(random, {0, 1});
    s.left = pick(random, {0, 1});
    s.oh = (s.h + s.top - (s.dilation_h * (s.r - 1) + 1)) / s.stride_h + 1;
    s.ow = (s.w + s.left + 1 - s.s) / s.stride_w + 1;
    const bool bias = random() % 2 != 0, wide_bias = random() % 2 != 0, more = random() % 2 != 0;
    const auto body = [=](const DirectShape& shape) {
      return [=](CaseRun& c) {
        const bool plain = is_depthwise(shape) && shape.result == shape.type;
        const std::int64_t image = shape.n * shape.h * shape.w * shape.c,
                           result = shape.n * shape.oh * shape.ow * shape.k;
        const std::int64_t weights = shape.k * shape.r * shape.s * (shape.c / shape.groups);
        void *x = c.values(type, image), *w = c.values(type, weights), *dy = c.values(type, result);
        void *y = c.room(shape.result, result), *dx = c.room(shape.result, image), *dw = c.room(shape.result, weights);
        Epilogue e{};
        if (bias) e.bias = c.values(wide_bias ? DType::f32 : type, shape.k);
        e.bias_type = wide_bias ? DType::f32 : type;
        if (more && !plain) e.addend = c.values(shape.result, result);
        e.relu = more;
        void* gate = more ? c.values(shape.result, image) : nullptr;
        if (plain) {
          depthwise(c.sink(), shape, x, w, e, y);
          depthwise_data_gradient(c.sink(), shape, dy, w, gate, dx);
          depthwise_weight_gradient(c.sink(), shape, x, dy, dw, c.noise(depthwise_weight_gradient_scratch(shape)));
        } else {
          direct_convolution(c.sink(), shape, x, w, e, y);
          direct_data_gradient(c.sink(), shape, dy, w, gate, dx);
          direct_weight_gradient(c.sink(), shape, x, dy, dw);
        }
        c.result(y, shape.result, result);
        c.result(dx, shape.result, image);
        c.result(dw, shape.result, weights);
      };
    };
    cases.add("direct_convolution", type, body(s));
    DirectShape d = s;
    d.result = type;
    d.c = d.k = d.groups = pick(random, {1, 3, 4, 32, 36, 144});
    d.h = pick(random, {5, 9, 31});
    d.stride_w = random() % 4 == 0 ? d.stride_w : d.stride_h;
    d.r = d.s = 3;
    d.dilation_h = 1;
    d.top = d.left = 1;
    d.oh = (d.h + 2 - 3) / d.stride_h + 1;
    d.ow = (d.w + 2 - 3) / d.stride_w + 1;
    cases.add("depthwise " + text(d.c) + " stride " + text(d.stride_h) + "x" + text(d.stride_w), type, body(d));
    ProductShape p{type, s.result, pick(random, {1, 17}), pick(random, {1, 33}), pick(random, {1, 70})};
    const bool turned = random() % 2 != 0;
    p.a_row = turned ? 1 : p.inner;
    p.a_column = turned ? p.rows : 1;
    p.b_row = turned ? p.columns : 1;
    p.b_column = turned ? 1 : p.inner;
    cases.add("direct_product", type, [=](CaseRun& c) {
      void *a = c.values(type, p.rows * p.inner), *b = c.values(type, p.inner * p.columns),
           *y = c.room(p.result, p.rows * p.columns);
      Epilogue e{};
      if (bias) e.bias = c.values(DType::f32, p.columns);
      e.relu = more;
      direct_product(c.sink(), p, a, b, e, y);
      c.result(y, p.result, p.rows * p.columns);
    });
  });
}

}  // namespace

std::vector<KernelCase> kernel_cases(unsigned seed, int rounds) {
  Cases cases(seed, rounds);
  for (auto* family : {copies, batch_norms, sums, updates, pools, losses, others, convolutions, add_sequence_cases,
                       add_tensor_core_cases}) {
    cases.begin_family();
    family(cases);
  }
  return cases.take();
}

}  // namespace ridgeline::cuda::testing
