// ridgeline/device/cpu/winograd/weights.h
//
// The weights' transform U = G w G^T and its adjoint. It reads plain weights [K,R,S,C] of f32 or bf16 and depends on
// nothing else: it can be made once per step for all readers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ridgeline/device/cpu/winograd/transforms.h"

namespace ridgeline::device::winograd {

// The layout of transformed weights: [position][panel of columns][row][column of the panel]; rows are the channels that
// a product sums over, columns those of its result. Columns after the last are zero up to whole vectors, and undefined
// from there to the panel's end.
struct WeightsForm {
  Rule rule;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t panels() const;
  std::int64_t panel_floats() const;  // of one panel at one position
  std::int64_t distance() const;      // between positions
  std::int64_t floats() const;
  template <class Float>
  StreamsOf<Float> streams(Float* base) const {
    return {base, distance(), panel_floats()};
  }
};

// For the vector target that was active when it was made; the functions use the compute team.
class WeightsCode {
 public:
  // K filters over C channels.
  WeightsCode(Rule rule, std::int64_t filters, std::int64_t channels);

  // For the forward pass: rows are the C channels, columns the K filters.
  WeightsForm forward_form() const { return {rule_, channels_, filters_}; }
  template <class Weight>
  void forward(const Weight* weights, float* transformed) const;

  // For the gradient of the image: the filters rotated by 180 degrees; rows are the K filters, columns the C channels.
  WeightsForm turned_form() const { return {rule_, filters_, channels_}; }
  template <class Weight>
  void turned(const Weight* weights, float* transformed) const;

  // The weights' gradient from the sums of products, which have the layout turned_form() (but are not rotated); `add`:
  // adds to the present values.
  void gradient(const float* sums, float* weights, bool add) const;

 private:
  Rule rule_;
  std::int64_t filters_;
  std::int64_t channels_;
  template <class Weight>
  const TransformSet<Weight>& code() const {
    if constexpr (std::is_same_v<Weight, float>) {
      return *code_;
    } else {
      return *narrow_code_;
    }
  }
  const TransformSet<float>* code_;
  const TransformSet<bfloat16>* narrow_code_;
  std::int64_t panel_;
};

}  // namespace ridgeline::device::winograd
