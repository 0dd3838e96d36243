// The rows or columns of a mask that its moves have left, and the mask that they make (ridgeline/data/_moved.py). Every
// mask of a batch goes through here in the thread that asks for it, so it is no Python.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "ridgeline/core/error.h"

namespace ridgeline::python {
namespace {

// Which rows or columns of a mask there are; -1 - i: none, the value is fill i.
class Line {
 public:
  explicit Line(std::int64_t extent) : at_(static_cast<std::size_t>(extent)) { std::iota(at_.begin(), at_.end(), 0); }

  std::size_t size() const { return at_.size(); }
  // Whether some were left out or repeated by a resize.
  bool scaled() const { return scaled_; }
  const std::vector<std::int64_t>& at() const { return at_; }

  // From `begin`, which may be before the first, so many; `none` for those that there are not.
  Line window(std::int64_t begin, std::int64_t length, std::int64_t none) const {
    Line made = like(length);
    const auto extent = static_cast<std::int64_t>(size());
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t from = begin + i;
      made.at_[static_cast<std::size_t>(i)] = from >= 0 && from < extent ? at_[static_cast<std::size_t>(from)] : none;
    }
    return made;
  }
  Line turned() const {
    Line made = *this;
    std::reverse(made.at_.begin(), made.at_.end());
    return made;
  }
  // To the nearest ones, as PyTorch's interpolate computes them: in f32, or in f64 (`wide`).
  Line resized(std::int64_t length, bool wide) const { return wide ? nearest<double>(length) : nearest<float>(length); }

 private:
  Line like(std::int64_t length) const {
    Line made(0);
    made.at_.resize(static_cast<std::size_t>(length));
    made.scaled_ = scaled_;
    return made;
  }
  template <class Number>
  Line nearest(std::int64_t length) const {
    if (at_.empty()) throw Error("a mask without rows or columns has no nearest one");
    Line made = like(length);
    made.scaled_ = true;
    const Number step = static_cast<Number>(size()) / static_cast<Number>(length);
    for (std::size_t i = 0; i < made.size(); ++i)
      made.at_[i] = at_[std::min(static_cast<std::size_t>(static_cast<Number>(i) * step), size() - 1)];
    return made;
  }

  std::vector<std::int64_t> at_;
  bool scaled_ = false;
};

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

// One row of the result; `fill` of a row of its own, or -1. Where fills meet, the later one counts.
template <class T>
void take_row(const T* row, std::int64_t apart, const std::vector<std::int64_t>& columns, bool all_there,
              const T* fills, std::int64_t fill, T* out) {
  if (fill < 0 && all_there) {
    for (std::size_t i = 0; i < columns.size(); ++i) out[i] = row[columns[i] * apart];
    return;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::int64_t from = columns[i];
    out[i] = from >= 0 && fill < 0 ? row[from * apart] : fills[std::max(fill, -1 - from)];
  }
}

template <class T>
void take(const Array& values, const Line& rows, const Line& columns, const void* fills, void* to) {
  const std::size_t planes = values.ndim() - 2;
  std::vector<std::size_t> index(planes, 0);
  const bool all_there = std::all_of(columns.at().begin(), columns.at().end(), [](std::int64_t at) { return at >= 0; });
  T* out = static_cast<T*>(to);
  while (true) {
    const T* plane = static_cast<const T*>(values.data());
    for (std::size_t k = 0; k < planes; ++k) plane += static_cast<std::int64_t>(index[k]) * values.stride(k);
    for (std::size_t y = 0; y < rows.size(); ++y, out += columns.size()) {
      const std::int64_t from = rows.at()[y];
      if (y > 0 && from == rows.at()[y - 1]) {
        std::copy_n(out - columns.size(), columns.size(), out);
        continue;
      }
      take_row(from < 0 ? nullptr : plane + from * values.stride(planes), values.stride(planes + 1), columns.at(),
               all_there, static_cast<const T*>(fills), from < 0 ? -1 - from : -1, out);
    }
    std::size_t k = planes;
    while (k > 0 && ++index[k - 1] == values.shape(k - 1)) index[--k] = 0;
    if (k == 0) return;
  }
}

bool refers_inside(const Line& line, std::size_t extent, std::size_t fills) {
  return std::all_of(line.at().begin(), line.at().end(), [&](std::int64_t at) {
    return at >= 0 ? at < static_cast<std::int64_t>(extent) : -1 - at < static_cast<std::int64_t>(fills);
  });
}

// [..., rows, columns] of the type of the values, which `fills`, [n], has, too.
nb::object taken(Array values, const Line& rows, const Line& columns, Array fills) {
  const std::size_t rank = values.ndim();
  if (rank < 2 || fills.ndim() != 1 || fills.dtype() != values.dtype() || (fills.size() > 1 && fills.stride(0) != 1) ||
      !refers_inside(rows, values.shape(rank - 2), fills.size()) ||
      !refers_inside(columns, values.shape(rank - 1), fills.size()))
    throw Error("a mask, and lines of another one");
  std::vector<std::size_t> shape;
  for (std::size_t k = 0; k + 2 < rank; ++k) shape.push_back(values.shape(k));
  shape.push_back(rows.size());
  shape.push_back(columns.size());
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  const std::size_t each = values.itemsize();
  auto memory = std::make_unique_for_overwrite<std::uint8_t[]>(std::max<std::size_t>(1, count * each));
  if (count > 0) {
    const nb::gil_scoped_release unlocked;
    switch (each) {
      case 1: take<std::uint8_t>(values, rows, columns, fills.data(), memory.get()); break;
      case 2: take<std::uint16_t>(values, rows, columns, fills.data(), memory.get()); break;
      case 4: take<std::uint32_t>(values, rows, columns, fills.data(), memory.get()); break;
      case 8: take<std::uint64_t>(values, rows, columns, fills.data(), memory.get()); break;
      default: throw Error("a mask of values of " + std::to_string(each) + " bytes");
    }
  }
  void* data = memory.get();
  const nb::capsule owner(memory.release(), [](void* held) noexcept { delete[] static_cast<std::uint8_t*>(held); });
  return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, values.dtype()));
}

}  // namespace

void bind_mask_lines(nb::module_& m) {
  nb::class_<Line>(m, "MaskLine", "Rows or columns of a mask, changed by none of its methods.")
      .def(nb::init<std::int64_t>(), nb::arg("extent"))
      .def("__len__", &Line::size)
      .def_prop_ro("scaled", &Line::scaled, "Whether some were left out or repeated by a resize.")
      .def("window", &Line::window, nb::arg("begin"), nb::arg("length"), nb::arg("none"))
      .def("turned", &Line::turned)
      .def("resized", &Line::resized, nb::arg("length"), nb::arg("wide"));
  m.def("mask_of_lines", &taken);
}

}  // namespace ridgeline::python
