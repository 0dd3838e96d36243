#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/kernel_case_list.h"

namespace ridgeline::cuda::testing {
namespace {

void softmaxes(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const SoftmaxAxis axis{type, pick(random, {1, 3, 40}), pick(random, {1, 2, 10, 33, 197, 1000}),
                           pick(random, {1, 1, 3, 40})};
    const std::int64_t all = axis.outer * axis.classes * axis.inner;
    cases.add("softmax " + text(axis.outer) + "x" + text(axis.classes) + "x" + text(axis.inner), type, [=](CaseRun& c) {
      void *x = c.values(type, all, false, 8), *y = c.room(type, all);
      softmax(c.sink(), axis, x, y);
      c.result(y, type, all);
      void *dy = c.values(type, all), *dx = c.room(type, all);
      softmax_gradient(c.sink(), axis, y, dy, dx);
      c.result(dx, type, all);
    });
  });
}

void sample_norms(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    for (const std::int64_t width : {std::int64_t{1}, std::int64_t{8}}) {
      for (const bool rows : {false, true}) {
        SampleNorm norm{type, pick(random, {1, 3, 70}), 1, width * pick(random, {1, 3, 12, 40}), 1, 1e-3};
        if (!rows) {
          norm.positions = pick(random, {1, 9, 49, 300});
          norm.groups = 2;
          norm.channels *= 2;
        }
        const std::int64_t all = norm.samples * norm.positions * norm.channels, ch = norm.channels,
                           lines = norm.samples * norm.groups;
        cases.add("sample_norm " + text(norm.samples) + "x" + text(norm.positions) + "x" + text(ch), type,
                  [=](CaseRun& c) {
                    void *x = c.values(type, all), *y = c.room(type, all);
                    const auto* gamma = static_cast<const float*>(c.positive(DType::f32, ch));
                    const auto* beta = static_cast<const float*>(c.values(DType::f32, ch));
                    auto* mean = static_cast<float*>(c.room(DType::f32, lines));
                    auto* inv_std = static_cast<float*>(c.room(DType::f32, lines));
                    sample_norm(c.sink(), norm, x, gamma, beta, y, mean, inv_std, c.noise(sample_norm_scratch(norm)));
                    c.result(y, type, all);
                    c.result(mean, DType::f32, lines);
                    c.result(inv_std, DType::f32, lines);
                    void* dx = c.room(type, all);
                    auto* dgamma = static_cast<float*>(c.room(DType::f32, ch));
                    auto* dbeta = static_cast<float*>(c.room(DType::f32, ch));
                    sample_norm_gradient(c.sink(), norm,
                                         {.x = x,
                                          .dy = c.values(type, all),
                                          .gamma = gamma,
                                          .mean = mean,
                                          .inv_std = inv_std,
                                          .dx = dx,
                                          .dgamma = dgamma,
                                          .dbeta = dbeta,
                                          .scratch = c.noise(sample_norm_gradient_scratch(norm))});
                    c.result(dx, type, all);
                    c.result(dgamma, DType::f32, ch);
                    c.result(dbeta, DType::f32, ch);
                  });
      }
    }
  });
}

void tables(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const GatherShape shape{pick(random, {1, 3}), pick(random, {1, 5, 50}), pick(random, {0, 1, 7, 9000}), 1};
    for (const std::size_t size : {1, 2, 4, 8}) {
      for (const std::int64_t inner : {1, 16, 1100}) {
        GatherShape s = shape;
        s.inner = inner;
        if (inner > 16) s.count = std::min<std::int64_t>(s.count, 7);
        cases.add("gather " + text(s.count) + "x" + text(inner) + " of " + text(static_cast<std::int64_t>(size)), type,
                  [=](CaseRun& c) {
                    const std::int64_t bytes = static_cast<std::int64_t>(size) * s.outer * s.inner;
                    void *table = c.bytes(bytes * s.rows), *y = c.noise(static_cast<std::size_t>(bytes * s.count));
                    const auto* numbers = static_cast<std::int32_t*>(c.labels(s.count, s.rows + 1));  // one is no row
                    gather(c.sink(), s, size, 0x7fc1, table, numbers, y);
                    c.result(y, DType::u8, bytes * s.count);
                    if (size != size_of(type)) return;
                    const std::int64_t rows = s.outer * s.rows * s.inner;
                    void *dy = c.values(type, s.outer * s.count * s.inner), *dtable = c.room(type, rows);
                    gather_gradient(c.sink(), s, type, dy, numbers, dtable);
                    c.result(dtable, type, rows);
                  });
      }
    }
  });
}

void matrices(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    ProductShape p{type, random() % 2 != 0 ? type : DType::f32, pick(random, {1, 17}), pick(random, {1, 9}),
                   pick(random, {0, 1, 30})};
    const bool turned = random() % 2 != 0;
    p.a_row = turned ? 1 : p.inner;
    p.a_column = turned ? p.rows : 1;
    p.b_row = turned ? 1 : p.columns;
    p.b_column = turned ? p.inner : 1;
    const std::int64_t a = p.rows * p.inner, b = p.inner * p.columns;
    // a [2,1,3], b [2,4,1]
    const std::vector<ProductBatch> batch = {{2, 3 * a, 4 * b}, {4, 0, b}, {3, a, 0}};
    cases.add("direct_products", type, [=](CaseRun& c) {
      void *x = c.values(type, 6 * a), *w = c.values(type, 8 * b), *y = c.room(p.result, 24 * p.rows * p.columns);
      direct_products(c.sink(), p, batch, x, w, y);
      c.result(y, p.result, 24 * p.rows * p.columns);
    });
  });
}

void parts(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    for (const std::size_t size : {1, 2, 4, 8}) {
      const std::int64_t rows = pick(random, {1, 5}), first = pick(random, {1, 3, 16}), second = pick(random, {8, 48});
      cases.add("parts of a whole of " + text(static_cast<std::int64_t>(size)), type, [=](CaseRun& c) {
        const std::int64_t whole = first + second, bytes = static_cast<std::int64_t>(size) * rows;
        void *a = c.bytes(bytes * first), *b = c.bytes(bytes * second);
        void* y = c.noise(static_cast<std::size_t>(bytes * whole));
        const CopyAxis of_a[] = {{rows, whole, 0, 1, 1, rows, first}, {first, 1, 0, 1, 1, first, 1}};
        const CopyAxis of_b[] = {{rows, whole, 0, 1, 1, rows, second}, {second, 1, 0, 1, 1, second, 1}};
        strided_copy(c.sink(), size, a, y, of_a);
        strided_copy(c.sink(), size, b, static_cast<char*>(y) + static_cast<std::size_t>(first) * size, of_b);
        c.result(y, DType::u8, bytes * whole);
        // A column of `second` put in place of the rows, which move by whole groups.
        void* turned = c.noise(static_cast<std::size_t>(bytes * second));
        const CopyAxis groups[] = {
            {second / 8, 8 * rows, 0, 1, 1, second / 8, 8}, {rows, 8, 0, 1, 1, rows, second}, {8, 1, 0, 1, 1, 8, 1}};
        strided_copy(c.sink(), size, b, turned, groups);
        c.result(turned, DType::u8, bytes * second);
      });
      cases.add("spread of " + text(static_cast<std::int64_t>(size)), type, [=](CaseRun& c) {
        // Every third row and second column of [3*rows+2, 2*second, 16], from row 1 on; and whole rows of 16.
        const std::int64_t wide = 16, element = static_cast<std::int64_t>(size);
        const std::int64_t high = 3 * rows + 2, broad = 2 * second;
        void* dy = c.bytes(element * rows * second * wide);
        void* dx = c.noise(static_cast<std::size_t>(element * high * broad * wide));
        const CopyAxis axes[] = {{high, broad * wide, -1, 1, 3, rows, second * wide},
                                 {broad, wide, 0, 1, 2, second, wide},
                                 {wide, 1, 0, 1, 1, wide, 1}};
        strided_copy(c.sink(), size, dy, dx, axes, 0x55);
        c.result(dx, DType::u8, element * high * broad * wide);
        void* line = c.noise(static_cast<std::size_t>(element * 3 * second));
        const CopyAxis one[] = {{3 * second, 1, -2, 1, 3, second, 1}};
        strided_copy(c.sink(), size, dy, line, one);
        c.result(line, DType::u8, element * 3 * second);
        // Columns of eight bytes at a time at most.
        void* pairs = c.noise(static_cast<std::size_t>(element * 4 * rows * 8));
        for (const std::int64_t width : {1, 2, 4, 8}) {
          const CopyAxis some[] = {{4 * rows, width, 0, 1, 4, rows, width}, {width, 1, 0, 1, 1, width, 1}};
          strided_copy(c.sink(), size, dy, pairs, some);
          c.result(pairs, DType::u8, element * 4 * rows * width);
        }
      });
    }
  });
}

void values_of_ranks(Cases& cases) {
  cases.each([&](std::mt19937& random, DType type) {
    const auto ranks = static_cast<int>(pick(random, {2, 3, 5, 7, 8, 16, 33}));
    const RankValues v{.type = type,
                       .elements = pick(random, {1, 255, 2048, 3001}),
                       .stride = pick(random, {3008, 3001}),
                       .ranks = ranks,
                       .rank = static_cast<int>(random() % static_cast<unsigned>(ranks)),
                       .mean = random() % 2 == 0};
    cases.add("values of " + text(ranks) + " ranks", type, [=](CaseRun& c) {
      void *own = c.values(type, v.elements, true), *others = c.values(type, v.stride * (v.ranks - 1), true);
      void* y = c.room(type, v.elements);
      rank_sums(c.sink(), v, own, others, y);
      c.result(y, type, v.elements);
      rank_sums(c.sink(), v, own, others, own);
      c.result(own, type, v.elements);
    });
  });
}

}  // namespace

void add_sequence_cases(Cases& cases) {
  for (auto* family : {softmaxes, sample_norms, tables, matrices, parts, values_of_ranks}) family(cases);
}

}  // namespace ridgeline::cuda::testing
