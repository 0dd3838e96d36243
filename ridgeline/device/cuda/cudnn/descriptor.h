// ridgeline/device/cuda/cudnn/descriptor.h
//
// A descriptor of cuDNN's backend API as a value: graphs, engines and plans are made of them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ridgeline/device/cuda/cudnn/functions.h"

namespace ridgeline::cuda::cudnn {

// The library's type for a C++ type of attribute elements.
template <class T>
struct AttributeTypeOf;
// clang-format off
template <> struct AttributeTypeOf<DataType> { static constexpr AttributeType value = AttributeType::data_type; };
template <> struct AttributeTypeOf<bool> { static constexpr AttributeType value = AttributeType::boolean; };
template <> struct AttributeTypeOf<std::int64_t> { static constexpr AttributeType value = AttributeType::int64; };
template <> struct AttributeTypeOf<float> { static constexpr AttributeType value = AttributeType::float32; };
template <> struct AttributeTypeOf<ConvolutionMode> { static constexpr AttributeType value = AttributeType::convolution_mode; };
template <> struct AttributeTypeOf<HeuristicsMode> { static constexpr AttributeType value = AttributeType::heuristics_mode; };
template <> struct AttributeTypeOf<KnobType> { static constexpr AttributeType value = AttributeType::knob_type; };
template <> struct AttributeTypeOf<NumericalNote> { static constexpr AttributeType value = AttributeType::numerical_note; };
template <> struct AttributeTypeOf<BehaviorNote> { static constexpr AttributeType value = AttributeType::behavior_note; };
template <> struct AttributeTypeOf<PointwiseMode> { static constexpr AttributeType value = AttributeType::pointwise_mode; };
template <> struct AttributeTypeOf<StatisticsMode> { static constexpr AttributeType value = AttributeType::statistics_mode; };
template <> struct AttributeTypeOf<void*> { static constexpr AttributeType value = AttributeType::pointer; };
template <> struct AttributeTypeOf<char> { static constexpr AttributeType value = AttributeType::character; };
// clang-format on

// Owns one descriptor. Attributes are set, then finalize() is called once; from then on it can be read.
class Descriptor {
 public:
  Descriptor(const Functions& functions, DescriptorType type);

  template <class T>
  void set(Attribute attribute, const T& value) {
    set(attribute, AttributeTypeOf<T>::value, 1, &value);
  }
  template <class T>
  void set(Attribute attribute, std::span<const T> values) {
    set(attribute, AttributeTypeOf<T>::value, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(Attribute attribute, const Descriptor& value) {
    const RawDescriptor raw = value.raw();
    set(attribute, AttributeType::descriptor, 1, &raw);
  }
  void set_handle(Attribute attribute, Handle handle) { set(attribute, AttributeType::handle, 1, &handle); }
  void set(Attribute attribute, AttributeType type, std::int64_t count, const void* values);
  void finalize();

  template <class T>
  T get(Attribute attribute) const {
    T value{};
    get(attribute, AttributeTypeOf<T>::value, 1, &value);
    return value;
  }
  // Reads at most `room` elements; the result has as many as there are.
  template <class T>
  std::vector<T> get_all(Attribute attribute, std::int64_t room) const {
    std::vector<T> values(static_cast<std::size_t>(room));
    values.resize(static_cast<std::size_t>(get(attribute, AttributeTypeOf<T>::value, room, values.data())));
    return values;
  }
  // The number of elements of an attribute.
  std::int64_t count(Attribute attribute, AttributeType type) const;
  // The descriptors of a list, at most `room`; by default all, if the library counts them.
  std::vector<Descriptor> get_descriptors(Attribute attribute, DescriptorType type, std::int64_t room = -1) const;

  RawDescriptor raw() const { return owned_.get(); }
  const Functions& functions() const { return *functions_; }

 private:
  std::int64_t get(Attribute attribute, AttributeType type, std::int64_t room, void* values) const;

  struct Destroy {
    const Functions* functions;
    void operator()(void* descriptor) const { functions->destroy_descriptor(descriptor); }
  };
  const Functions* functions_;
  std::unique_ptr<void, Destroy> owned_;
};

}  // namespace ridgeline::cuda::cudnn
