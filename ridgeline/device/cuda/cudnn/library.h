// ridgeline/device/cuda/cudnn/library.h
//
// cuDNN, opened at run time: its functions, and the descriptors of its backend API as values. Whoever opens the library
// owns it and keeps it open longer than everything made here. One thread at a time may use a handle; descriptors may be
// made by several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/cudnn/backend.h"

namespace ridgeline::device::cudnn {

// The library's own words for what it cannot do, with its number for it.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& what, int status) : std::runtime_error(what), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

class Library {
 public:
  // The address of a function of the library, or null.
  using Resolver = std::function<void*(const char* name)>;

  // An Error names the first function that is not there, and a version other than 9.
  explicit Library(const Resolver& resolve);

  int version() const { return version_; }  // 91900
  std::string version_text() const;         // "9.19.0"

  // Throws a Failure with the library's reason where `status` is not success.
  void check(int status, const char* action) const;

  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, void* stream) = nullptr;
  int (*create_descriptor)(DescriptorType, RawDescriptor*) = nullptr;
  int (*destroy_descriptor)(RawDescriptor) = nullptr;
  int (*finalize)(RawDescriptor) = nullptr;
  int (*set_attribute)(RawDescriptor, Attribute, ValueType, std::int64_t count, const void* values) = nullptr;
  int (*get_attribute)(RawDescriptor, Attribute, ValueType, std::int64_t room, std::int64_t* count,
                       void* values) = nullptr;
  int (*execute)(Handle, RawDescriptor plan, RawDescriptor pack) = nullptr;

 private:
  std::size_t (*get_version_)() = nullptr;
  const char* (*error_string_)(int status) = nullptr;
  void (*last_error_)(char* message, std::size_t room) = nullptr;
  int version_ = 0;
};

// What one kind of value is called when an attribute is given.
template <class T>
struct ValueTypeOf;
// clang-format off
template <> struct ValueTypeOf<DataType> { static constexpr ValueType value = ValueType::data_type; };
template <> struct ValueTypeOf<bool> { static constexpr ValueType value = ValueType::boolean; };
template <> struct ValueTypeOf<std::int64_t> { static constexpr ValueType value = ValueType::int64; };
template <> struct ValueTypeOf<float> { static constexpr ValueType value = ValueType::float32; };
template <> struct ValueTypeOf<ConvolutionMode> { static constexpr ValueType value = ValueType::convolution_mode; };
template <> struct ValueTypeOf<HeuristicsMode> { static constexpr ValueType value = ValueType::heuristics_mode; };
template <> struct ValueTypeOf<KnobType> { static constexpr ValueType value = ValueType::knob_type; };
template <> struct ValueTypeOf<NumericalNote> { static constexpr ValueType value = ValueType::numerical_note; };
template <> struct ValueTypeOf<BehaviorNote> { static constexpr ValueType value = ValueType::behavior_note; };
template <> struct ValueTypeOf<PointwiseMode> { static constexpr ValueType value = ValueType::pointwise_mode; };
template <> struct ValueTypeOf<StatisticsMode> { static constexpr ValueType value = ValueType::statistics_mode; };
template <> struct ValueTypeOf<void*> { static constexpr ValueType value = ValueType::pointer; };
template <> struct ValueTypeOf<char> { static constexpr ValueType value = ValueType::character; };
// clang-format on

// Owns one descriptor. Attributes are set, then finalize() is called once; from then on it can be read.
class Descriptor {
 public:
  Descriptor(const Library& library, DescriptorType type);

  template <class T>
  void set(Attribute attribute, const T& value) {
    set(attribute, ValueTypeOf<T>::value, 1, &value);
  }
  template <class T>
  void set(Attribute attribute, std::span<const T> values) {
    set(attribute, ValueTypeOf<T>::value, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(Attribute attribute, const Descriptor& value) {
    const RawDescriptor raw = value.raw();
    set(attribute, ValueType::descriptor, 1, &raw);
  }
  void set_handle(Attribute attribute, Handle handle) { set(attribute, ValueType::handle, 1, &handle); }
  void set(Attribute attribute, ValueType type, std::int64_t count, const void* values);
  void finalize();

  template <class T>
  T get(Attribute attribute) const {
    T value{};
    get(attribute, ValueTypeOf<T>::value, 1, &value);
    return value;
  }
  // At most `room` elements; how many there are of them is the size of the result.
  template <class T>
  std::vector<T> get_all(Attribute attribute, std::int64_t room) const {
    std::vector<T> values(static_cast<std::size_t>(room));
    values.resize(static_cast<std::size_t>(get(attribute, ValueTypeOf<T>::value, room, values.data())));
    return values;
  }
  // How many elements there are.
  std::int64_t count(Attribute attribute, ValueType type) const;
  // The descriptors of a list, at most `room`; by default as many as there are, where the library counts them.
  std::vector<Descriptor> get_descriptors(Attribute attribute, DescriptorType type, std::int64_t room = -1) const;

  RawDescriptor raw() const { return owned_.get(); }
  const Library& library() const { return *library_; }

 private:
  std::int64_t get(Attribute attribute, ValueType type, std::int64_t room, void* values) const;

  struct Destroy {
    const Library* library;
    void operator()(void* descriptor) const { library->destroy_descriptor(descriptor); }
  };
  const Library* library_;
  std::unique_ptr<void, Destroy> owned_;
};

}  // namespace ridgeline::device::cudnn
