// ridgeline/device/cuda/cudnn/backend.h
//
// The part of cuDNN's backend API (version 9) that we use, in declarations of our own: the library is opened at run
// time, so nothing here needs its headers. Numbers are the library's; they are fixed for all of version 9.
#pragma once

#include <cstdint>

namespace ridgeline::cuda::cudnn {

enum class DescriptorType : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engine_configuration = 3,
  engine_heuristics = 4,
  execution_plan = 5,
  knob_choice = 7,
  convolution_forward = 10,
  convolution_backward_filter = 11,
  convolution_backward_data = 12,
  pointwise_operation = 13,
  statistics_operation = 14,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
  device_properties = 38,
};

enum class Attribute : int {
  pointwise_mode = 0,
  pointwise_math_type = 1,

  convolution_compute_type = 100,
  convolution_mode = 101,
  convolution_dilations = 102,
  convolution_strides = 103,
  convolution_post_paddings = 104,
  convolution_pre_paddings = 105,
  convolution_spatial_dimensions = 106,

  heuristics_mode = 200,
  heuristics_graph = 201,
  heuristics_results = 202,
  heuristics_device = 204,

  configuration_engine = 300,
  configuration_knob_choices = 302,

  plan_handle = 400,
  plan_configuration = 401,
  plan_workspace_bytes = 402,
  plan_json = 405,
  plan_device = 407,

  knob_choice_type = 600,
  knob_choice_value = 601,

  forward_alpha = 700,
  forward_beta = 701,
  forward_convolution = 702,
  forward_w = 703,
  forward_x = 704,
  forward_y = 705,
  data_alpha = 706,
  data_beta = 707,
  data_convolution = 708,
  data_w = 709,
  data_dx = 710,
  data_dy = 711,
  filter_alpha = 712,
  filter_beta = 713,
  filter_convolution = 714,
  filter_dw = 715,
  filter_x = 716,
  filter_dy = 717,

  pointwise_operation_descriptor = 750,
  pointwise_operation_x = 751,
  pointwise_operation_b = 752,
  pointwise_operation_y = 753,
  pointwise_operation_dx = 756,
  pointwise_operation_dy = 757,

  statistics_mode = 770,
  statistics_math_type = 771,
  statistics_x = 772,
  statistics_sum = 773,
  statistics_sum_of_squares = 774,

  graph_handle = 800,
  graph_operations = 801,

  tensor_alignment = 900,
  tensor_data_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_is_virtual = 907,

  pack_ids = 1000,
  pack_addresses = 1001,
  pack_workspace = 1003,

  engine_index = 1301,
  engine_numerical_notes = 1303,
  engine_behavior_notes = 1305,

  device_id = 2700,
  device_handle = 2701,
  device_json = 2702,
};

// The types of an attribute's elements.
enum class AttributeType : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  float32 = 4,
  pointer = 6,
  convolution_mode = 7,
  heuristics_mode = 8,
  knob_type = 9,
  numerical_note = 11,
  pointwise_mode = 14,
  descriptor = 15,
  statistics_mode = 16,
  behavior_note = 19,
  character = 24,
};

enum class DataType : int { f32 = 0, f64 = 1, f16 = 2, i8 = 3, i32 = 4, bf16 = 9, boolean = 11 };
enum class ConvolutionMode : int { convolution = 0, cross_correlation = 1 };
enum class HeuristicsMode : int { instant = 0, fallback = 2, best = 3 };
enum class KnobType : int {};
enum class StatisticsMode : int { sum_and_sum_of_squares = 0 };
enum class PointwiseMode : int { add = 0, multiply = 1, identity = 21, relu = 100, relu_backward = 200 };

// The library's notes about an engine's arithmetic.
enum class NumericalNote : int {
  tensor_core = 0,
  down_converts_inputs = 1,
  reduced_precision_reduction = 2,
  fft = 3,
  nondeterministic = 4,
  winograd = 5,
  winograd_4x4 = 6,
  winograd_6x6 = 7,
  winograd_13x13 = 8,
  keeps_nan = 9,
};
inline constexpr int kNumericalNotes = 10;

enum class BehaviorNote : int { compiled_at_run_time = 0, needs_cublaslt = 4 };
inline constexpr int kBehaviorNotes = 5;

using Handle = void*;  // of the library
using RawDescriptor = void*;

}  // namespace ridgeline::cuda::cudnn
