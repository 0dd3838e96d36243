#include "ridgeline/core/math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ridgeline {
namespace {

// ln 2 and pi/2 split so that a product with a small integer is exact in the leading parts (Cody and Waite).
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kPio2High = 1.57079632673412561417e+00;
constexpr double kPio2Middle = 6.07710050630396597660e-11;
constexpr double kPio2Low = 2.02226624879595063154e-21;

double scale_by_power_of_two(double x, int n) {
  // Two factors, so that results in the subnormal range are rounded once, at the end.
  const int half = n / 2;
  const double a = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + half) << 52);
  const double b = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + n - half) << 52);
  return x * a * b;
}

// An angle as quadrant * pi/2 + x + tail, x in [-pi/4, pi/4] and tail below half a unit in the last place of x.
struct Reduced {
  double x;
  double tail;
  int quadrant;  // modulo 4
};

// Above 1e6 the products with the leading parts would no longer be exact.
constexpr double kLargestAngle = 1e6;
constexpr double kQuarterPi = 0.78539816339744830962;

Reduced reduce_by_half_pi(double angle) {
  if (!(std::abs(angle) <= kLargestAngle)) return {std::numeric_limits<double>::quiet_NaN(), 0.0, 0};
  if (std::abs(angle) <= kQuarterPi) return {angle, 0.0, 0};
  const double n = std::nearbyint(angle * 6.36619772367581382433e-01);
  const double high = angle - n * kPio2High;  // exact: n has 20 bits, the constant 33, and the rest cancels
  const double middle = n * kPio2Middle;      // exact
  const double sum = high - middle;
  const double back = high - sum;  // Knuth's two-sum: what `sum` lost
  const double lost = (high - (sum + back)) - (middle - back);
  const double low = n * kPio2Low - lost;
  const double x = sum - low;
  return {x, (sum - x) - low, static_cast<int>(static_cast<std::int64_t>(n) & 3)};
}

// Taylor polynomials on [-pi/4, pi/4]; the first left-out term is below 2^-56 of the result. The tail enters by its
// first-order term.
double sin_polynomial(const Reduced& r) {
  if (std::abs(r.x) < 0x1p-27) return r.x;  // the cubic term is below half a unit; keeps the sign of zero
  const double z = r.x * r.x;
  double p = 2.8114572543455206e-15;  // 1/17!
  p = p * z - 7.6471637318198164e-13;
  p = p * z + 1.6059043836821613e-10;
  p = p * z - 2.5052108385441720e-08;
  p = p * z + 2.7557319223985893e-06;
  p = p * z - 1.9841269841269841e-04;
  p = p * z + 8.3333333333333332e-03;
  p = p * z - 1.6666666666666666e-01;
  return r.x + (r.x * z * p + r.tail * (1.0 - 0.5 * z));
}

double cos_polynomial(const Reduced& r) {
  const double z = r.x * r.x;
  double p = 4.7794773323873853e-14;  // 1/16!
  p = p * z - 1.1470745597729725e-11;
  p = p * z + 2.0876756987868098e-09;
  p = p * z - 2.7557319223985888e-07;
  p = p * z + 2.4801587301587302e-05;
  p = p * z - 1.3888888888888889e-03;
  p = p * z + 4.1666666666666664e-02;
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * z * p - r.x * r.tail));
}

}  // namespace

double portable_exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.1332191019412) return 0.0;
  const double n = std::nearbyint(x * 1.44269504088896338700e+00);
  const double high = x - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;
  // exp(r) = 1 + r + r*c/(2-c) with the rational c of fdlibm's e_exp.c (error below 2^-59).
  const double t = r * r;
  const double c =
      r -
      t * (1.66666666666666019037e-01 +
           t * (-2.77777777770155933842e-03 +
                t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  const double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
  return scale_by_power_of_two(y, static_cast<int>(n));
}

double portable_log(double x) {
  if (x != x || x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  double m = std::bit_cast<double>(bits);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++exponent;
  }
  // log(1+f) with the polynomial of fdlibm's e_log.c (error below 2^-58).
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double t2 =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  const double k = exponent;
  return k * kLn2High - ((half - (s * (half + (t1 + t2)) + k * kLn2Low)) - f);
}

double portable_sin(double x) {
  const Reduced r = reduce_by_half_pi(x);
  const double y = (r.quadrant & 1) ? cos_polynomial(r) : sin_polynomial(r);
  return (r.quadrant & 2) ? -y : y;
}

double portable_cos(double x) {
  const Reduced r = reduce_by_half_pi(x);
  const double y = (r.quadrant & 1) ? sin_polynomial(r) : cos_polynomial(r);
  return (r.quadrant == 1 || r.quadrant == 2) ? -y : y;
}

}  // namespace ridgeline
