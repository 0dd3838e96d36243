// What enters the network: whether it is normalised.
#include <fmt/format.h>

#include <cmath>

#include "ridgeline/train/doctor/checks.h"

namespace ridgeline::train {
namespace {

// Normalised images have mean 0 and deviation 1 over a data set; a batch of similar pictures may deviate by a few.
constexpr double kLargestMean = 4, kLargestDeviation = 8, kLeastDeviation = 0.02;

}  // namespace

void check_pixels(Examination& examination, Findings& findings) {
  FirstStep& first = examination.first_step();
  if (first.first_input == kNoValue) return findings.leave_out("no op of the step reads a parameter beside an input");
  const Tensor images = first.values.tensor_of(first.first_input);
  const ValueNumbers n = numbers_of(images);
  const std::string seen =
      fmt::format("values from {:.3g} to {:.3g}, mean {:.3g}, deviation {:.3g}", n.least, n.most, n.mean, n.deviation);
  const char* advice =
      "subtract the mean of the data and divide by its deviation (Normalize in the pipeline, or image_tail in the "
      "step), "
      "in training and in validation alike";
  if (n.not_finite > 0) {
    findings.wrong(fmt::format("{} values that enter the network are not finite", n.not_finite), "look at the source");
  } else if (n.least == n.most) {
    findings.wrong(fmt::format("all values that enter the network are {}", n.least), "look at the source");
  } else if (n.deviation > kLargestDeviation || std::abs(n.mean) > kLargestMean) {
    findings.wrong("the images are not normalised: " + seen, advice);
  } else if (n.deviation < kLeastDeviation) {
    findings.wrong("the images are normalised twice or divided by too much: " + seen, advice);
  } else if (n.least >= 0 && n.mean > n.deviation) {
    findings.suspect("the images are not centred: " + seen, advice);
  }
}

}  // namespace ridgeline::train
