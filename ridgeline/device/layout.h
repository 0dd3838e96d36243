// ridgeline/device/layout.h
//
// How a value's elements are arranged in memory. The plain layout is row-major over the logical shape; a kernel library
// may need a parameter blocked and padded. Only its maker knows the details of a blocked layout; others can ask for its
// size, compare it, and convert to and from the plain one.
//
// A one-way layout is computed from the value and cannot be converted back to the same bits: the transformed filters of
// a Winograd convolution, a copy of lower precision. A kernel may require one for an operand (never for a result).
// Compilation makes it from the value's own layout, once for all readers; that of a parameter is kept as a derived form
// until the parameter changes, so that training makes it once per step and evaluation once per load. It is never a
// value's home layout.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

class Kernel;

class BlockedLayout {
 public:
  virtual ~BlockedLayout() = default;
  virtual std::size_t bytes() const = 0;  // padding included; padded elements are zero and stay zero
  virtual std::string name() const = 0;   // for reports: "ABcd16b16a"
  virtual bool equals(const BlockedLayout& other) const = 0;
  // True for a one-way layout: then to_plain() and make_conversion_to_plain() are never called.
  virtual bool one_way() const { return false; }
  virtual void to_plain(const void* blocked, void* plain) const;
  virtual void from_plain(const void* plain, void* blocked) const = 0;
  // Kernels with one operand and one result that convert into this layout (from another one, null for plain), or from
  // it to the plain one, without allocating. Null if only the two functions above can convert; if it is null for a
  // blocked `from`, the value is first converted to plain. See conversion_kernel.h.
  virtual std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const;
  virtual std::unique_ptr<Kernel> make_conversion_to_plain() const;
  // The same for different element types: from a value of `from_type` in the layout `from` (null for plain) into this
  // one, and from this one to plain rows of `to_type`. Null: through plain rows.
  virtual std::unique_ptr<Kernel> make_cast(DType from_type, const BlockedLayout* from) const;
  virtual std::unique_ptr<Kernel> make_cast_to_plain(DType to_type) const;
};

// A handle; null means plain.
class Layout {
 public:
  Layout() = default;
  explicit Layout(std::shared_ptr<const BlockedLayout> blocked) : blocked_(std::move(blocked)) {}
  bool plain() const { return blocked_ == nullptr; }
  bool one_way() const { return blocked_ != nullptr && blocked_->one_way(); }
  const BlockedLayout* blocked() const { return blocked_.get(); }
  std::size_t bytes(const ValueType& type) const { return blocked_ ? blocked_->bytes() : type.bytes(); }
  std::string name() const { return blocked_ ? blocked_->name() : "plain"; }
  friend bool operator==(const Layout& a, const Layout& b) {
    if (a.blocked_ == b.blocked_) return true;
    return a.blocked_ && b.blocked_ && a.blocked_->equals(*b.blocked_);
  }

 private:
  std::shared_ptr<const BlockedLayout> blocked_;
};

}  // namespace ridgeline
