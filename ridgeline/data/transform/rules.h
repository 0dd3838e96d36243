// ridgeline/data/transform/rules.h
//
// What the entries of transforms share: arguments, checks and schema rules. Pure functions; errors begin with "[op]".
#pragma once

#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {

// ---- arguments

ArgSpec size_arg(const char* doc = "[side] or [height, width]");
ArgSpec filter_arg();    // every name of image::all_filters()
ArgSpec sampling_arg();  // of warps: nearest, bilinear, bicubic; default nearest
ArgSpec fill_arg();
ArgSpec p_arg(double fallback = 0.5);

// ---- checks

void check_size(const Transform& t, const char* name = "size");
void check_probability(const Transform& t);
void check_fill(const Transform& t, const char* name = "fill");
// An Error unless the number of values is one of `allowed`.
void check_count(const Transform& t, const std::string& name, std::initializer_list<std::size_t> allowed);
// An Error unless all values are at least `least`.
void check_reals(const Transform& t, const std::string& name, double least);
void check_between(const Transform& t, const std::string& name, double value, double low, double high);

// ---- schema rules

using Columns = std::vector<std::string>;
using Rule = std::function<Column(const Transform&, const Column&)>;
using SchemaRule = std::function<Schema(const Transform&, Schema, const Columns&)>;

// Applies the rule to all columns of the map.
SchemaRule each(Rule rule);

// `column` if it is u8 (or f32) [height, width, channels], else an Error.
Column image_of(const Transform& t, const Column& column, bool floats_too = false);
// The same with 1 or 3 channels, which the pixel operations take.
Column pixels_of(const Transform& t, const Column& column);
Column pixels_or_floats_of(const Transform& t, const Column& column);
Column flip_schema(const Transform& t, const Column& column);
Column crop_schema(const Transform& t, const Column& column);  // to the argument size
// Applies the schema rules of its operations in order.
Schema after_all(const Transform& t, Schema schema, const Columns& columns);

}  // namespace ridgeline::data
