// ridgeline/core/math.h
//
// exp, log, sin and cos of our own: the C library's differ between versions and processors, and random numbers,
// schedules and kernels must not. Plain double arithmetic in a fixed order; sqrt is exact by IEEE and may be used
// directly. Errors are below 2 units in the last place (tests compare with the C library).
#pragma once

#include <cmath>
#include <limits>

namespace ridgeline {

// exp(x); 0 below -745.2, infinity above 709.8.
double portable_exp(double x);
// Natural logarithm; -infinity at 0, NaN below.
double portable_log(double x);
// Sine and cosine for |x| <= 1e6 (argument reduction in three parts); NaN beyond.
double portable_sin(double x);
double portable_cos(double x);

// x, a NaN without its sign: that sign has no meaning and differs between processors, but would be printed.
inline double plain_nan(double x) { return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; }

}  // namespace ridgeline
