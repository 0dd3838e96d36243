// ridgeline/device/cuda/loop/terms.h
//
// The terms of a loop expression as statements of a text, for a group of kEach neighbouring elements: each is an array
// `Real t3[kEach]`, or one `Real t3` where it is the same for all of them. Needs numbers.h and, of the text, `Real` and
// `kEach`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/arithmetic.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::cuda {

// An operand as a text has it.
struct TermOperand {
  std::string value;  // as stored: of element e, or the only one
  DType type = DType::f32;
  bool one = false;
  bool step = false;  // read only where random numbers are drawn
};

// The element type in memory.
std::string_view storage_of(DType type);
// A value of the arithmetic as it is stored.
std::string stored(DType type, const std::string& x);

class TermWriter {
 public:
  // operands: by number. All must outlive the writer.
  TermWriter(const loop::Expression& expression, const std::vector<TermOperand>& operands, Arithmetic arithmetic)
      : expression_(expression),
        operands_(operands),
        arithmetic_(arithmetic),
        values_(expression.terms.size()),
        one_(expression.terms.size()) {}

  // The statements of all terms. Random numbers count from `element`, which the text defines.
  std::string statements();
  // The value of a result's term for element e, after statements().
  const std::string& result(std::size_t r) const { return value(expression_.results[r].term); }

  // A statement for each element of the group.
  static std::string each(const std::string& statement) {
    return "  RIDGELINE_UNROLL\n  for (int e = 0; e < kEach; ++e) " + statement + "\n";
  }

 private:
  void line(const std::string& text) { out_ += text + "\n"; }
  const std::string& value(std::int32_t t) const { return values_[static_cast<std::size_t>(t)]; }
  void define(std::size_t index, bool one, const std::string& value);
  void draw(std::size_t index, const loop::Term& t);
  void term(std::size_t index);

  const loop::Expression& expression_;
  const std::vector<TermOperand>& operands_;
  Arithmetic arithmetic_;
  std::string out_;
  std::vector<std::string> values_;  // by term
  std::vector<bool> one_;            // by term: one value for all elements of a group
};

}  // namespace ridgeline::cuda
