// ridgeline/data/ir/count.h
//
// Arithmetic with numbers of rows, which arguments can make arbitrarily large. `op` is the node's name for the Error
// "[op] has more rows than can be counted" on overflow.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::data {

std::int64_t rows_sum(const std::string& op, std::int64_t a, std::int64_t b);
std::int64_t rows_product(const std::string& op, std::int64_t a, std::int64_t b);

// The number of pieces of at most `size` rows into which `rows` divide.
constexpr std::int64_t parts_of(std::int64_t rows, std::int64_t size) { return rows / size + (rows % size != 0); }

}  // namespace ridgeline::data
