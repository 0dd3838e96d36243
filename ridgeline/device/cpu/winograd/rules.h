// ridgeline/device/cpu/winograd/rules.h
//
// The matrices of Winograd's F(m, r): m outputs of an r-tap filter from alpha = m + r - 1 inputs with alpha
// multiplications (in two dimensions the product of both sides'):
//
//   y = A^T [ (G w) . (B^T x) ]      and its adjoint      dw = G^T [ (B^T x) . (A dy) ]
//
// The rows of G and A are powers of the interpolation points (Toom-Cook), the last point is infinity. Everything is
// computed by the compiler.
#pragma once

#include <algorithm>
#include <array>

namespace ridgeline::device::winograd {

template <int Rows, int Columns>
struct Matrix {
  double at[Rows][Columns];
};

// The finite points for each alpha - 1. They determine the error: chosen by measurement among numbers with few bits, so
// that A and B are exact in f32. Pairs +p, -p are adjacent, which halves the arithmetic (see fold_pairs).
template <int N>
constexpr std::array<double, N> points() {
  if constexpr (N == 3) return {0, 1, -1};
  if constexpr (N == 5) return {0, 0.75, -0.75, 1.5, -1.5};
  if constexpr (N == 6) return {0.375, -0.375, 0.875, -0.875, 1.75, -1.75};
  if constexpr (N == 7) return {0, 0.5, -0.5, 1, -1, 2, -2};
}

template <int M, int R>
struct ToomCook {
  static constexpr int kAlpha = M + R - 1;
  Matrix<kAlpha, kAlpha> b{};  // B^T
  Matrix<kAlpha, R> g{};
  Matrix<kAlpha, M> a{};

  constexpr ToomCook() {
    const auto p = points<kAlpha - 1>();
    for (int j = 0; j < kAlpha; ++j) {
      // Row j of B^T: the coefficients of the product over l != j of (x - p_l).
      double scale = 1;
      b.at[j][0] = 1;
      for (int l = 0, degree = 0; l < kAlpha - 1; ++l) {
        if (l == j) continue;
        if (j < kAlpha - 1) scale *= p[j] - p[l];
        ++degree;
        for (int i = degree; i > 0; --i) b.at[j][i] = b.at[j][i - 1] - p[l] * b.at[j][i];
        b.at[j][0] *= -p[l];
      }
      double power = 1;
      for (int k = 0; k < std::max(M, R) && j < kAlpha - 1; ++k, power *= p[j]) {
        if (k < R) g.at[j][k] = power / scale;
        if (k < M) a.at[j][k] = power;
      }
    }
    g.at[kAlpha - 1][R - 1] = 1;
    a.at[kAlpha - 1][M - 1] = 1;
  }
};

// Half the sum and half the difference of the two rows of each pair of points: half of their entries vanish. One
// butterfly (sum and difference) gives the rows back.
template <int Rows, int Columns>
constexpr Matrix<Rows, Columns> fold_pairs(Matrix<Rows, Columns> m) {
  for (int i = (Rows - 1) % 2; i + 1 < Rows - 1; i += 2) {
    for (int j = 0; j < Columns; ++j) {
      const double sum = (m.at[i][j] + m.at[i + 1][j]) / 2;
      const double difference = (m.at[i][j] - m.at[i + 1][j]) / 2;
      m.at[i][j] = sum;
      m.at[i + 1][j] = difference;
    }
  }
  return m;
}

template <int Rows, int Columns>
constexpr Matrix<Columns, Rows> transpose(const Matrix<Rows, Columns>& m) {
  Matrix<Columns, Rows> t{};
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) t.at[j][i] = m.at[i][j];
  }
  return t;
}

// A one-dimensional transform. Expanding ones map to the points (their rows are points), contracting ones from them
// (their columns are points); `kMatrix` is folded.
template <int Rows, int Columns, bool Expand>
struct Transform {
  static constexpr int kRows = Rows;
  static constexpr int kColumns = Columns;
  static constexpr bool kExpand = Expand;
  static constexpr int kPoints = Expand ? Rows : Columns;
};
template <int M, int R>
struct InputTransform : Transform<M + R - 1, M + R - 1, true> {  // B^T
  static constexpr auto kMatrix = fold_pairs(ToomCook<M, R>().b);
};
template <int M, int R>
struct GradientTransform : Transform<M + R - 1, M, true> {  // A
  static constexpr auto kMatrix = fold_pairs(ToomCook<M, R>().a);
};
template <int M, int R>
struct WeightsTransform : Transform<M + R - 1, R, true> {  // G
  static constexpr auto kMatrix = fold_pairs(ToomCook<M, R>().g);
};
template <int M, int R>
struct OutputTransform : Transform<M, M + R - 1, false> {  // A^T
  static constexpr auto kMatrix = transpose(GradientTransform<M, R>::kMatrix);
};
template <int M, int R>
struct WeightsGradientTransform : Transform<R, M + R - 1, false> {  // G^T
  static constexpr auto kMatrix = transpose(WeightsTransform<M, R>::kMatrix);
};

}  // namespace ridgeline::device::winograd
