// ridgeline/data/ir/count.h
//
// Arithmetic of numbers of rows, which arguments can make as large as they like. `op` is the node in question: what
// does not fit is the Error "[op] has more rows than can be counted".
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::data {

std::int64_t rows_sum(const std::string& op, std::int64_t a, std::int64_t b);
std::int64_t rows_product(const std::string& op, std::int64_t a, std::int64_t b);

// Parts of at most `size` that `rows` make.
constexpr std::int64_t parts_of(std::int64_t rows, std::int64_t size) { return rows / size + (rows % size != 0); }

}  // namespace ridgeline::data
