#include "ridgeline/data/ir/count.h"

#include "ridgeline/core/error.h"

namespace ridgeline::data {
namespace {

std::int64_t counted(const std::string& op, bool overflow, std::int64_t rows) {
  if (overflow) throw Error("[" + op + "] has more rows than can be counted");
  return rows;
}

}  // namespace

std::int64_t rows_sum(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  const bool overflow = __builtin_add_overflow(a, b, &sum);
  return counted(op, overflow, sum);
}

std::int64_t rows_product(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &product);
  return counted(op, overflow, product);
}

}  // namespace ridgeline::data
