// ridgeline/device/layout.h
//
// How a value's elements lie in memory. The plain layout is row-major over the logical shape; a kernel library may want
// a parameter blocked and padded. Only whoever made a blocked layout understands it; everybody else can ask for its
// size, compare it, and convert to and from the plain one.
//
// A one-way layout is a form that is computed from the value and does not give it back bit by bit: the transformed
// filters of a Winograd convolution, a copy of lower precision. A kernel may name one for an operand (never for a
// result). Compilation makes it from wherever the value lies, once for all readers; of a parameter it keeps the form
// until the parameter changes, so that training makes it once a step and evaluation once a load. No value has its home
// in such a layout.
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
  // True for a form from which there is no way back: to_plain() and make_conversion_to_plain() are never asked then.
  virtual bool one_way() const { return false; }
  virtual void to_plain(const void* blocked, void* plain) const;
  virtual void from_plain(const void* plain, void* blocked) const = 0;
  // Kernels with one operand and one result that convert into this layout (from another one, null for plain), or from
  // it to the plain one, without allocating. Null when only the two functions above can; where it is null for a blocked
  // `from`, the kernel from the plain layout is run behind one to the plain layout. See conversion_kernel.h.
  virtual std::unique_ptr<Kernel> make_conversion(const BlockedLayout* from) const;
  virtual std::unique_ptr<Kernel> make_conversion_to_plain() const;
  // The same where the element types differ: from a value of `from_type` in the layout `from` (null for plain) into
  // this one, and from this one to plain rows of `to_type`. Null: by way of plain rows.
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
